"""The contract of every `RateCounter` adapter."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from prshots.server.adapters.counters.memory import WINDOW_SECONDS, MemoryCounter
from prshots.server.adapters.counters.redis import RedisCounter
from prshots.server.domain.ports import RateCounter
from support.engine_servers import Valkey

PATIENT_SECONDS = 3600.0
"""Timeouts are tested in test_redis_counter.py. Here a slow machine must not look like an outage."""


@dataclass
class InMemory:
    now: float = 1000.0

    def __call__(self, limit: int) -> MemoryCounter:
        return MemoryCounter(limit, lambda: self.now)

    def let_pass(self, seconds: float) -> None:
        self.now += seconds


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
        return counter

    def let_pass(self, seconds: float) -> None:
        with self.server.client() as client:
            for key in client.scan_iter("*:uploads:*"):
                for index, counted_at in enumerate(client.lrange(key, 0, -1)):
                    client.lset(key, index, str(int(counted_at) - round(seconds * 1_000_000)))


@pytest.fixture(params=["memory", "valkey"])
async def counting(request: pytest.FixtureRequest) -> AsyncIterator[InMemory | OnValkey]:
    """Create a counter with a limit. Add new adapters here."""
    if request.param == "memory":
        yield InMemory()
        return
    on_valkey = OnValkey(request.getfixturevalue("valkey"))
    yield on_valkey
    for counter in on_valkey.made:
        await counter.close()


@pytest.fixture
def project() -> str:
    return secrets.token_hex(8)


Counting = Callable[[int], RateCounter]


async def hits(counter: RateCounter, project_id: str, times: int) -> list[bool]:
    return list(await asyncio.gather(*(counter.hit(project_id) for _ in range(times))))


async def test_concurrent_uploads_pass_exactly_up_to_the_limit(counting: Counting, project: str) -> None:
    assert sum(await hits(counting(120), project, 140)) == 120


async def test_sequential_uploads_pass_up_to_the_limit(counting: Counting, project: str) -> None:
    counter = counting(2)
    assert [await counter.hit(project) for _ in range(4)] == [True, True, False, False]


async def test_each_project_has_its_own_limit(counting: Counting, project: str) -> None:
    counter = counting(3)
    ours, theirs = await asyncio.gather(hits(counter, project, 5), hits(counter, f"{project}-2", 5))
    assert sum(ours) == sum(theirs) == 3


async def test_the_check_of_a_working_counter_succeeds(counting: Counting) -> None:
    await counting(1).check()


class TestSlidingWindow:
    async def test_each_upload_counts_for_one_minute(
        self, counting: InMemory | OnValkey, project: str
    ) -> None:
        counter = counting(2)
        assert await counter.hit(project)
        counting.let_pass(WINDOW_SECONDS / 2)
        assert await counter.hit(project)
        counting.let_pass(WINDOW_SECONDS / 4)
        assert not await counter.hit(project)
        counting.let_pass(WINDOW_SECONDS / 4)  # the first upload has left the window, the second has not
        assert await counter.hit(project)
        assert not await counter.hit(project)

    async def test_a_refused_upload_is_not_counted(self, counting: InMemory | OnValkey, project: str) -> None:
        counter = counting(1)
        assert await hits(counter, project, 50) == [True] + [False] * 49
        counting.let_pass(WINDOW_SECONDS)
        assert await counter.hit(project)

    async def test_an_upload_leaves_the_window_after_exactly_one_minute(self) -> None:
        counting = InMemory()
        counter = counting(1)
        assert await counter.hit("project")
        counting.let_pass(WINDOW_SECONDS - 0.001)
        assert not await counter.hit("project")
        counting.let_pass(0.001)
        assert await counter.hit("project")
