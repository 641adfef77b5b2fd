"""Servers for the tests that are written for Node."""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def node_server(script: Path, *arguments: str, pass_fds: Sequence[int] = ()) -> Iterator[None]:
    """Run a script that prints "ready" when it listens. It also ends when its standard input does: when tests are killed."""
    with subprocess.Popen(
        # V8's helper threads can deadlock with the main one (nodejs/node#54918), and a test would wait forever.
        ["node", "--single-threaded", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=pass_fds,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", f"{script.name} did not start"
            yield
        finally:
            process.kill()  # not asked to end: Node can hang while it does
