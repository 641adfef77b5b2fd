"""The deadline of a call that runs in a thread, and the table of all deadlines in the docs."""

import asyncio
import math
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prshots.server.adapters import deadlines
from prshots.server.adapters.counters.redis import BUSY_SECONDS, HIT_SECONDS
from prshots.server.adapters.deadlines import OverdueError, in_thread, seconds_left
from prshots.server.adapters.identity.oauth import TIMEOUT_SECONDS
from prshots.server.http.readiness import CHECK_SECONDS

LONG = 3600.0


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as one:
        yield one


async def test_work_returns_its_result_and_knows_its_deadline(thread: ThreadPoolExecutor) -> None:
    left = await in_thread(thread, seconds_left, LONG)
    assert 0 < left <= LONG
    assert seconds_left() == math.inf
    assert await in_thread(thread, seconds_left, math.inf) == math.inf
    assert thread.submit(seconds_left).result() == math.inf


async def test_work_that_has_begun_is_abandoned_but_continues(thread: ThreadPoolExecutor) -> None:
    may_end = threading.Event()
    with pytest.raises(OverdueError, match=r"no answer within 0\.05 s") as late:
        await in_thread(thread, lambda: may_end.wait(60), 0.05)
    assert late.value.has_begun
    may_end.set()


async def test_work_that_has_not_begun_never_runs(thread: ThreadPoolExecutor) -> None:
    may_end, ran = threading.Event(), threading.Event()
    thread.submit(may_end.wait, 60)
    with pytest.raises(OverdueError, match=r"busy for 0\.05 s") as late:
        await in_thread(thread, ran.set, 0.05)
    assert not late.value.has_begun
    may_end.set()
    await in_thread(thread, lambda: None, LONG)  # the thread has reached the end of its queue
    assert not ran.is_set()


async def test_a_caller_that_leaves_takes_its_work_out_of_the_queue(thread: ThreadPoolExecutor) -> None:
    may_end, ran = threading.Event(), threading.Event()
    thread.submit(may_end.wait, 60)
    leaving = asyncio.create_task(in_thread(thread, ran.set, LONG))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait({leaving})
    may_end.set()
    await in_thread(thread, lambda: None, LONG)
    assert not ran.is_set()


async def test_a_timeout_of_the_work_itself_is_passed_on(thread: ThreadPoolExecutor) -> None:
    def times_out() -> None:
        raise TimeoutError("of the disk")

    with pytest.raises(TimeoutError, match="of the disk"):
        await in_thread(thread, times_out, LONG)


def test_more_data_gets_more_time() -> None:
    assert deadlines.for_bytes(0) == deadlines.for_objects(0) == deadlines.STORE_SECONDS
    assert deadlines.for_bytes(5 * 1024**2) == deadlines.STORE_SECONDS + 5
    assert deadlines.for_objects(1000) == deadlines.STORE_SECONDS + 10


def test_the_docs_have_every_deadline() -> None:
    page = (Path(__file__).parents[2] / "docs" / "run" / "engines.md").read_text()
    table = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", page.partition("## Deadlines")[2], re.MULTILINE))
    said = {call: re.findall(r"\d+ m?s", deadline) for call, deadline in table.items()}
    store, delivery = f"{deadlines.STORE_SECONDS:g} s", f"{deadlines.DELIVERY_SECONDS:g} s"
    assert said == {
        "call": [],
        "database": [f"{deadlines.DATABASE_SECONDS:g} s"],
        "database, by the sweep": [f"{deadlines.SWEEP_SECONDS:g} s"],
        "store: upload": [store, f"{1024**2 / deadlines.BYTES_PER_SECOND:g} s"],
        "store: delete": [store, f"{100 / deadlines.OBJECTS_PER_SECOND:g} s"],
        "store: read or list by the API or the sweep": [store, store],
        "store: read by delivery": [delivery, delivery],
        "counter": [f"{sum(HIT_SECONDS) * 1000:g} ms", f"{BUSY_SECONDS * 1000:g} ms"],
        "issuer or login provider": [f"{TIMEOUT_SECONDS:g} s"],
        "`/readyz`": [f"{CHECK_SECONDS:g} s"],
    }
