"""Project totals are stored, not counted on demand, so they must be exact under concurrent changes."""

import asyncio
import random
from collections.abc import Awaitable

import pytest

from prshots.server.domain.images.models import Image
from prshots.server.domain.upkeep.ports import WrongTotal
from support.contract_stores import Stores
from support.stores_and_records import DAY, NOW, a_pair


async def test_totals_follow_uploads_closings_and_deletes(stores: Stores) -> None:
    records, project = stores.records, stores.project
    assert await stores.totals() == (0, 0, 0)
    first, _, other = [await stores.add(pr_number=number, size=10) for number in (7, 7, 8)]
    assert await stores.totals() == (3, 30, 2)
    for _ in range(2):
        await records.close_pr(project.id, 7, NOW, schedule=False)
    assert await stores.totals() == (3, 30, 1)
    await records.close_pr(project.id, 99, NOW, schedule=True)
    assert await stores.totals() == (3, 30, 1)
    for size in (5, 6):  # the first one reopens the pull request
        await stores.add(size=size)
    assert await stores.totals() == (5, 41, 2)
    for _ in range(2):
        await records.remove_images([first.id, other.id])
    assert await stores.totals() == (3, 21, 2)
    assert await records.retire_project(project.id, NOW, 2) == 3


@pytest.mark.parametrize("recomputed", [False, True])
async def test_totals_are_exact_under_concurrent_changes(stores: Stores, *, recomputed: bool) -> None:
    """Uploads, closings and two sweeps on a few pull requests: all succeed, and the totals are right.

    The same is true while `prshots check` recomputes the totals.
    """
    chance, project = random.Random(4), stores.project
    replicas = [stores.records, stores.open_again(), stores.open_again()]  # of the API
    totals = [
        *(WrongTotal("pull request", project.id, number, {}, {}) for number in range(4)),
        WrongTotal("day", project.id, NOW // DAY, {}, {}),
        WrongTotal("project", project.id, 0, {}, {}),
    ]
    there: list[tuple[Image, Image | None]] = []
    for _ in range(4):
        new: list[tuple[Image, Image | None]] = []
        for number in range(30):
            image, before = a_pair(project, pr_number=chance.randrange(1, 4), size=chance.randrange(1, 99))
            new.append((image._replace(before_id=None), None) if number % 3 else (image, before))
        going = chance.sample(there, len(there) // 2)
        gone = [image.id for pair in going for image in pair if image]
        work: list[Awaitable[object]] = [
            chance.choice(replicas).add_image(image, before=before) for image, before in new
        ]
        for number in range(1, 4):
            closing = chance.choice(replicas)
            work.append(closing.close_pr(project.id, number, NOW, schedule=bool(chance.randrange(2))))
        work += [records.remove_images(gone) for records in replicas[:2]]
        if recomputed:
            work += [stores.upkeep.recompute(total) for total in totals for _ in range(3)]
        chance.shuffle(work)
        await asyncio.gather(*work)
        there = [pair for pair in there if pair not in going] + new
        assert await stores.wrong_totals() == []
    assert (await stores.totals())[0] == len(there)
