"""The contract of every `BaselineRecords` adapter."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from prshots.contract.errors import UnauthorizedError
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.database import Database
from prshots.server.domain.comparison.models import ComparisonRequest, PlannedShot, ShotBase, ShotResult
from prshots.server.domain.comparison.ports import BaselineRecords
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image, ShotKey
from prshots.server.domain.projects.models import Project
from support import neighbor
from support.port_watch import PortWatch
from support.stores_and_records import ENGINES, NOW, PARTITIONED, SqlRecords, a_project, an_image, opener

CART = ShotKey("cart", "1280x800", "")


def sha(text: str) -> str:
    """Return a commit's SHA."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def digest(text: str) -> str:
    """Return the SHA-256 of an image's bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


class Installation:
    """The records of one project."""

    def __init__(self, database: Database, project: Project) -> None:
        self.records = SqlRecords(database)
        self.baselines: BaselineRecords = PortWatch().over(SqlBaselines(database), BaselineRecords)
        self.comparisons = SqlComparisons(database)
        self.project = project

    async def build(
        self, commit: str, shots: dict[str, str], branch: str = "main", themes: tuple[str, ...] = ("",)
    ) -> None:
        """Upload the baselines of a commit: names of shots with what they show."""
        for theme in themes:
            for name, shown in shots.items():
                image = self.image(name, shown, commit, theme=theme)
                known = await self.baselines.reuse(
                    self.project.id, branch, image.commit_sha, [(image.shot, image.sha256 or "")], NOW
                )
                if not known[0]:
                    await self.records.add_image(image, branch)

    def image(self, name: str, shown: str, commit: str, **changes: object) -> Image:
        plain = an_image(
            self.project, name=name, commit_sha=sha(commit), sha256=digest(shown), kind="baseline"
        )
        return plain._replace(**changes)  # type: ignore[arg-type]

    async def bases(
        self, *commits: str, shots: tuple[str, ...] = ("cart",), branch: str = "main"
    ) -> dict[str, str]:
        """Return for each shot the commit of its base, and `!` if that was not listed."""
        wanted = [ShotKey(name, "1280x800", "") for name in shots]
        found = await self.baselines.bases(
            self.project.id, branch, [sha(commit) for commit in commits], wanted
        )
        names = {sha(str(number)): str(number) for number in range(1000)} | {sha(c): c for c in commits}
        return {
            shot.name: names[base.commit_sha] + ("" if base.is_listed else "!")
            for shot, base in found.by_shot.items()
        }

    async def stored(self) -> int:
        """Return how many images of baselines are not scheduled for expiry."""
        total, _ = await self.records.images_of_pr(self.project.id, NO_PULL_REQUEST, 1000)
        return total

    async def show(
        self, pr_number: int, image: Image, base: Image, verdict: Verdict = Verdict.CHANGED
    ) -> None:
        """Record a comparison of a pull request that shows this base."""
        await self.records.add_image(image)
        request = ComparisonRequest(self.project.id, pr_number, image.commit_sha, "main")
        shot = PlannedShot(
            image.shot, image, ShotBase(base, base.commit_sha, is_listed=True), ShotResult(verdict)
        )
        assert await self.comparisons.begin(
            request,
            "run",
            [shot],
            state=ComparisonState.COMPARED,
            base_commit=base.commit_sha,
            missing=0,
            now=NOW,
        )


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def here(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    database = opener(request, tmp_path)()
    project = replace(a_project(), keep_baselines=2)
    await SqlRecords(database).add_project(project)
    yield Installation(database, project)
    await database.close()


class TestReuse:
    async def test_equal_bytes_are_stored_once(self, here: Installation) -> None:
        for commit in "123":
            await here.build(commit, {"cart": "same", "home": f"other {commit}"})
        assert await here.stored() == 1 + 3

    async def test_bytes_of_an_older_commit_are_found_again(self, here: Installation) -> None:
        for commit, shown in (("1", "a"), ("2", "b"), ("3", "a")):
            await here.build(commit, {"cart": shown})
        assert await here.stored() == 2

    async def test_another_shot_with_the_same_bytes_is_not_reused(self, here: Installation) -> None:
        await here.build("1", {"cart": "same"}, themes=("light", "dark"))
        await here.build("1", {"home": "same"})
        assert await here.stored() == 3

    async def test_an_image_of_a_pull_request_is_not_reused(self, here: Installation) -> None:
        await here.records.add_image(here.image("cart", "same", "1", pr_number=7, kind="pull_request"))
        assert await here.baselines.reuse(
            here.project.id, "main", sha("2"), [(CART, digest("same"))], NOW
        ) == [None]

    async def test_a_rerun_of_a_commit_replaces_its_baseline(self, here: Installation) -> None:
        await here.build("1", {"cart": "first"})
        await here.build("1", {"cart": "second"})
        found = await here.baselines.bases(here.project.id, "main", [sha("1")], [CART])
        assert found.by_shot[CART].image.sha256 == digest("second")

    async def test_a_deleted_project_is_unauthorized(self, here: Installation) -> None:
        await here.build("1", {"cart": "a"})
        image = here.image("cart", "b", "2", project_id="gone")
        with pytest.raises(UnauthorizedError):
            await here.records.add_image(image, "main")


class TestBases:
    async def test_the_nearest_listed_commit_that_has_the_shot(self, here: Installation) -> None:
        for commit in "123":
            await here.build(commit, {"cart": commit, **({"home": "x"} if commit == "1" else {})})
        assert await here.bases("9", "2", "1", shots=("cart", "home", "new")) == {"cart": "2", "home": "1"}

    async def test_beyond_the_commits_that_are_read_whole(self, here: Installation) -> None:
        await here.build("0", {"rare": "x", "cart": "0"})
        await here.build("1", {"rare": "y", "cart": "1"})
        for commit in range(2, 12):
            await here.build(str(commit), {"cart": str(commit)})
        listed = [str(commit) for commit in range(11, -1, -1)]
        assert await here.bases(*listed, shots=("cart", "rare")) == {"cart": "11", "rare": "1"}

    async def test_without_a_listed_one_the_newest_of_the_branch(self, here: Installation) -> None:
        for commit in "12":
            await here.build(commit, {"cart": commit})
        assert await here.bases("8", "9") == {"cart": "2!"}
        assert await here.bases() == {"cart": "2!"}

    async def test_a_listed_commit_counts_on_any_branch(self, here: Installation) -> None:
        """A release branch that was just cut has the commits of main, and no build of its own yet."""
        await here.build("1", {"cart": "main"})
        assert await here.bases("1", branch="release") == {"cart": "1"}
        assert await here.bases("2", branch="release") == {}

    async def test_which_branch_has_any(self, here: Installation) -> None:
        await here.build("1", {"cart": "a"})

        async def has_any(branch: str) -> bool:
            return (await here.baselines.bases(here.project.id, branch, [], [])).branch_has_any

        assert [await has_any("main"), await has_any("other")] == [True, False]

    async def test_complete_is_said_of_the_nearest_commit(self, here: Installation) -> None:
        for commit in "12":
            await here.build(commit, {"cart": commit, "home": "x"})
        assert await here.baselines.complete(here.project.id, "main", sha("1"), NOW) == 2

        async def is_complete(*commits: str) -> bool:
            found = await here.baselines.bases(here.project.id, "main", [sha(c) for c in commits], [CART])
            return found.is_complete

        assert [await is_complete("2", "1"), await is_complete("9", "1")] == [False, True]

    async def test_a_themed_shot_has_its_own_base(self, here: Installation) -> None:
        await here.build("1", {"cart": "a"}, themes=("light", "dark"))
        dark, plain = CART._replace(theme="dark"), CART
        found = await here.baselines.bases(here.project.id, "main", [sha("1")], [dark, plain])
        assert set(found.by_shot) == {dark}


class TestAdopting:
    async def test_the_branchs_own_build_ranks_above(self, here: Installation) -> None:
        merged = here.image("cart", "from the pull request", "1")
        assert await here.baselines.adopt(merged, "main")
        assert await here.bases("1") == {"cart": "1"}
        shown = await here.baselines.of_commit(here.project.id, "main", sha("1"), None, 10)
        assert [image.id for image in shown] == [merged.id]
        await here.build("1", {"cart": "from main"})
        found = await here.baselines.bases(here.project.id, "main", [sha("1")], [CART])
        assert found.by_shot[CART].image.sha256 == digest("from main")
        late = here.image("home", "late", "1")
        assert await here.baselines.adopt(late, "main")
        assert not await here.baselines.adopt(here.image("home", "again", "1"), "main")
        assert await here.stored() == 3

    async def test_own_bytes_that_are_the_same_are_not_stored_again(self, here: Installation) -> None:
        await here.baselines.adopt(here.image("cart", "same", "1"), "main")
        await here.build("1", {"cart": "same"})
        assert await here.stored() == 1


class TestRetention:
    """The project keeps two commits of a branch."""

    async def test_the_newest_commits_and_the_newest_of_each_shot_stay(self, here: Installation) -> None:
        await here.build("1", {"cart": "1", "old": "kept"})
        for commit in "2345":
            await here.build(commit, {"cart": commit})
        stranger = Installation(here.records._database, a_project())
        await here.records.add_project(stranger.project)
        await stranger.build("6", {"old": "theirs is newer"})
        assert await here.baselines.release(NOW, 100) == 3
        assert await here.stored() == 3
        left = await here.baselines.commits(here.project.id, "main", None, 10)
        assert [commit.commit_sha for commit in left] == [sha("5"), sha("4"), sha("1")]
        assert await here.bases("5", "4", "3", "2", "1", shots=("cart", "old")) == {"cart": "5", "old": "1"}
        assert await here.baselines.release(NOW, 100) == 0

    async def test_another_branch_keeps_its_own(self, here: Installation) -> None:
        for commit in "123":
            await here.build(commit, {"cart": "same"}, branch="release")
        for commit in "456":
            await here.build(commit, {"cart": commit})
        assert await here.baselines.release(NOW, 100) == 1
        assert await here.bases("3", branch="release") == {"cart": "3"}

    async def test_what_an_open_pull_request_shows_stays(self, here: Installation) -> None:
        await here.build("1", {"cart": "1"})
        base = (await here.baselines.bases(here.project.id, "main", [sha("1")], [CART])).by_shot[CART].image
        await here.show(7, here.image("cart", "new", "p", pr_number=7, kind="pull_request"), base)
        for commit in "234":
            await here.build(commit, {"cart": commit})
        assert await here.baselines.release(NOW, 100) == 1  # of commit 2
        await here.records.close_pr(here.project.id, 7, NOW, schedule=False)
        assert await here.baselines.release(NOW, 100) == 1

    async def test_a_small_limit_is_kept(self, here: Installation) -> None:
        for commit in "12345":
            await here.build(commit, {"cart": commit})
        assert [await here.baselines.release(NOW, 2) for _ in range(3)] == [2, 1, 0]

    async def test_age_alone_removes_nothing(self, here: Installation) -> None:
        await here.records.change_project(replace(here.project, retain_days=1))
        await here.build("1", {"cart": "1"})
        assert await here.records.schedule_due(NOW + 10**9, 100) == 0


class TestPages:
    async def test_commits_and_their_images(self, here: Installation) -> None:
        await here.build("1", {"cart": "1", "home": "same"})
        await here.build("2", {"cart": "2", "home": "same"})
        await here.baselines.complete(here.project.id, "main", sha("2"), NOW)
        await here.build("3", {"cart": "3"}, branch="next")
        assert await here.baselines.branches(here.project.id) == ["main", "next"]
        commits = await here.baselines.commits(here.project.id, "main", None, 10)
        told = [(each.commit_sha, each.is_complete, each.shots, each.bytes) for each in commits]
        assert told == [(sha("2"), True, 2, 2000), (sha("1"), False, 2, 2000)]
        assert len(await here.baselines.commits(here.project.id, None, commits[0].seq, 10)) == 1
        first = await here.baselines.of_commit(here.project.id, "main", sha("2"), None, 1)
        rest = await here.baselines.of_commit(here.project.id, "main", sha("2"), first[0].shot, 10)
        assert [image.name for image in first + rest] == ["cart", "home"]

    async def test_a_deleted_image_is_no_baseline_any_more(self, here: Installation) -> None:
        await here.build("1", {"cart": "1"})
        (image,) = await here.baselines.of_commit(here.project.id, "main", sha("1"), None, 10)
        await here.records.remove_images([image.id])
        assert await here.bases("1") == {}
        assert await here.baselines.of_commit(here.project.id, "main", sha("1"), None, 10) == []


async def test_baselines_are_not_a_pull_request(here: Installation) -> None:
    from prshots.server.adapters.sql.overview import SqlOverview
    from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep

    database = here.records._database
    await here.build("1", {"cart": "1"})
    await here.records.add_image(here.image("cart", "x", "p", pr_number=7, kind="pull_request"))
    pulls = await SqlOverview(database).pulls(here.project.id, closed=None, search="", before=None, limit=10)
    assert [pull.pr_number for pull in pulls] == [7]
    assert [pull.pr_number for pull in await SqlOverview(database).biggest_pulls(here.project.id, 10)] == [7]
    upkeep = SqlUpkeep(database)
    assert await upkeep.stored() == (neighbor.IMAGES + 2, neighbor.BYTES + 2000)
    assert await upkeep.wrong_projects() == []
    assert await upkeep.wrong_pulls(here.project.id, -1) == ([], None)
    assert (await upkeep.wrong_days(here.project.id, -1))[0] == []
