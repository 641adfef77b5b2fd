"""Unit tests start no process and listen on no socket. Tests that do belong in contracts/, http/ or e2e/.

No unit test is slow: `make test-slow` doesn't collect this folder, which saves each worker two seconds.
"""

import sys
from collections.abc import Iterator

import pytest

FORBIDDEN = {"os.exec", "os.fork", "os.posix_spawn", "os.system", "socket.bind", "subprocess.Popen"}
_running: list[str] = []
"""The name of the unit test that is running, if any."""


def _watch(event: str, args: tuple[object, ...]) -> None:
    if _running and event in FORBIDDEN:
        raise AssertionError(f"{_running[0]} is a unit test, but calls {event}{args!r:.200}")


sys.addaudithook(_watch)


def _is_unit_test(item: pytest.Item) -> bool:
    return item.nodeid.startswith("tests/unit/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = [item.nodeid for item in items if _is_unit_test(item) and item.get_closest_marker("slow")]
    assert not slow, f"move these slow tests to another folder: {slow}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch fixtures too: they are set up by the first test that needs them."""
    if _is_unit_test(item):
        _running.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running.clear()
