"""The contract of every `RateCounter` adapter."""

import asyncio
import os
import secrets
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.adapters.counters.memory import MemoryCounter
from prshots.server.adapters.counters.redis import RedisCounter
from prshots.server.adapters.counters.upload_log import create_memory
from prshots.server.domain.images.models import Hit
from prshots.server.domain.images.ports import RateCounter
from support.engine_servers import Valkey
from support.port_watch import PortWatch

PATIENT_SECONDS = 3600.0
"""Timeouts are tested in test_redis_counter.py. Here a slow machine must not look like an outage."""


@dataclass
class InMemory:
    now: float = 4036.1  # with one more minute, it has one bit less behind the point

    def __call__(self, limit: int) -> MemoryCounter:
        return PortWatch().over(MemoryCounter(limit, lambda: self.now), RateCounter)

    def let_pass(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class InSharedMemory(InMemory):
    """Counters that are three workers taking turns, of which every fifth hit finds one just restarted."""

    def __call__(self, limit: int) -> "TakingTurns":  # type: ignore[override]
        return TakingTurns(limit, lambda: self.now)


class TakingTurns:
    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._memory = create_memory()
        weakref.finalize(self, os.close, self._memory)
        self._start = lambda: MemoryCounter(limit, clock, self._memory)
        self._workers = deque(self._start() for _ in range(3))
        self._hits = 0

    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        self._hits += 1
        self._workers.rotate()
        if self._hits % 5 == 0:
            self._workers[0] = self._start()
        return await self._workers[0].hit(project_id, limit)

    async def check(self) -> None:
        await self._workers[0].check()


@dataclass
class OnValkey:
    """Counters on the shared server. To let time pass, it makes the recorded uploads older."""

    server: Valkey
    made: list[RedisCounter] = field(default_factory=list)

    def __call__(self, limit: int) -> RedisCounter:
        counter = RedisCounter(
            self.server.url, limit, patience=[PATIENT_SECONDS], server_seconds=PATIENT_SECONDS
        )
        self.made.append(counter)
        return PortWatch().over(counter, RateCounter)

    def let_pass(self, seconds: float) -> None:
        with self.server.client() as client:
            for key in client.scan_iter("*:uploads:*"):
                for index, counted_at in enumerate(client.lrange(key, 0, -1)):
                    client.lset(key, index, str(int(counted_at) - round(seconds * 1_000_000)))


@pytest.fixture(params=["memory", "shared memory", pytest.param("valkey", marks=pytest.mark.slow)])
async def counting(request: pytest.FixtureRequest) -> AsyncIterator[InMemory | OnValkey]:
    """Create a counter with a limit. Add new adapters here."""
    if request.param != "valkey":
        yield InMemory() if request.param == "memory" else InSharedMemory()
        return
    on_valkey = OnValkey(request.getfixturevalue("valkey"))
    yield on_valkey
    for counter in on_valkey.made:
        await counter.close()


@pytest.fixture
def project() -> str:
    return secrets.token_hex(8)


Counting = Callable[[int], RateCounter]


async def counts(counter: RateCounter, project_id: str, limit: int | None = None) -> bool:
    return (await counter.hit(project_id, limit)).is_counted


async def test_the_check_of_a_working_counter_succeeds(counting: Counting) -> None:
    await counting(1).check()


class TestRemaining:
    """A hit reports how many uploads are left. On Valkey, real time passes between two hits."""

    async def test_a_hit_says_how_many_are_left_and_when_the_oldest_leaves_the_window(
        self, counting: InMemory | OnValkey, project: str
    ) -> None:
        counter = counting(3)
        first = await counter.hit(project)
        assert (first.limit, first.remaining, first.free_in) == (3, 2, WINDOW_SECONDS)
        counting.let_pass(20)
        second, third, refused = [await counter.hit(project) for _ in range(3)]
        assert [hit.remaining for hit in (second, third, refused)] == [1, 0, 0]
        assert [hit.is_counted for hit in (second, third, refused)] == [True, True, False]
        assert 0 < refused.free_in <= third.free_in <= second.free_in <= WINDOW_SECONDS - 20

    async def test_a_place_is_free_exactly_when_the_hit_said(
        self, counting: InMemory | OnValkey, project: str
    ) -> None:
        counter = counting(2)
        assert await counts(counter, project)
        counting.let_pass(13.5)
        assert await counts(counter, project)
        refused = await counter.hit(project)
        if isinstance(counting, InMemory):
            assert refused.free_in == WINDOW_SECONDS - 13.5
            counting.let_pass(refused.free_in - 0.001)
            assert not await counts(counter, project)
            counting.let_pass(0.001)
        else:
            counting.let_pass(refused.free_in)
        assert await counts(counter, project)
        assert not await counts(counter, project)

    async def test_concurrent_hits_each_say_their_own_remainder(
        self, counting: Counting, project: str
    ) -> None:
        counter = counting(120)
        found = await asyncio.gather(*(counter.hit(project) for _ in range(140)))
        assert [hit.remaining for hit in found] == [*range(119, -1, -1), *[0] * 20]
        assert [hit.is_counted for hit in found] == [True] * 120 + [False] * 20
        assert all(0 < hit.free_in <= WINDOW_SECONDS for hit in found)

    async def test_each_project_has_its_own_limit_in_one_call(self, counting: Counting, project: str) -> None:
        counter, other = counting(1), f"{project}-2"
        asked = [counter.hit(project, 3), counter.hit(other), counter.hit(project, 3), counter.hit(other)]
        found = await asyncio.gather(*asked)
        assert [(hit.is_counted, hit.limit, hit.remaining) for hit in found] == [
            (True, 3, 2), (True, 1, 0), (True, 3, 1), (False, 1, 0)
        ]  # fmt: skip

    async def test_uploads_above_a_lowered_limit_leave_the_window_first(
        self, counting: InMemory | OnValkey, project: str
    ) -> None:
        counter = counting(3)
        for _ in range(3):
            assert await counts(counter, project)
            counting.let_pass(15)
        refused = await counter.hit(project, 2)  # the uploads were 45, 30 and 15 s ago
        assert (refused.is_counted, refused.remaining) == (False, 0)
        assert WINDOW_SECONDS - 45 < refused.free_in <= WINDOW_SECONDS - 30
        counting.let_pass(refused.free_in)
        assert await counts(counter, project, 2)
