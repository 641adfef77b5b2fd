"""An image and its before image: added together, marked together, and counted as one image."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import text

from prshots.contract.errors import RecordsError
from prshots.server.domain.images.models import NO_PULL_REQUEST, SECONDS_PER_DAY
from prshots.server.domain.projects.models import DayOfUploads
from support import neighbor
from support.contract_stores import Stores, ids
from support.stores_and_records import DAY, NOW, a_pair


@pytest.fixture
async def here(stores: Stores) -> Stores:
    await stores.change_project(retain_days=3)
    return stores


async def test_neither_before_images_nor_baselines_are_listed_and_of_the_first_only_bytes_count(
    here: Stores,
) -> None:
    after, before = await here.add_pair(size=1000, uploaded_at=NOW)
    other = await here.add(name="other")
    await here.add(branch="main", kind="baseline")
    assert await here.of_pull() == [after.id, other.id]
    pull = await here.pull()
    assert (pull.images, pull.bytes) == (2, 2000)
    open_pulls = await here.overview.pulls(here.project.id, closed=None, search="", before=None, limit=9)
    assert [each.pr_number for each in open_pulls] == [7]
    assert [each.pr_number for each in await here.overview.biggest_pulls(here.project.id, 9)] == [7]
    assert await here.totals() == (3, 4000, 1)
    assert await here.upkeep.stored() == (neighbor.IMAGES + 3, neighbor.BYTES + 4000)
    day = NOW // SECONDS_PER_DAY
    days = await here.overview.days([here.project.id], day)
    assert days == {here.project.id: [DayOfUploads(day, 3, 4000)]}
    assert await here.wrong_totals() == []

    assert (await here.image(after.id)).before_id == before.id
    assert ids(await here.records.before_images([before.id, "0" * 32])) == [before.id]


async def test_a_pair_is_added_whole_or_not_at_all(here: Stores) -> None:
    taken = await here.add()
    twice, before = a_pair(here.project, id=taken.id)
    after, its_before = a_pair(here.project, name="other")
    refused, *added = await asyncio.gather(
        here.records.add_image(twice, before=before),
        here.records.add_image(after, before=its_before),
        return_exceptions=True,
    )
    assert isinstance(refused, RecordsError)
    assert added == [True]
    asked = [taken.id, before.id, after.id, its_before.id]
    assert await here.records.known_ids(asked) == {taken.id, after.id, its_before.id}


MARKS: dict[str, Callable[[Stores, str], Awaitable[object]]] = {
    "schedule": lambda here, image_id: here.records.schedule([image_id], NOW),
    "close": lambda here, _: here.records.close_pr(here.project.id, 7, NOW, schedule=True),
    "due": lambda here, _: here.records.schedule_due(NOW + 4 * DAY, 10),
    "retire": lambda here, _: here.records.retire_project(here.project.id, NOW, 10),
}


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
async def test_everything_that_schedules_an_image_schedules_its_before_image(
    here: Stores, mark: Callable[[Stores, str], Awaitable[object]]
) -> None:
    after, before = await here.add_pair()
    await mark(here, after.id)
    assert await here.scheduled() == sorted([after.id, before.id])
    assert await here.records.remove_images([after.id, before.id]) == 1
    assert (await here.totals())[:2] == (0, 0)
    assert await here.wrong_totals() == []


async def test_a_before_image_stays_as_long_as_its_image(here: Stores) -> None:
    await here.add_pair()
    assert await here.records.schedule_due(NOW + DAY, 10) == 0
    assert await here.baselines.release(NOW + 999 * DAY, 10) == 0
    assert await here.scheduled() == []


async def test_wrong_totals_of_before_images_are_recomputed(here: Stores) -> None:
    await here.add_pair()
    breaking = text(f"UPDATE pulls SET images = 5, bytes = 5 WHERE project_id = '{here.project.id}'")
    await here.database.write(lambda connection: connection.execute(breaking))
    wrong, _ = await here.upkeep.wrong_pulls(here.project.id, NO_PULL_REQUEST - 1)
    assert {each.number: each.counted for each in wrong} == {
        NO_PULL_REQUEST: {"images": 0, "bytes": 1000},
        7: {"images": 1, "bytes": 1000},
    }
    for each in wrong:
        await here.upkeep.recompute(each)
    assert await here.wrong_totals() == []
