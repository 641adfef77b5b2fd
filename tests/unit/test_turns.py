"""Whose pair is compared next."""

import asyncio

from prshots.server.domain.comparison.turns import Turns


class Queue:
    """Pairs that are compared in turns. A pair takes as many seconds as it says, on a clock that the test moves."""

    def __init__(self, slots: int = 1) -> None:
        self.now = 0.0
        self.turns = Turns(slots, lambda: self.now)
        self.order: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def compare(self, organization: str, project: str, run: str, seconds: float) -> None:
        async with self.turns.take(organization, project, run, is_urgent=not run.endswith("later")):
            self.order.append(run)
            for _ in range(3):  # pairs that are added now begin to wait before this one ends
                await asyncio.sleep(0)
            self.now += seconds

    def add(self, owners: str, seconds: float = 1, pairs: int = 1) -> None:
        """Add pairs of an owner such as "acme/shop/1"."""
        organization, project, _ = owners.split("/")
        for _ in range(pairs):
            self.tasks.append(asyncio.create_task(self.compare(organization, project, owners, seconds)))

    async def finish(self) -> list[str]:
        await asyncio.gather(*self.tasks)
        order, self.order = self.order, []
        return order


async def test_an_organization_with_expensive_pairs_delays_another_by_one_pair() -> None:
    queue = Queue()
    for run in range(4):
        queue.add(f"big/shop/{run}", seconds=30, pairs=2)
    await asyncio.sleep(0)
    queue.add("small/site/1", pairs=20)
    order = await queue.finish()
    assert order[1:21] == ["small/site/1"] * 20


async def test_urgent_callers_go_first() -> None:
    queue = Queue()
    queue.add("acme/shop/later", pairs=2)
    await asyncio.sleep(0)
    queue.add("busy/site/1", seconds=30, pairs=3)
    assert await queue.finish() == ["acme/shop/later", *["busy/site/1"] * 3, "acme/shop/later"]


async def test_projects_and_runs_of_an_organization_take_turns() -> None:
    queue = Queue()
    queue.add("acme/shop/1", pairs=4)
    queue.add("acme/shop/2", pairs=2)
    queue.add("acme/blog/1", pairs=2)
    assert await queue.finish() == [
        "acme/shop/1",
        "acme/blog/1",
        "acme/shop/2",
        "acme/blog/1",
        "acme/shop/1",
        "acme/shop/2",
        "acme/shop/1",
        "acme/shop/1",
    ]


async def test_an_organization_gets_all_slots_unless_another_waits() -> None:
    queue = Queue(slots=2)
    queue.add("big/shop/1", pairs=3)
    queue.add("small/site/1")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert queue.order[:2] == ["big/shop/1", "big/shop/1"]
    assert (await queue.finish())[2] == "small/site/1"


async def test_time_used_long_ago_does_not_count() -> None:
    queue = Queue()
    queue.add("big/shop/1", seconds=30)
    await queue.finish()
    queue.now += 600  # ten half-lives
    queue.add("small/site/1", seconds=1, pairs=2)
    queue.add("big/shop/2")
    assert await queue.finish() == ["small/site/1", "big/shop/2", "small/site/1"]


async def test_a_cancelled_pair_passes_its_turn_on() -> None:
    queue = Queue()
    async with queue.turns.take("acme", "shop", "1"):
        queue.add("acme/shop/2", pairs=2)
        await asyncio.sleep(0)
        waiting, granted = queue.tasks
        waiting.cancel()
        await asyncio.sleep(0)
        granted.cancel()  # it gets its turn before it can react
    queue.tasks = []
    queue.add("acme/shop/3")
    assert await queue.finish() == ["acme/shop/3"]
