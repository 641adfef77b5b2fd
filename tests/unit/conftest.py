"""Unit tests start no process and listen on no socket: such tests belong to contracts/, http/ or e2e/."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FORBIDDEN = {"os.exec", "os.fork", "os.posix_spawn", "os.system", "socket.bind", "subprocess.Popen"}
_running: list[str] = []
"""The unit test that runs now, if one does."""


def _watch(event: str, args: tuple[object, ...]) -> None:
    if _running and event in FORBIDDEN:
        raise AssertionError(f"{_running[0]} is a unit test, but calls {event}{args!r:.200}")


sys.addaudithook(_watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch the fixtures, too: the first test that asks for one sets it up."""
    if Path(__file__).parent in item.path.parents:
        _running.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running.clear()
