"""Project totals are stored, not counted on demand, so they must be exact under concurrent changes."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import NamedTuple

import pytest

from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.domain.images.models import Image
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project, Role
from support.stores_and_records import (
    ENGINES,
    NOW,
    PARTITIONED,
    SqlRecords,
    a_pair,
    a_project,
    an_image,
    opener,
)

ANN = User("ann", "github", "1", "ann", "Ann", "", NOW)
REPLICAS = 3


class Stores(NamedTuple):
    replicas: list[SqlRecords]
    overview: SqlOverview
    project: Project

    async def totals(self) -> tuple[int, int, int]:
        summary = await self.overview.summary_of(ANN.id, self.project.id)
        assert summary is not None
        return summary.images, summary.bytes, summary.open_pulls


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Open the same database several times, as API replicas do."""
    opened = opener(request, tmp_path)
    databases = [opened() for _ in range(REPLICAS)]
    people, replicas = SqlPeople(databases[0]), [SqlRecords(database) for database in databases]
    await people.add_user(ANN, None)
    await people.set_member(LOCAL_ORGANIZATION, ANN.id, Role.OWNER)
    project = a_project(name="web")
    await replicas[0].add_project(project)
    yield Stores(replicas, SqlOverview(databases[0]), project)
    for database in databases:
        await database.close()


async def test_totals_follow_uploads_closings_and_deletes(stores: Stores) -> None:
    records, project = stores.replicas[0], stores.project
    first, second, other = (an_image(project, pr_number=number, size=10) for number in (7, 7, 8))
    assert await stores.totals() == (0, 0, 0)
    for image in (first, second, other):
        await records.add_image(image)
    assert await stores.totals() == (3, 30, 2)
    for _ in range(2):
        await records.close_pr(project.id, 7, NOW, schedule=False)
    assert await stores.totals() == (3, 30, 1)
    await records.close_pr(project.id, 99, NOW, schedule=True)
    assert await stores.totals() == (3, 30, 1)
    for size in (5, 6):  # the first one reopens the pull request
        await records.add_image(an_image(project, pr_number=7, size=size))
    assert await stores.totals() == (5, 41, 2)
    for _ in range(2):
        await records.remove_images([first.id, other.id])
    assert await stores.totals() == (3, 21, 2)
    assert await records.retire_project(project.id, NOW, 2) == 3


async def test_a_failed_upload_does_not_change_the_totals(stores: Stores) -> None:
    records, image = stores.replicas[0], an_image(stores.project)
    await records.add_image(image)
    before = await stores.totals()
    outcomes = await asyncio.gather(
        *(records.add_image(image) for _ in range(3)), return_exceptions=True
    )  # this id already exists
    assert all(isinstance(outcome, Exception) for outcome in outcomes)
    assert await stores.totals() == before


async def test_totals_of_a_removed_and_recreated_project_start_at_zero(stores: Stores) -> None:
    records, project = stores.replicas[0], stores.project
    image = an_image(project)
    await records.add_image(image)
    await records.remove_images([image.id])
    assert await records.remove_project(project.id)
    assert await stores.overview.summary_of(ANN.id, project.id) is None
    await records.add_project(project)
    assert await stores.totals() == (0, 0, 0)
    assert await records.retire_project(project.id, NOW, 2) == 0


async def test_concurrent_uploads_count_an_open_pull_request_once(stores: Stores) -> None:
    for _ in range(3):
        await asyncio.gather(
            *(records.add_image(an_image(stores.project)) for records in stores.replicas for _ in range(3))
        )
        assert (await stores.totals())[2] == 1
        closing = (records.close_pr(stores.project.id, 7, NOW, schedule=False) for records in stores.replicas)
        await asyncio.gather(*closing)
        assert (await stores.totals())[2] == 0
    assert (await stores.totals())[0] == 27


async def test_totals_are_exact_under_concurrent_changes(stores: Stores) -> None:
    """Uploads, closings and two sweeps on a few pull requests: all succeed, and the totals are right."""
    chance, project = random.Random(4), stores.project
    there: list[Image] = []
    befores: dict[str, Image] = {}
    for _ in range(4):
        new = []
        for number in range(30):
            changes = {"pr_number": chance.randrange(1, 4), "size": chance.randrange(1, 99)}
            image, before = a_pair(project, **changes)
            if number % 3:
                image = image._replace(before_id=None)
            else:
                befores[image.id] = before
            new.append(image)
        going = [image.id for image in chance.sample(there, len(there) // 2)]
        going += [befores.pop(image_id).id for image_id in list(going) if image_id in befores]
        work: list[Awaitable[object]] = [
            chance.choice(stores.replicas).add_image(image, before=befores.get(image.id)) for image in new
        ]
        for number in range(1, 4):
            closing = chance.choice(stores.replicas)
            work.append(closing.close_pr(project.id, number, NOW, schedule=bool(chance.randrange(2))))
        work += [records.remove_images(going) for records in stores.replicas[:2]]
        chance.shuffle(work)
        await asyncio.gather(*work)
        there = [image for image in there if image.id not in going] + new
    pulls = await stores.overview.pulls(project.id, closed=None, search="", before=None, limit=9)
    assert await stores.totals() == (
        len(there),
        sum(image.size for image in [*there, *befores.values()]),
        sum(pull.closed_at is None for pull in pulls),
    )
    assert sum(pull.images for pull in pulls) == len(there)
    assert sum(pull.bytes for pull in pulls) == sum(image.size for image in there)
