"""What every counter behind the `RateCounter` port promises."""

import asyncio
from collections.abc import Callable

import pytest

from prshots.ports import RateCounter
from prshots.stores.counters import WINDOW_SECONDS, MemoryCounter

Counting = Callable[[int], RateCounter]


@pytest.fixture(params=["memory"])
def counting(request: pytest.FixtureRequest) -> Counting:
    """Make a counter with a limit. The place to add an adapter."""
    return {"memory": MemoryCounter}[request.param]


async def hits(counter: RateCounter, project_id: str, times: int) -> list[bool]:
    return list(await asyncio.gather(*(counter.hit(project_id) for _ in range(times))))


async def test_exactly_the_limit_passes_however_many_come_at_once(counting: Counting) -> None:
    assert sum(await hits(counting(120), "project", 140)) == 120


async def test_one_after_the_other(counting: Counting) -> None:
    counter = counting(2)
    assert [await counter.hit("project") for _ in range(4)] == [True, True, False, False]


async def test_each_project_has_its_own(counting: Counting) -> None:
    counter = counting(3)
    assert sum(await hits(counter, "one", 5)) == 3
    assert sum(await hits(counter, "two", 5)) == 3


class TestTheMovingMinuteInMemory:
    async def test_an_upload_counts_for_a_minute_from_its_own_time(self) -> None:
        now = 1000.0
        counter = MemoryCounter(2, lambda: now)
        assert await counter.hit("project")
        now += WINDOW_SECONDS / 2
        assert await counter.hit("project")
        now += WINDOW_SECONDS / 2 - 0.001
        assert not await counter.hit("project")
        now += 0.001  # the first has left the window, the second has not
        assert await counter.hit("project")
        assert not await counter.hit("project")

    async def test_a_refused_upload_is_not_counted(self) -> None:
        now = 1000.0
        counter = MemoryCounter(1, lambda: now)
        assert await hits(counter, "project", 50) == [True] + [False] * 49
        now += WINDOW_SECONDS
        assert await counter.hit("project")
