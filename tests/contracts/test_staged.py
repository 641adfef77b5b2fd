"""The contract of every `StagedRecords` adapter."""

import asyncio

import pytest

from prshots.server.domain.images.models import BranchPlace, Image, StagedImage
from support.contract_stores import Stores, ids
from support.stores_and_records import DAY, NOW, a_pair, an_image

OWN, FORK = BranchPlace("fix", ""), BranchPlace("fix", "eve/shop")
UPSTREAM = BranchPlace("fix", "acme/shop")
SOON, LATER = NOW + 1, NOW + 7 * DAY


@pytest.fixture
async def here(stores: Stores) -> Stores:
    await stores.change_project(retain_days=1)
    return stores


async def stage(here: Stores, place: BranchPlace = OWN, **changes: object) -> Image:
    image = an_image(here.project, kind="staged", **changes)
    await here.staged.add(StagedImage(image, place, LATER))
    return image


async def stage_some(here: Stores, count: int) -> list[str]:
    return ids([await stage(here) for _ in range(count)])


async def stage_pair(here: Stores) -> tuple[Image, Image]:
    image, before = a_pair(here.project, kind="staged")
    await here.staged.add(StagedImage(image, OWN, LATER, before))
    return image, before


async def move(
    here: Stores, place: BranchPlace = UPSTREAM, pr_number: int = 7, now: int = SOON, limit: int = 100
) -> int:
    return await here.staged.move(here.project.id, place, pr_number, now, limit)


async def find(here: Stores, **asked: object) -> list[str]:
    """Return the ids, newest first."""
    found = await here.staged.find(here.project.id, SOON, **({"limit": 100} | asked))
    return [staged.image.id for staged in found]


class TestFind:
    async def test_pages_the_newest_first_with_their_places(self, here: Stores) -> None:
        first, second = await stage(here), await stage(here, FORK, name="home")
        found = await here.staged.find(here.project.id, SOON, limit=10)
        assert [(staged.image.id, staged.place, staged.expires_at) for staged in found] == [
            (second.id, FORK, LATER),
            (first.id, OWN, LATER),
        ]
        assert await find(here, limit=1) == [second.id]
        assert await find(here, before=found[0].image.seq, limit=1) == [first.id]

    async def test_filters_by_branch_and_repository(self, here: Stores) -> None:
        own, of_fork, other = [await stage(here, place) for place in (OWN, FORK, BranchPlace("other", ""))]
        assert await find(here, branch="fix") == [of_fork.id, own.id]
        assert await find(here, branch="fix", repository="eve/shop") == [of_fork.id, own.id]
        assert await find(here, branch="fix", repository="acme/shop") == [own.id]
        assert await find(here, branch="fix", repository="") == [own.id]
        assert await find(here, branch="other") == [other.id]
        assert await here.records.branches_of(of_fork.id) == {"fix"}
        assert await here.staged.count(here.project.id, "fix", SOON) == 2

    async def test_skips_scheduled_and_expired_images(self, here: Stores) -> None:
        image = await stage(here)
        assert await here.staged.find(here.project.id, LATER, limit=10) == []
        assert await here.staged.count(here.project.id, "fix", LATER) == 0
        await here.records.schedule([image.id], NOW)
        assert await find(here) == []
        assert await here.staged.count(here.project.id, "fix", SOON) == 0


class TestMove:
    async def test_gives_the_images_to_the_pull_request_with_which_they_expire(self, here: Stores) -> None:
        staged = [await stage(here, name=name, commit_sha=sha * 7) for name, sha in (("a", "1"), ("b", "2"))]
        assert await move(here) == 2
        assert await here.of_pull() == ids(staged)
        assert await find(here) == []
        pull = await here.pull()
        assert (pull.images, pull.bytes, pull.last_upload_at, pull.last_commit) == (2, 2000, SOON, "2" * 7)
        assert pull.closed_at is None
        assert await here.wrong_totals() == []
        assert await here.staged.schedule_expired(LATER, 100) == 0
        assert await here.records.close_pr(here.project.id, 7, NOW, schedule=True) == 2

    async def test_moves_up_to_the_limit(self, here: Stores) -> None:
        staged = await stage_some(here, 3)
        assert await move(here, limit=2) == 2
        assert await here.of_pull() == staged[:2]
        assert await move(here, limit=2) == 1
        assert await here.wrong_totals() == []

    async def test_skips_images_of_other_repositories_and_branches(self, here: Stores) -> None:
        _, of_fork, _ = [await stage(here, place) for place in (OWN, FORK, UPSTREAM)]
        other = await stage(here, BranchPlace("other", "acme/shop"))
        assert await move(here, UPSTREAM) == 2
        assert await find(here) == [other.id, of_fork.id]

    async def test_reopens_the_pull_request_and_keeps_its_newest_commit(self, here: Stores) -> None:
        staged = await stage(here, commit_sha="1" * 7)
        late = await here.add(commit_sha="2" * 7)
        await here.add(await here.add_project(), commit_sha="3" * 7)
        await here.records.close_pr(here.project.id, 7, NOW, schedule=False)
        assert await move(here) == 1
        assert await here.of_pull() == [staged.id, late.id]
        pull = await here.pull()
        assert (pull.last_commit, pull.closed_at) == ("2" * 7, None)
        assert await here.wrong_totals() == []

    async def test_move_skips_scheduled_and_expired_images(self, here: Stores) -> None:
        deleted, _ = await stage(here), await stage(here)
        await here.records.schedule([deleted.id], NOW)
        assert await move(here, now=LATER) == 0
        assert await move(here) == 1
        assert await here.wrong_totals() == []

    async def test_concurrent_moves_move_each_image_once(self, here: Stores) -> None:
        staged = await stage_some(here, 10)
        moved = await asyncio.gather(*(move(here, pr_number=7 + number % 2, limit=3) for number in range(8)))
        assert sum(moved) == len(staged)
        assert sorted(await here.of_pull(7) + await here.of_pull(8)) == sorted(staged)
        assert await here.wrong_totals() == []


class TestExpiry:
    async def test_schedules_a_pair_as_one_image_and_only_after_its_time(self, here: Stores) -> None:
        image, before = await stage_pair(here)
        assert await here.staged.schedule_expired(LATER - 1, 100) == 0
        assert await here.staged.schedule_expired(LATER, 100) == 1
        assert await here.scheduled() == sorted([image.id, before.id])
        assert await here.staged.schedule_expired(LATER, 100) == 0

    async def test_other_sweeps_leave_staged_images_alone(self, here: Stores) -> None:
        """Without a pull request and not a baseline, it still isn't left over."""
        await stage(here)
        assert await here.records.schedule_due(LATER, 100) == 0
        assert await here.baselines.release(LATER, 100) == 0
        assert await here.scheduled() == []

    async def test_retiring_the_project_schedules_staged_pairs(self, here: Stores) -> None:
        image, before = await stage_pair(here)
        assert not await here.records.remove_project(here.project.id)
        assert await here.records.retire_project(here.project.id, NOW, 100) > 0
        assert await here.scheduled() == sorted([image.id, before.id])
        await here.records.remove_images([image.id, before.id])
        assert await here.records.remove_project(here.project.id)
