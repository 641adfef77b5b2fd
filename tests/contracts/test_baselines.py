"""The contract of every `BaselineRecords` adapter."""

import hashlib

import pytest
from sqlalchemy import select

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.database.schema import baselines, compared_shots
from prshots.server.domain.comparison.models import (
    Bases,
    ComparisonRequest,
    PlannedShot,
    ShotBase,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.images.models import NO_PULL_REQUEST, BranchPlace, Image, ShotKey, StagedImage
from support.contract_stores import Stores, ids
from support.drawn_pages import sha
from support.stores_and_records import NOW, an_image

CART = ShotKey("cart", "1280x800", "")


def digest(text: str) -> str:
    """Return the SHA-256 of an image's bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


class Installation:
    """The baselines of one project."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.records, self.baselines = stores, stores.records, stores.baselines
        self.project = stores.project

    async def build(
        self, commit: str, shots: dict[str, str], branch: str = "main", themes: tuple[str, ...] = ("",)
    ) -> None:
        """Upload the baselines of a commit: names of shots with what they show."""
        for theme in themes:
            for name, shown in shots.items():
                image = self.image(name, shown, commit, theme=theme)
                if not await self.reuse(commit, image.shot, shown, branch):
                    await self.records.add_image(image, branch)

    async def reuse(self, commit: str, shot: ShotKey, shown: str, branch: str = "main") -> Image | None:
        asked = [(shot, digest(shown))]
        (known,) = await self.baselines.reuse(self.project.id, branch, sha(commit), asked, NOW)
        return known

    def image(self, name: str, shown: str, commit: str, **changes: object) -> Image:
        place = {"name": name, "commit_sha": sha(commit), "sha256": digest(shown), "kind": "baseline"}
        return an_image(self.project, **(place | changes))

    async def found(self, *commits: str, shots: tuple[ShotKey, ...] = (CART,), branch: str = "main") -> Bases:
        return await self.baselines.bases(self.project.id, branch, [sha(commit) for commit in commits], shots)

    async def bases(
        self, *commits: str, shots: tuple[str, ...] = ("cart",), branch: str = "main"
    ) -> dict[str, str]:
        """Return for each shot the commit of its base, and `!` if that was not listed."""
        wanted = tuple(CART._replace(name=name) for name in shots)
        found = await self.found(*commits, shots=wanted, branch=branch)
        names = {sha(str(number)): str(number) for number in range(20)}
        return {
            shot.name: names[base.commit_sha] + ("" if base.is_listed else "!")
            for shot, base in found.by_shot.items()
        }

    async def base(self, commit: str) -> Image:
        return (await self.found(commit)).by_shot[CART].image

    async def of_commit(self, commit: str) -> list[Image]:
        return await self.baselines.of_commit(self.project.id, "main", sha(commit), None, 10)

    async def stored(self) -> int:
        """Return how many images of baselines are not scheduled for expiry."""
        return len(await self.stores.of_pull(NO_PULL_REQUEST))

    async def show(self, base: Image) -> None:
        """Record a comparison of a pull request that shows this base."""
        image = await self.stores.add(name="cart")
        request = ComparisonRequest(self.project.id, 7, image.commit_sha, "main")
        of_commit = ShotBase(base, base.commit_sha, is_listed=True)
        shot = PlannedShot(image.shot, image, of_commit, ShotResult(Verdict.CHANGED))
        assert await self.stores.comparisons.begin(
            StoredComparison(request, "run", ComparisonState.COMPARED, None, 0, NOW, [shot])
        )


@pytest.fixture
async def here(stores: Stores) -> Installation:
    await stores.change_project(keep_baselines=2)
    return Installation(stores)


class TestReuse:
    async def test_equal_bytes_of_a_shot_are_stored_once(self, here: Installation) -> None:
        for commit, shown in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "a")):
            await here.build(commit, {"cart": shown, "home": f"other {commit}"})
        assert await here.stored() == 2 + 4
        await here.build("4", {"cart": "a"}, themes=("light", "dark"))
        await here.build("4", {"about": "a"})
        assert await here.stored() == 2 + 4 + 3

    async def test_only_a_baseline_is_reused(self, here: Installation) -> None:
        """A baseline that pointed at another image would lose it with the pull request."""
        same = {"name": "cart", "sha256": digest("same")}
        await here.stores.add_pair(**same)
        staged = an_image(here.project, kind="staged", **same)
        await here.stores.staged.add(StagedImage(staged, BranchPlace("fix", ""), NOW + 1))
        assert await here.reuse("2", CART, "same") is None

    async def test_a_rerun_of_a_commit_replaces_its_baseline(self, here: Installation) -> None:
        await here.build("1", {"cart": "first"})
        await here.build("1", {"cart": "second"})
        assert (await here.base("1")).sha256 == digest("second")


class TestHistory:
    async def test_lists_each_image_with_the_commits_that_share_it(self, here: Installation) -> None:
        for commit, shown in zip("12345", "abbab", strict=True):
            await here.build(commit, {"cart": shown, "home": commit})
        await here.build("6", {"cart": "c"}, branch="next")
        found = await here.baselines.history(here.project.id, "main", CART)
        assert [(each.image.sha256, each.first_commit, each.last_commit, each.commits) for each in found] == [
            (digest(shown), sha(first), sha(last), commits)
            for shown, first, last, commits in (
                ("b", "5", "5", 1),
                ("a", "4", "4", 1),
                ("b", "2", "3", 2),
                ("a", "1", "1", 1),
            )
        ]
        assert [each.seq for each in found] == sorted((each.seq for each in found), reverse=True)
        assert await here.baselines.history(here.project.id, "main", CART._replace(theme="dark")) == []

    async def test_history_prefers_the_branchs_own_build_of_a_commit(self, here: Installation) -> None:
        await here.build("1", {"cart": "built"})
        await here.baselines.adopt(here.image("cart", "merged", "1"), "main")
        await here.baselines.adopt(here.image("cart", "merged", "2"), "main")
        found = await here.baselines.history(here.project.id, "main", CART)
        assert [(each.image.sha256, each.last_commit) for each in found] == [
            (digest("merged"), sha("2")),
            (digest("built"), sha("1")),
        ]


class TestBases:
    async def test_are_of_the_nearest_listed_commit_or_the_newest_of_the_branch(
        self, here: Installation
    ) -> None:
        for commit in "123":
            await here.build(commit, {"cart": commit, **({"home": "x"} if commit == "1" else {})})
        assert await here.bases("9", "2", "1", shots=("cart", "home", "new")) == {"cart": "2", "home": "1"}
        assert await here.bases("8", "9") == {"cart": "3!"}
        assert await here.bases() == {"cart": "3!"}
        # A release branch that was just cut has the commits of main, and no own build yet.
        assert await here.bases("1", branch="release") == {"cart": "1"}
        assert await here.bases("9", branch="release") == {}
        found = [await here.found(shots=(), branch=branch) for branch in ("main", "release")]
        assert [each.branch_has_any for each in found] == [True, False]

    async def test_are_found_beyond_the_commits_that_are_read_whole(self, here: Installation) -> None:
        await here.build("0", {"rare": "x", "cart": "0"})
        await here.build("1", {"rare": "y", "cart": "1"})
        for commit in range(2, 12):
            await here.build(str(commit), {"cart": str(commit)})
        listed = [str(commit) for commit in range(11, -1, -1)]
        assert await here.bases(*listed, shots=("cart", "rare")) == {"cart": "11", "rare": "1"}

    async def test_name_the_nearest_commit_even_if_another_was_uploaded_later(
        self, here: Installation
    ) -> None:
        await here.build("2", {"cart": "a"})
        await here.records.add_image(here.image("home", "b", "1", uploaded_at=NOW + 60), "main")
        found = await here.found("2", "1", shots=(CART, CART._replace(name="home")))
        assert found.commit_sha == sha("2")

    async def test_say_whether_the_nearest_commit_is_complete(self, here: Installation) -> None:
        for commit in "12":
            await here.build(commit, {"cart": commit, "home": "x"})
        assert await here.baselines.complete(here.project.id, "main", sha("1"), NOW) == 2
        assert await here.baselines.complete(here.project.id, "main", sha("3"), NOW) == 0
        await here.build("3", {"cart": "3"})
        found = [await here.found(*commits) for commits in ("21", "91", "31")]
        assert [each.is_complete for each in found] == [False, True, True]

    async def test_a_themed_shot_has_its_own_base(self, here: Installation) -> None:
        await here.build("1", {"cart": "a"}, themes=("light", "dark"))
        dark = CART._replace(theme="dark")
        assert set((await here.found("1", shots=(dark, CART))).by_shot) == {dark}


class TestAdopting:
    async def test_the_branchs_own_build_ranks_above(self, here: Installation) -> None:
        merged = here.image("cart", "from the pull request", "1")
        assert await here.baselines.adopt(merged, "main")
        assert await here.bases("1") == {"cart": "1"}
        assert ids(await here.of_commit("1")) == [merged.id]
        await here.build("1", {"cart": "from main"})
        assert (await here.base("1")).sha256 == digest("from main")
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
        stranger = await here.stores.add_project()
        await here.stores.add(stranger, "main", name="old", commit_sha=sha("6"), kind="baseline")
        assert await here.baselines.release(NOW, 100) == 3
        assert await here.stored() == 3
        left = await here.baselines.commits(here.project.id, "main", None, 10)
        assert [commit.commit_sha for commit in left] == [sha("5"), sha("4"), sha("1")]
        assert await here.bases("5", "4", "3", "2", "1", shots=("cart", "old")) == {"cart": "5", "old": "1"}
        assert await here.baselines.release(NOW, 100) == 0

    async def test_each_branch_keeps_its_own_commits(self, here: Installation) -> None:
        for commit in "123":
            await here.build(commit, {"cart": "same"}, branch="release")
        for commit in "456":
            await here.build(commit, {"cart": commit})
        assert await here.baselines.release(NOW, 100) == 1
        assert await here.bases("3", branch="release") == {"cart": "3"}

    async def test_images_that_an_open_pull_request_shows_stay(self, here: Installation) -> None:
        await here.build("1", {"cart": "1"})
        await here.show(await here.base("1"))
        for commit in "234":
            await here.build(commit, {"cart": commit})
        assert await here.baselines.release(NOW, 100) == 1  # of commit 2
        await here.records.close_pr(here.project.id, 7, NOW, schedule=False)
        assert await here.baselines.release(NOW, 100) == 1

    async def test_removed_images_leave_no_rows_behind(self, here: Installation) -> None:
        await here.build("1", {"cart": "1"})
        base = await here.base("1")
        await here.show(base)
        await here.records.remove_images([base.id, *await here.stores.of_pull(7)])
        for table in (baselines, compared_shots):
            of_project = select(table).where(table.c.project_id == here.project.id)
            assert await here.records._database.rows(of_project) == []

    async def test_a_small_limit_is_kept(self, here: Installation) -> None:
        for commit in "12345":
            await here.build(commit, {"cart": commit})
        assert [await here.baselines.release(NOW, 2) for _ in range(3)] == [2, 1, 0]

    async def test_age_alone_removes_nothing(self, here: Installation) -> None:
        await here.stores.change_project(retain_days=1)
        await here.build("1", {"cart": "1"})
        assert await here.records.schedule_due(NOW + 10**9, 100) == 0


class TestPages:
    async def test_commits_are_listed_with_their_images(self, here: Installation) -> None:
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

    async def test_a_removed_image_leaves_its_baselines(self, here: Installation) -> None:
        await here.build("1", {"cart": "1"})
        (image,) = await here.of_commit("1")
        await here.records.remove_images([image.id])
        assert await here.bases("1") == {}
        assert await here.of_commit("1") == []
