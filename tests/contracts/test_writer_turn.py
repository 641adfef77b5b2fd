"""The turns of processes that write to one SQLite file."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prshots.contract.errors import RecordsError
from prshots.server.adapters.deadlines import _this_thread
from prshots.server.adapters.sql.database.database import SUFFIX, WriterTurn
from prshots.server.observability.metrics import DATABASE_SECONDS
from support.waiting import wait_until

HOLDING = """
import sys
from pathlib import Path
from prshots.server.adapters.sql.database.database import WriterTurn
with WriterTurn(Path(sys.argv[1])):
    print("inside", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "prshots.db"


@pytest.fixture
def turn(database: Path) -> Iterator[WriterTurn]:
    turn = WriterTurn(database)
    yield turn
    turn.close()


def waits() -> float:
    return sum(bucket.get() for bucket in DATABASE_SECONDS.labels("wait")._buckets)


def someone_waits_for(database: Path) -> bool:
    lock = database.with_name(f"{database.name}{SUFFIX}").stat().st_ino
    waiting = (line for line in Path("/proc/locks").read_text().splitlines() if "-> FLOCK" in line)
    return any(f":{lock} " in line for line in waiting)


@pytest.mark.slow
def test_the_turn_of_a_killed_process_passes_to_the_one_that_waits(database: Path, turn: WriterTurn) -> None:
    def write() -> str:
        with turn:
            return "written"

    command = [sys.executable, "-c", HOLDING, str(database)]
    with (
        ThreadPoolExecutor(1) as threads,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding,
    ):
        assert holding.stdout
        assert holding.stdout.readline() == b"inside\n"
        before = waits()
        writing = threads.submit(write)
        wait_until(lambda: someone_waits_for(database), "the second process")
        holding.kill()
        holding.wait(60)
        assert writing.result(60) == "written"
        assert waits() == before + 1


async def test_a_turn_that_comes_after_the_deadline_writes_nothing(database: Path, turn: WriterTurn) -> None:
    other = WriterTurn(database)
    written: list[str] = []

    def write() -> None:
        with turn:
            written.append("written")

    def write_with_deadline() -> None:
        _this_thread.until = time.monotonic()
        write()

    with ThreadPoolExecutor(1) as threads:
        with other:
            late = threads.submit(write_with_deadline)
            wait_until(lambda: someone_waits_for(database), "the late one")
        with pytest.raises(RecordsError, match="another process kept it busy"):
            late.result(60)
    assert written == []
    write()  # the turn is free again
    assert written == ["written"]
    other.close()


def test_without_the_right_to_open_the_lock_writers_go_on(database: Path, turn: WriterTurn) -> None:
    database.with_name(f"{database.name}{SUFFIX}").mkdir()
    with turn:
        pass
