"""The contract of every `StagedRecords` adapter."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prshots.contract.errors import UnauthorizedError
from prshots.contract.limits import Policy
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.images.models import (
    NO_PULL_REQUEST,
    BranchPlace,
    Image,
    PullRequestRecord,
    StagedImage,
)
from prshots.server.domain.images.ports import StagedRecords
from prshots.server.domain.projects.models import Project
from support.port_watch import PortWatch
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

OWN, FORK = BranchPlace("fix", ""), BranchPlace("fix", "eve/shop")
UPSTREAM = BranchPlace("fix", "acme/shop")
SOON, LATER = NOW + 1, NOW + 7 * DAY
SHA256 = "5e" * 32


class Installation:
    """The records of one project."""

    def __init__(self, database: Database, project: Project) -> None:
        self.database = database
        self.records = SqlRecords(database)
        self.staged: StagedRecords = PortWatch().over(SqlStaged(database), StagedRecords)
        self.project = project

    async def stage(self, place: BranchPlace = OWN, **changes: object) -> Image:
        image = an_image(self.project, kind="staged", **changes)
        await self.staged.add(StagedImage(image, place, LATER))
        return image

    async def move(
        self, place: BranchPlace = UPSTREAM, pr_number: int = 7, now: int = SOON, limit: int = 100
    ) -> int:
        return await self.staged.move(self.project.id, place, pr_number, now, limit)

    async def found(self, **asked: object) -> list[str]:
        """Return the ids, newest first."""
        found = await self.staged.find(self.project.id, SOON, **({"limit": 100} | asked))  # type: ignore[arg-type]
        return [staged.image.id for staged in found]

    async def of_pull(self, pr_number: int = 7) -> list[str]:
        """Return the ids of a pull request's images in upload order."""
        _, images = await self.records.images_of_pr(self.project.id, pr_number, 100)
        return [image.id for image in images]

    async def pull(self, pr_number: int = 7) -> PullRequestRecord:
        pull = await SqlOverview(self.database).pull(self.project.id, pr_number)
        assert pull
        return pull

    async def scheduled(self) -> list[str]:
        return [image.id for image in await self.records.next_scheduled("", 100, self.project.id)]

    async def assert_totals(self) -> None:
        """Assert that the totals are what is counted."""
        upkeep = SqlUpkeep(self.database)
        assert await upkeep.wrong_pulls(self.project.id, NO_PULL_REQUEST - 1) == ([], None)
        assert (await upkeep.wrong_days(self.project.id, -1))[0] == []
        assert [wrong for wrong in await upkeep.wrong_projects() if wrong.project_id == self.project.id] == []


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def here(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    database = opener(request, tmp_path)()
    project = a_project(Policy.PR_CLOSE, retain_days=1)
    await SqlRecords(database).add_project(project)
    yield Installation(database, project)
    await database.close()


class TestFind:
    async def test_newest_first_with_where_it_is_staged(self, here: Installation) -> None:
        first, second = await here.stage(), await here.stage(FORK, name="home")
        found = await here.staged.find(here.project.id, SOON, limit=10)
        assert [(staged.image.id, staged.place, staged.expires_at) for staged in found] == [
            (second.id, FORK, LATER),
            (first.id, OWN, LATER),
        ]

    async def test_by_branch_and_repository(self, here: Installation) -> None:
        own, of_fork, other = [await here.stage(place) for place in (OWN, FORK, BranchPlace("other", ""))]
        assert await here.found(branch="fix") == [of_fork.id, own.id]
        assert await here.found(branch="fix", repository="eve/shop") == [of_fork.id, own.id]
        assert await here.found(branch="fix", repository="acme/shop") == [own.id]
        assert await here.found(branch="fix", repository="") == [own.id]
        assert await here.found(branch="other") == [other.id]
        assert await here.staged.count(here.project.id, "fix", SOON) == 2

    async def test_in_pages(self, here: Installation) -> None:
        staged = [await here.stage() for _ in range(3)]
        newest, *_ = await here.staged.find(here.project.id, SOON, limit=1)
        assert newest.image.id == staged[2].id
        assert await here.found(before=newest.image.seq, limit=1) == [staged[1].id]

    async def test_not_what_is_deleted_or_has_expired(self, here: Installation) -> None:
        image = await here.stage()
        assert await here.staged.find(here.project.id, LATER, limit=10) == []
        assert await here.staged.count(here.project.id, "fix", LATER) == 0
        await here.records.schedule([image.id], NOW)
        assert await here.found() == []
        assert await here.staged.count(here.project.id, "fix", SOON) == 0

    @pytest.mark.slow
    async def test_the_project_is_gone(self, here: Installation) -> None:
        assert await here.records.remove_project(here.project.id)
        with pytest.raises(UnauthorizedError):
            await here.stage()


class TestMove:
    async def test_the_images_are_the_pull_requests(self, here: Installation) -> None:
        staged = [await here.stage(name=name, commit_sha=sha * 7) for name, sha in (("a", "1"), ("b", "2"))]
        assert await here.move() == 2
        assert await here.of_pull() == [image.id for image in staged]
        assert await here.found() == []
        pull = await here.pull()
        assert (pull.images, pull.bytes, pull.last_upload_at, pull.last_commit) == (2, 2000, SOON, "2" * 7)
        assert pull.closed_at is None
        await here.assert_totals()

    async def test_twice_moves_once(self, here: Installation) -> None:
        await here.stage()
        assert [await here.move(), await here.move(), await here.move(pr_number=8)] == [1, 0, 0]
        await here.assert_totals()

    async def test_in_parts(self, here: Installation) -> None:
        staged = [await here.stage() for _ in range(3)]
        assert await here.move(limit=2) == 2
        assert await here.of_pull() == [image.id for image in staged[:2]]
        assert await here.move(limit=2) == 1
        await here.assert_totals()

    async def test_only_of_its_repository_or_of_none(self, here: Installation) -> None:
        _, of_fork, _ = [await here.stage(place) for place in (OWN, FORK, UPSTREAM)]
        other = await here.stage(BranchPlace("other", "acme/shop"))
        assert await here.move(UPSTREAM) == 2
        assert await here.found() == [other.id, of_fork.id]

    async def test_to_a_pull_request_with_later_images(self, here: Installation) -> None:
        staged = await here.stage(commit_sha="1" * 7)
        late, stranger = an_image(here.project, commit_sha="2" * 7), a_project()
        await here.records.add_image(late)
        await here.records.add_project(stranger)
        await here.records.add_image(an_image(stranger, commit_sha="3" * 7))
        assert await here.move() == 1
        assert await here.of_pull() == [staged.id, late.id]
        assert (await here.pull()).last_commit == "2" * 7
        await here.assert_totals()

    @pytest.mark.slow
    async def test_to_a_closed_pull_request_opens_it_like_an_upload(self, here: Installation) -> None:
        await here.records.add_image(an_image(here.project))
        await here.records.close_pr(here.project.id, 7, NOW, schedule=False)
        await here.stage()
        assert await here.move() == 1
        assert (await here.pull()).closed_at is None
        await here.assert_totals()

    async def test_not_what_is_being_deleted_or_has_expired(self, here: Installation) -> None:
        deleted, _ = await here.stage(), await here.stage()
        await here.records.schedule([deleted.id], NOW)
        assert await here.move(now=LATER) == 0
        assert await here.move() == 1
        await here.assert_totals()

    async def test_concurrent_moves_move_each_image_once(self, here: Installation) -> None:
        staged = [await here.stage() for _ in range(10)]
        moved = await asyncio.gather(*(here.move(pr_number=7 + number % 2, limit=3) for number in range(8)))
        assert sum(moved) == len(staged)
        assert sorted(await here.of_pull(7) + await here.of_pull(8)) == sorted(image.id for image in staged)
        await here.assert_totals()

    async def test_moves_and_sweeps_at_once(self, here: Installation) -> None:
        """Each image moves to the pull request or expires, never both."""
        staged = [await here.stage() for _ in range(10)]
        moved, *_ = await asyncio.gather(
            here.move(limit=5),
            *(here.staged.schedule_expired(LATER, 2) for _ in range(4)),
            here.move(limit=5),
        )
        of_pull, scheduled = set(await here.of_pull()), set(await here.scheduled())
        assert of_pull.isdisjoint(scheduled)
        assert len(of_pull) >= moved
        await here.staged.schedule_expired(LATER, 100)
        assert of_pull | set(await here.scheduled()) == {image.id for image in staged}
        await here.records.remove_images(await here.scheduled())
        await here.assert_totals()


class TestPair:
    async def stage(self, here: Installation) -> tuple[Image, Image]:
        image, before = a_pair(here.project, kind="staged")
        await here.staged.add(StagedImage(image, OWN, LATER, before))
        return image, before

    @pytest.mark.slow
    async def test_is_staged_and_moved_as_one_image(self, here: Installation) -> None:
        image, before = await self.stage(here)
        (found,) = await here.staged.find(here.project.id, SOON, limit=10)
        assert found.before
        assert (found.image.id, found.before.id) == (image.id, before.id)
        assert await here.move() == 1
        assert await here.of_pull() == [image.id]
        moved = await here.records.image(here.project.id, image.id)
        assert moved
        assert moved.before_id == before.id
        await here.assert_totals()

    async def test_expires_as_one_image(self, here: Installation) -> None:
        image, before = await self.stage(here)
        assert await here.staged.schedule_expired(LATER, 10) == 1
        assert await here.scheduled() == sorted([image.id, before.id])


class TestExpiry:
    async def test_only_after_its_time(self, here: Installation) -> None:
        image = await here.stage()
        assert await here.staged.schedule_expired(LATER - 1, 100) == 0
        assert await here.staged.schedule_expired(LATER, 100) == 1
        assert await here.scheduled() == [image.id]
        assert await here.staged.schedule_expired(LATER, 100) == 0

    async def test_retention_and_baselines_leave_it_alone(self, here: Installation) -> None:
        """It belongs to no pull request and is no baseline, but it is not left over."""
        await here.stage()
        assert await here.records.schedule_due(LATER, 100) == 0
        assert await SqlBaselines(here.database).release(LATER, 100) == 0
        assert await here.scheduled() == []

    @pytest.mark.slow
    async def test_once_moved_it_expires_with_the_pull_request(self, here: Installation) -> None:
        await here.stage()
        await here.move()
        assert await here.staged.schedule_expired(LATER, 100) == 0
        assert await here.records.close_pr(here.project.id, 7, NOW, schedule=True) == 1

    @pytest.mark.slow
    async def test_a_removed_image_leaves_nothing(self, here: Installation) -> None:
        image = await here.stage()
        await here.records.schedule([image.id], NOW)
        assert await here.records.remove_images([image.id]) == 1
        assert await here.records.remove_project(here.project.id)

    async def test_it_goes_with_its_project(self, here: Installation) -> None:
        image, before = a_pair(here.project, kind="staged")
        await here.staged.add(StagedImage(image, OWN, LATER, before))
        assert not await here.records.remove_project(here.project.id)
        assert await here.records.retire_project(here.project.id, NOW, 100) > 0
        assert await here.scheduled() == sorted([image.id, before.id])
        await here.records.remove_images([image.id, before.id])
        assert await here.records.remove_project(here.project.id)

    async def test_its_bytes_are_no_baselines(self, here: Installation) -> None:
        """A baseline that pointed at it would lose its image with the pull request."""
        image = await here.stage(sha256=SHA256)
        asked = (here.project.id, "main", "a" * 40, [(image.shot, SHA256)], NOW)
        baselines = SqlBaselines(here.database)
        assert await baselines.reuse(*asked) == [None]
        own = image._replace(id="0" * 32, kind="baseline")
        await here.records.add_image(own, "main")
        found = await baselines.reuse(*asked)
        assert [known.id for known in found if known] == [own.id]
