"""What a process has open, by name. The name of a socket is unique."""

import contextlib
from pathlib import Path


def open_files(pid: int | str = "self") -> set[str]:
    found = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in between
            found.add(str(fd.readlink()))
    return found
