"""The counter of several processes that share its memory, while they are killed."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import support
from prshots.contract.errors import CounterUnavailableError
from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.adapters.counters import memory as memory_counter
from prshots.server.adapters.counters import upload_log
from prshots.server.adapters.counters.memory import MemoryCounter
from prshots.server.adapters.counters.upload_log import UploadLog, create_memory
from prshots.server.observability.metrics import UNLIMITED_UPLOADS
from support.waiting import wait_until

LIMIT, PROCESSES, KILLS = 6000, 3, 4
COUNTING = Path(support.__file__).with_name("counting_process.py")
HOLDING = """
import os, sys
from prshots.server.adapters.counters.upload_log import UploadLog
with UploadLog(int(sys.argv[1])):
    print("inside", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def memory() -> Iterator[int]:
    created = create_memory()
    yield created
    os.close(created)


def not_limited() -> float:
    return UNLIMITED_UPLOADS._value.get()


@pytest.mark.slow
async def test_killed_processes_together_count_exactly_the_limit(memory: int) -> None:
    reported, report = os.pipe()
    os.set_blocking(reported, False)
    accepted = 0

    def read() -> int:
        nonlocal accepted
        with contextlib.suppress(BlockingIOError):
            accepted += len(os.read(reported, 2 * LIMIT))
        return accepted

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, str(COUNTING), str(memory), str(LIMIT), str(report)]
        return subprocess.Popen(command, pass_fds=(memory, report))

    processes = [start() for _ in range(PROCESSES)]
    try:
        for kill in range(1, KILLS + 1):
            wait_until(lambda: read() > LIMIT * kill // (KILLS + 1), "more uploads")  # noqa: B023
            processes[kill % PROCESSES].kill()
            processes[kill % PROCESSES].wait(60)
            processes[kill % PROCESSES] = start()
        assert [process.wait(60) for process in processes] == [0] * PROCESSES
    finally:
        for process in processes:
            process.kill()
            process.wait(60)
        os.close(report)
    assert read() <= LIMIT
    assert accepted >= LIMIT - KILLS  # a process may die between counting and reporting
    assert UploadLog(memory).end == LIMIT
    assert not (await MemoryCounter(LIMIT, memory=memory).hit("project")).is_counted
    os.close(reported)


@pytest.mark.slow
async def test_a_process_that_is_killed_while_it_counts_leaves_nothing_locked(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = MemoryCounter(1, memory=memory)
    command = [sys.executable, "-c", HOLDING, str(memory)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[memory]
    ) as holding:
        assert holding.stdout
        assert holding.stdout.readline() == b"inside\n"
        monkeypatch.setattr(memory_counter, "LONGEST_SECONDS", 0.01)
        before = not_limited()
        with pytest.raises(CounterUnavailableError, match="another worker does not finish counting"):
            await counter.hit("project")
        assert not_limited() == before + 1
        holding.kill()
        holding.wait(60)
    assert (await counter.hit("project")).is_counted
    assert not (await counter.hit("project")).is_counted


async def test_an_upload_that_was_not_written_to_its_end_is_not_counted(memory: int) -> None:
    """As if the process was killed between the two writes."""
    counter, log = MemoryCounter(1, memory=memory), UploadLog(memory)
    log._times[0], log._keys[1] = 1.0, 1
    assert (await counter.hit("project")).is_counted
    assert log.end == 1


async def test_a_worker_that_was_idle_for_long_skips_what_has_left_the_window(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (memory_counter, upload_log):
        monkeypatch.setattr(module, "CAPACITY", 100)
    now = 1000.0
    idle, log = MemoryCounter(2, lambda: now, memory), UploadLog(memory)
    assert (await idle.hit("project")).is_counted
    ours = log.key(0)
    for second in range(1, 120):  # enough to overwrite the first ones
        log.append(ours if second % 20 == 0 else 7, now + second)
    now += 120
    other = MemoryCounter(2, lambda: now, memory)
    hits = [await counter.hit("project") for counter in (idle, other)]
    assert [(hit.is_counted, hit.remaining) for hit in hits] == [(False, 0)] * 2
    assert hits[0] == hits[1]
    now += WINDOW_SECONDS
    assert [(await counter.hit("project")).remaining for counter in (idle, other)] == [1, 0]


async def test_uploads_beyond_the_capacity_pass_uncounted(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_counter, "CAPACITY", 2)
    now = 1000.0
    counter = MemoryCounter(9, lambda: now, memory)
    assert [(await counter.hit("project")).remaining for _ in range(2)] == [8, 7]
    before = not_limited()
    with pytest.raises(CounterUnavailableError, match="more uploads in a minute than it can count"):
        await counter.hit("project")
    assert not_limited() == before + 1
    now += WINDOW_SECONDS
    assert (await counter.hit("project")).remaining == 8
