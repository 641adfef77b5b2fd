"""The contract of `Upkeep`: what the sweep and `prshots check` ask about a database."""

import asyncio
import random
import time
from dataclasses import replace

from sqlalchemy import text

from prshots.contract.limits import Policy
from prshots.server.adapters.sql.upkeep.upkeep import PULLS_AT_ONCE
from support import neighbor
from support.contract_stores import Stores, ids
from support.stores_and_records import DAY, NOW, an_image


async def change(stores: Stores, statement: str) -> None:
    """Change the project's rows behind the back of the service."""
    mine = f"{'AND' if 'WHERE' in statement else 'WHERE'} project_id = '{stores.project.id}'"
    await stores.database.write(lambda connection: connection.execute(text(f"{statement} {mine}")))


async def stored(stores: Stores) -> tuple[int, int]:
    """Return what is stored beside the neighbor's images."""
    images, size = await stores.upkeep.stored()
    return images - neighbor.IMAGES, size - neighbor.BYTES


async def test_only_a_server_has_its_own_clock(stores: Stores) -> None:
    before = time.time()
    theirs = await stores.upkeep.time()
    if stores.engine == "sqlite":
        assert theirs is None
    else:
        assert theirs is not None
        assert before - 1 <= theirs <= time.time() + 1  # the same machine's clock


async def test_overdue_images_are_counted_once_for_both_rules(stores: Stores) -> None:
    await stores.change_project(retain_days=3)
    records, project = stores.records, stores.project
    for pr_number, age in enumerate((0, 3 * DAY - 1, 3 * DAY, 9 * DAY), start=1):
        await stores.add(pr_number=pr_number, uploaded_at=NOW - age)
    assert await stores.upkeep.count_overdue(NOW, 9) == 2
    await records.close_pr(project.id, 1, NOW, schedule=False)
    await records.close_pr(project.id, 4, NOW, schedule=False)
    assert await stores.upkeep.count_overdue(NOW, 9) == 3
    assert await stores.upkeep.count_overdue(NOW - 1, 9) == 1  # the others have been due for less
    assert await stores.upkeep.count_overdue(NOW, 2) == 2
    await records.change_project(replace(project, policy=Policy.MANUAL, retain_days=None), NOW)
    assert await stores.upkeep.count_overdue(NOW, 9) == 0
    await records.change_project(project, NOW)
    await records.schedule_due(NOW, 9)
    assert await stores.upkeep.count_overdue(NOW, 9) == 0


async def test_images_are_paged_by_id(stores: Stores) -> None:
    images = sorted((an_image(stores.project) for _ in range(9)), key=lambda image: image.id)
    for image in random.Random(1).sample(images, len(images)):
        await stores.records.add_image(image)
    in_order = ids(images)

    async def page(after: str, until: str, limit: int) -> list[str]:
        return ids(await stores.upkeep.images_by_id(after, until, limit))

    assert await page(neighbor.LAST_IMAGE, "g", 100) == in_order
    assert await page(neighbor.LAST_IMAGE, "g", 4) == in_order[:4]
    assert await page(in_order[3], in_order[7], 100) == in_order[4:8]
    assert await page(in_order[8], "g", 100) == []


async def test_only_images_that_are_not_scheduled_are_active(stores: Stores) -> None:
    active, scheduled = await stores.add_some(2)
    await stores.records.schedule([scheduled.id], NOW)
    assert await stores.upkeep.active_ids([active.id, scheduled.id, "0" * 32]) == {active.id}


BROKEN = {
    "UPDATE pulls SET images = 9 WHERE pr_number = 2": {("pull request", 2), ("project", 0)},
    "UPDATE pulls SET bytes = bytes + 1, images = images WHERE pr_number = 2": {
        ("pull request", 2),
        ("project", 0),
    },
    "DELETE FROM pulls WHERE pr_number = 2": {("pull request", 2), ("project", 0)},
    "UPDATE project_totals SET images = 0": {("project", 0)},
    "UPDATE project_totals SET open_pulls = open_pulls + 1": {("project", 0)},
    "DELETE FROM project_totals": {("project", 0)},
    "UPDATE uploads_by_day SET uploads = 1": {("day", NOW // DAY)},
    "UPDATE uploads_by_day SET bytes = 1": {("day", NOW // DAY), ("day", NOW // DAY - 40)},
    "DELETE FROM uploads_by_day": {("day", NOW // DAY), ("day", NOW // DAY - 40)},
    "DELETE FROM images WHERE pr_number = 3": {("pull request", 3)},
}


async def test_every_wrong_total_is_found_and_recomputed(stores: Stores) -> None:
    for number in (1, 2, 2, 3):
        await stores.add(pr_number=number)
    await stores.add(uploaded_at=NOW - 40 * DAY)
    await stores.records.close_pr(stores.project.id, 1, NOW, schedule=False)
    for broken, expected in BROKEN.items():
        assert await stored(stores) == (5, 5000)
        await change(stores, broken)
        found = await stores.wrong_totals()
        assert {(wrong.of, wrong.number) for wrong in found} == expected, broken
        for wrong in found:
            assert wrong.stored != wrong.counted
            await stores.upkeep.recompute(wrong)
        for wrong in await stores.wrong_totals():  # a project's total, after the total of its pull request
            assert wrong.of == "project"
            await stores.upkeep.recompute(wrong)
        assert await stores.wrong_totals() == []
    assert await stored(stores) == (4, 4000)


async def test_a_wrong_total_is_found_on_every_page(stores: Stores) -> None:
    numbers = range(1, PULLS_AT_ONCE + 3)
    await asyncio.gather(*(stores.add(pr_number=number) for number in numbers))
    await change(stores, f"UPDATE pulls SET images = 0 WHERE pr_number IN ({numbers[0]}, {numbers[-1]})")
    await change(stores, "UPDATE project_totals SET images = images - 2")
    assert [wrong.number for wrong in await stores.wrong_totals()] == [numbers[0], numbers[-1]]
