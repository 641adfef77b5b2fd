"""An image and its before: added together, marked together, and counted as one image. On every engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from prshots.contract.errors import RecordsError
from prshots.contract.limits import Policy
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.images.models import NO_PULL_REQUEST, SECONDS_PER_DAY
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, DayOfUploads, Project, Role
from support.stores_and_records import (
    DAY,
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


class Here(NamedTuple):
    records: SqlRecords
    overview: SqlOverview
    upkeep: SqlUpkeep
    baselines: SqlBaselines
    project: Project

    async def totals(self) -> tuple[int, int]:
        summary = await self.overview.summary_of(ANN.id, self.project.id)
        assert summary is not None
        return summary.images, summary.bytes

    async def wrong_totals(self) -> list[object]:
        pulls, _ = await self.upkeep.wrong_pulls(self.project.id, NO_PULL_REQUEST - 1)
        days, _ = await self.upkeep.wrong_days(self.project.id, NO_PULL_REQUEST - 1)
        return [*pulls, *days, *await self.upkeep.wrong_projects()]


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def here(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Here]:
    database = opener(request, tmp_path)()
    people, records = SqlPeople(database), SqlRecords(database)
    await people.add_user(ANN, None)
    await people.set_member(LOCAL_ORGANIZATION, ANN.id, Role.OWNER)
    project = a_project(Policy.PR_CLOSE, retain_days=3)
    await records.add_project(project)
    yield Here(records, SqlOverview(database), SqlUpkeep(database), SqlBaselines(database), project)
    await database.close()


async def test_a_before_is_in_no_list_and_counts_with_its_bytes_only(here: Here) -> None:
    after, before = a_pair(here.project, size=1000, uploaded_at=NOW)
    await here.records.add_image(after, before=before)
    await here.records.add_image(an_image(here.project, name="other"))

    assert (await here.records.images_of_pr(here.project.id, 7, 10))[0] == 2
    pull = await here.overview.pull(here.project.id, 7)
    assert pull is not None
    assert (pull.images, pull.bytes) == (2, 2000)
    open_pulls = await here.overview.pulls(here.project.id, closed=None, search="", before=None, limit=9)
    assert [each.pr_number for each in open_pulls] == [7]
    assert [each.pr_number for each in await here.overview.biggest_pulls(here.project.id, 9)] == [7]
    assert await here.totals() == (2, 3000)
    day = NOW // SECONDS_PER_DAY
    days = await here.overview.days([here.project.id], day)
    assert days == {here.project.id: [DayOfUploads(day, 2, 3000)]}
    assert await here.wrong_totals() == []

    found = await here.records.image(here.project.id, after.id)
    assert found is not None
    assert found.before_id == before.id
    assert [image.id for image in await here.records.before_images([before.id, "0" * 32])] == [before.id]


async def test_a_pair_is_added_whole_or_not_at_all(here: Here) -> None:
    taken = an_image(here.project)
    await here.records.add_image(taken)
    twice, before = a_pair(here.project, id=taken.id)
    after, its_before = a_pair(here.project, name="other")
    refused, *added = await asyncio.gather(
        here.records.add_image(twice, before=before),
        here.records.add_image(after, before=its_before),
        return_exceptions=True,
    )
    assert isinstance(refused, RecordsError)
    assert added == [None]
    ids = [taken.id, before.id, after.id, its_before.id]
    assert await here.records.known_ids(ids) == {taken.id, after.id, its_before.id}


def _scheduled(here: Here, image_id: str) -> Awaitable[object]:
    return here.records.schedule([image_id], NOW)


def _closed(here: Here, _: str) -> Awaitable[object]:
    return here.records.close_pr(here.project.id, 7, NOW, schedule=True)


def _due(here: Here, _: str) -> Awaitable[object]:
    return here.records.schedule_due(NOW + 4 * DAY, 10)


def _retired(here: Here, _: str) -> Awaitable[object]:
    return here.records.retire_project(here.project.id, NOW, 10)


@pytest.mark.parametrize("mark", [_scheduled, _closed, _due, _retired])
async def test_whatever_schedules_an_image_schedules_its_before(
    here: Here, mark: Callable[[Here, str], Awaitable[object]]
) -> None:
    after, before = a_pair(here.project)
    await here.records.add_image(after, before=before)
    await mark(here, after.id)
    scheduled = await here.records.next_scheduled("", 10)
    assert {image.id for image in scheduled} == {after.id, before.id}

    assert await here.records.remove_images([after.id, before.id]) == 1
    assert await here.totals() == (0, 0)
    assert await here.wrong_totals() == []


async def test_a_before_stays_as_long_as_its_after(here: Here) -> None:
    after, before = a_pair(here.project)
    await here.records.add_image(after, before=before)
    assert await here.records.schedule_due(NOW + DAY, 10) == 0
    assert await here.baselines.release(NOW + 999 * DAY, 10) == 0
    assert await here.records.next_scheduled("", 10) == []


async def test_a_before_is_no_baseline_that_can_be_reused(here: Here) -> None:
    sha256 = "ab" * 32
    after, before = a_pair(here.project, sha256=sha256)
    await here.records.add_image(after, before=before)
    shots = [(before.shot, sha256)]
    assert await here.baselines.reuse(here.project.id, "main", "c" * 40, shots, NOW) == [None]


async def test_wrong_totals_of_befores_are_counted_again(here: Here) -> None:
    after, before = a_pair(here.project)
    await here.records.add_image(after, before=before)
    await here.upkeep._database.write(
        lambda connection: connection.exec_driver_sql(
            f"UPDATE pulls SET images = 5, bytes = 5 WHERE project_id = '{here.project.id}'"
        )
    )
    wrong, _ = await here.upkeep.wrong_pulls(here.project.id, NO_PULL_REQUEST - 1)
    assert {each.number: each.counted for each in wrong} == {
        NO_PULL_REQUEST: {"images": 0, "bytes": 1000},
        7: {"images": 1, "bytes": 1000},
    }
    for each in wrong:
        await here.upkeep.recompute(each)
    assert await here.wrong_totals() == []
