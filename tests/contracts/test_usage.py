"""Usage: what the store has each day, by project and kind of file."""

from prshots.server.domain.projects.models import LOCAL_ORGANIZATION
from prshots.server.domain.storage.models import Measured, UsageDay
from support.contract_stores import Stores
from support.stores_and_records import a_pair


async def test_owners_are_the_projects_and_kinds_of_recorded_images(stores: Stores) -> None:
    after, before = a_pair(stores.project)
    await stores.records.add_image(after, before=before)
    assert await stores.usage.owners([after.id, before.id, "0" * 32]) == {
        after.id: (stores.project.id, "pull_request"),
        before.id: (stores.project.id, "before"),
    }


async def test_a_day_is_replaced_and_old_days_are_removed(stores: Stores) -> None:
    mine, other = stores.project.id, (await stores.add_project()).id
    for day in (7, 8):
        measured = [Measured(mine, "images", 9, 9), Measured(mine, "staged", 9, 9)]
        await stores.usage.replace_day(day, measured, is_estimated=False)
    measured = [
        Measured(mine, "images", 1, 10),
        Measured(other, "images", 2, 20),
        Measured("gone", "images", 1, 1),
    ]
    await stores.usage.replace_day(8, measured, is_estimated=True)
    await stores.usage.discard_days(8)
    assert await stores.usage.of_project(mine, 0) == [UsageDay(8, {"images": (1, 10)}, is_estimated=True)]
    assert await stores.usage.of_organization(LOCAL_ORGANIZATION, 0) == [
        UsageDay(8, {"images": (3, 30)}, is_estimated=True)
    ]
    assert await stores.usage.of_organization(LOCAL_ORGANIZATION, 9) == []
    assert await stores.records.remove_project(other)
    assert await stores.usage.of_project(other, 0) == []
