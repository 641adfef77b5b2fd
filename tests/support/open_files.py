"""The files and sockets that a process has open, by name, and how many it may open. A socket's name is unique."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def many_files() -> Iterator[None]:
    """Allow this process, and those it starts, as many open files as the system lets them have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_files(pid: int | str = "self") -> set[str]:
    found = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in between
            found.add(str(fd.readlink()))
    return found
