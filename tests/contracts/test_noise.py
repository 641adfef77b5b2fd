"""The contract of every `NoiseRecords` adapter, and of the facts that noise adds to reviews."""

import hashlib
from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from prshots.contract.errors import ConflictError
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.database.schema import (
    branch_pixels,
    connections,
    outbox,
    quarantined_commits,
)
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PairKey,
    PlannedShot,
    ShotBase,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.images.models import Image, ShotKey
from prshots.server.domain.review.models import Decision, NewDecision, ReviewFacts
from prshots.server.domain.review.noise import Quarantine
from support.contract_stores import Stores
from support.drawn_pages import sha
from support.stores_and_records import DAY, NOW, an_image

CART = ShotKey("cart", "1280x800", "")
MANY = 1000


def pixels(shown: str) -> str:
    return hashlib.sha256(shown.encode()).hexdigest()


class Here:
    """A project whose main branch has the shot cart, and its pull request 7."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.noise, self.reviews = stores, stores.noise, stores.reviews
        self.id = stores.project.id

    def image(self, shown: str, commit: str, **changes: object) -> Image:
        about = {"name": "cart", "commit_sha": sha(commit), "sha256": pixels(shown), "kind": "baseline"}
        return an_image(self.stores.project, **(about | changes))

    async def build(
        self, commit: str, shown: str, *, branch: str = "main", at: int = NOW, is_identified: bool = True
    ) -> None:
        """Upload a commit's baseline as the service does: reuse known bytes, and identify new ones later."""
        image = self.image(shown, commit, uploaded_at=at)
        known = [(CART, pixels(shown))]
        (found,) = await self.stores.baselines.reuse(self.id, branch, sha(commit), known, at)
        if not found:
            await self.stores.records.add_image(image, branch)
            if is_identified:
                await self.identify(image)

    async def identify(self, image: Image) -> None:
        await self.stores.comparisons.identify({image.id: image.sha256 or ""})

    async def remembered(self, branch: str = "main") -> list[tuple[str, str]]:
        """Return the commit and the pixels of each remembered change."""
        rows = await self.stores.database.rows(
            select(branch_pixels.c.commit_sha, branch_pixels.c.pixels)
            .where(branch_pixels.c.project_id == self.id, branch_pixels.c.branch == branch)
            .order_by(branch_pixels.c.seq)
        )
        names = {sha(str(number)): str(number) for number in range(20)}
        shown = {pixels(each): each for each in "abcd"}
        return [(names[commit], shown.get(found, "?")) for commit, found in rows]

    async def compare(
        self,
        commit: str,
        *onto: str,
        verdict: Verdict = Verdict.CHANGED,
        state: ComparisonState = ComparisonState.COMPARED,
        now: int = NOW,
        number: int = 7,
    ) -> None:
        """Record the comparison of a commit of the pull request that shows b where its base shows a."""
        image = await self.stores.add(name="cart", commit_sha=sha(commit), pr_number=number)
        request = ComparisonRequest(self.id, number, sha(commit), "main", [sha(each) for each in onto])
        result = ShotResult(verdict, pixels_before=pixels("a"), pixels_after=pixels("b"))
        shot = PlannedShot(image.shot, image, ShotBase(image, sha("0"), is_listed=True), result)
        begun = StoredComparison(request, commit, state, None, 0, now, [shot])
        assert await self.stores.comparisons.begin(begun)

    async def facts(self, now: int = NOW) -> ReviewFacts:
        return (await self.reviews.facts(self.id, {7: [CART]}, now))[7]

    async def history(self, now: int = NOW) -> str:
        """Return what the branch showed, if that may be noise."""
        shown = {pixels(each): each for each in "abcd"}
        return "".join(shown[each] for each in (await self.facts(now)).histories.get(CART, ()))

    def a_quarantine(self, number: int = 1, **changes: object) -> Quarantine:
        ends = NOW + 7 * DAY
        plain = Quarantine(f"{self.id[:20]}{number}", self.id, *CART, "flaky font", "ann", NOW, ends)
        return replace(plain, **changes)

    async def quarantine(self, number: int = 1, **changes: object) -> Quarantine | None:
        return await self.noise.quarantine(self.a_quarantine(number, **changes), MANY)

    async def due(self) -> dict[int, int]:
        """Return how often each pull request's status became due."""
        rows = await self.stores.database.rows(
            select(outbox.c.pr_number, outbox.c.version).where(
                outbox.c.project_id == self.id, outbox.c.kind == "status"
            )
        )
        return dict(tuple(row) for row in rows)

    async def connect(self) -> None:
        forge = {
            "forge": "github",
            "api_url": "",
            "repository": "",
            "kid": "",
            "secret": "",
            "created_by": "",
        }
        await self.stores.database.execute(
            insert(connections).values(project_id=self.id, created_at=NOW, **forge)
        )


@pytest.fixture
def here(stores: Stores) -> Here:
    return Here(stores)


class TestHistories:
    async def test_a_branch_remembers_each_change_of_a_shot_once(self, here: Here) -> None:
        for commit, shown in (("1", "a"), ("2", "a"), ("3", "b"), ("3", "b"), ("4", "a"), ("4", "c")):
            await here.build(commit, shown)
        await here.build("5", "d", branch="next")
        assert await here.remembered() == [("1", "a"), ("3", "b"), ("4", "a"), ("4", "c")]
        assert await here.remembered("next") == [("5", "d")]

    async def test_an_old_commit_that_is_built_again_changes_nothing(self, here: Here) -> None:
        for commit, shown in (("1", "a"), ("2", "b"), ("1", "a"), ("2", "b"), ("1", "c")):
            await here.build(commit, shown)
        assert await here.remembered() == [("1", "a"), ("2", "b")]

    async def test_a_commit_that_arrives_late_takes_its_place_in_the_branch(self, here: Here) -> None:
        """Main went from a to b once. In order of arrival, it would have gone there and back."""
        for commit, shown in (("1", "a"), ("3", "b"), ("2", "a"), ("4", "b")):
            await here.build(commit, shown)
        await here.compare("10", "4", "3", "2", "1")
        assert await here.history() == "aabb"
        await here.compare("11", "2", "1")
        assert await here.history() == "aabb"  # the pull request branched off before 3 and 4
        await here.compare("12", "9")
        assert await here.history() == "abab"  # nothing is known about these commits

    async def test_a_merged_image_counts_until_the_branch_has_its_own(self, here: Here) -> None:
        await here.build("1", "a")
        await here.stores.baselines.adopt(here.image("b", "2", pixels=pixels("b")), "main")
        assert await here.remembered() == [("1", "a"), ("2", "b")]
        await here.build("2", "c")
        await here.build("3", "d")
        await here.stores.baselines.adopt(here.image("b", "3", pixels=pixels("b")), "main")
        await here.stores.baselines.adopt(here.image("a", "2", pixels=pixels("a"), theme="dark"), "main")
        assert await here.remembered() == [("1", "a"), ("2", "b"), ("2", "c"), ("3", "d")]

    async def test_pixels_identified_later_are_filled_in_and_outlive_the_image(self, here: Here) -> None:
        await here.build("1", "a")
        await here.build("2", "b", is_identified=False)
        await here.build("3", "a")
        await here.build("4", "b")
        assert await here.remembered() == [("1", "a"), ("2", "?"), ("3", "a"), ("4", "?")]
        (known,) = await here.stores.baselines.reuse(here.id, "next", sha("5"), [(CART, pixels("b"))], NOW)
        assert known
        await here.identify(known)
        await here.stores.records.remove_images([known.id])
        assert await here.remembered() == [("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")]

    async def test_only_the_pictures_of_the_last_30_days_count(self, here: Here) -> None:
        """The first is the picture that the branch had when they began."""
        days = {"1": -50, "2": -40, "3": -31, "4": -29, "5": -20, "6": -10}
        for (commit, day), shown in zip(days.items(), "babaab", strict=True):
            await here.build(commit, shown, at=NOW + day * DAY)
        await here.build("7", "a", at=NOW - 5 * DAY)
        await here.compare("10")
        assert await here.history() == "baba"
        assert await here.history(NOW + 3 * DAY) == ""

        assert await here.noise.discard_old(NOW, 1) == 1
        assert await here.noise.discard_old(NOW, 10) == 1
        assert await here.noise.discard_old(NOW, 10) == 0
        assert [commit for commit, _ in await here.remembered()] == ["3", "4", "6", "7"]
        assert await here.history() == "baba"
        assert await here.noise.discard_old(NOW + 400 * DAY, 10) == 3
        assert await here.remembered() == [("7", "a")]

    async def test_facts_change_with_the_branch(self, here: Here) -> None:
        await here.compare("10", "3")
        for commit, shown in (("1", "a"), ("2", "b"), ("3", "a")):
            await here.build(commit, shown)
        assert await here.history() == ""
        await here.build("4", "b")
        assert await here.history() == "abab"

    async def test_an_alternating_pair_causes_no_notice(self, here: Here) -> None:
        for commit, shown in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")):
            await here.build(commit, shown)
        await here.compare("10", verdict=Verdict.UNCHANGED)
        pair = PairKey(*CART, pixels("a"), pixels("b"))
        decision = NewDecision(Decision.REJECTED, frozenset({pair}), "ann", "ann")
        assert await here.reviews.decide(here.id, 7, decision, NOW)
        await here.compare("11")
        assert await here.reviews.notice(here.id, 7) == 0

    async def test_histories_of_a_project_include_all_branches(self, here: Here) -> None:
        for branch in ("main", "next"):
            for commit, shown in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")):
                await here.build(commit, shown, branch=branch)
        await here.build("5", "c")
        found = await here.noise.histories(here.id, NOW)
        assert [(each.branch, each.shot, len(each.pictures)) for each in found] == [
            ("main", CART, 5),
            ("next", CART, 4),
        ]


class TestQuarantine:
    async def test_a_shot_is_in_quarantine_until_its_end(self, here: Here) -> None:
        await here.compare("10")
        stored = await here.quarantine()
        assert stored == here.a_quarantine()
        assert await here.noise.quarantines(here.id, NOW) == [stored]
        assert CART in (await here.facts()).quarantined
        assert await here.noise.quarantines(here.id, stored.until) == []
        assert CART not in (await here.facts(stored.until)).quarantined

    async def test_only_known_shots_can_be_in_quarantine(self, here: Here) -> None:
        assert await here.quarantine() is None
        await here.build("1", "a")
        assert await here.quarantine()
        assert await here.quarantine(2, theme="dark") is None
        await here.stores.add(name="cart", theme="dark")
        assert await here.quarantine(2, theme="dark")
        await here.stores.records.close_pr(here.id, 7, NOW, schedule=True)
        assert await here.quarantine(3, theme="dark") is None

    async def test_quarantining_again_replaces_reason_and_end(self, here: Here) -> None:
        await here.build("1", "a")
        await here.quarantine()
        await here.compare("10", now=NOW + 1)
        until = NOW + 30 * DAY
        again = await here.quarantine(2, reason="slow map", created_by="bob", created_at=NOW + 2, until=until)
        assert again == here.a_quarantine(
            reason="slow map", created_by="bob", until=until, compared=1, differed=1
        )
        late = await here.quarantine(3, created_at=until, until=until + DAY)
        assert late == here.a_quarantine(3, created_at=until, until=until + DAY)

    async def test_refuses_more_than_the_limit(self, here: Here) -> None:
        for name in ("cart", "home", "map"):
            await here.stores.add(name=name)
        assert await here.noise.quarantine(here.a_quarantine(1), 2)
        assert await here.noise.quarantine(here.a_quarantine(2, name="home", until=NOW + DAY), 2)
        with pytest.raises(ConflictError, match="at most 2 screenshots in quarantine: end one first"):
            await here.noise.quarantine(here.a_quarantine(3, name="map"), 2)
        assert await here.noise.quarantine(here.a_quarantine(4), 2)
        found = await here.noise.quarantines(here.id, NOW)
        assert [each.name for each in found] == ["home", "cart"]
        assert await here.noise.quarantine(here.a_quarantine(5, name="map", created_at=NOW + DAY), 2)

    async def test_each_commit_counts_once_with_its_newest_result(self, here: Here) -> None:
        await here.compare("9")
        await here.quarantine()
        for commit, verdict in (("10", "changed"), ("10", "changed"), ("11", "changed"), ("12", "failed")):
            await here.compare(commit, verdict=Verdict(verdict))
        await here.compare("11", verdict=Verdict.UNCHANGED)
        await here.compare("11", state=ComparisonState.RUNNING)
        await here.compare("10", number=8)
        (found,) = await here.noise.quarantines(here.id, NOW)
        assert (found.compared, found.differed) == (3, 2)

    async def test_start_and_end_make_the_gates_of_differing_pull_requests_due(self, here: Here) -> None:
        for number, verdict in ((7, "changed"), (8, "unchanged"), (9, "changed")):
            await here.compare("9", number=number, verdict=Verdict.UNCHANGED)
            await here.compare("10", number=number, verdict=Verdict(verdict))
        await here.stores.records.close_pr(here.id, 9, NOW, schedule=False)
        await here.connect()
        await here.quarantine()
        assert await here.due() == {7: 1}
        assert not await here.noise.end_quarantine("other", here.a_quarantine().id, NOW)
        assert await here.noise.end_quarantine(here.id, here.a_quarantine().id, NOW)
        assert await here.due() == {7: 2}
        assert not await here.noise.end_quarantine(here.id, here.a_quarantine().id, NOW)

        await here.quarantine(2)
        await here.compare("11")
        assert await here.noise.discard_old(NOW + 7 * DAY - 1, 10) == 0
        assert await here.noise.discard_old(NOW + 7 * DAY, 10) == 1
        assert await here.due() == {7: 5}
        left = await here.stores.database.rows(
            select(quarantined_commits).where(quarantined_commits.c.project_id == here.id)
        )
        assert left == []
