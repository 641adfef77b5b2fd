"""The contract of every `ComparisonRecords` adapter."""

import pytest

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.domain.comparison.models import (
    ColorChange,
    ComparisonRequest,
    ComparisonSummary,
    Piece,
    PlannedShot,
    Shape,
    ShotBase,
    ShotResult,
    ShownPart,
    StoredComparison,
)
from prshots.server.domain.images.models import Image
from support.contract_stores import Stores, ids
from support.stores_and_records import NOW

FIRST, SECOND = "a" * 40, "b" * 40
BEFORE, AFTER = "0" * 64, "1" * 64
PIXELS = "2" * 64
CHANGED = ShotResult(
    Verdict.CHANGED,
    1479,
    (
        Piece((120, 40, 64, 32), "changed", (Shape(21, 9, 2**64 - 1), Shape(8, 9, 0))),
        Piece((0, 900, 1280, 40), "gone"),
    ),
    ((0, 80, 1280, 800, 0, 3), (0, 10, 90, 20, 1, 0)),
    (ColorChange("#ffffff", "#000000", 12),),
    is_redrawn=True,
    pixels_before=PIXELS,
    pixels_after="3" * 64,
    closeups=(ShownPart((120, 40, 64, 32), (0, 1)),),
)
RUNNING, COMPARED = ComparisonState.RUNNING, ComparisonState.COMPARED


class Here:
    """The comparisons of one pull request."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.records, self.comparisons = stores, stores.records, stores.comparisons
        self.project = stores.project

    async def image(self, **changes: object) -> Image:
        return await self.stores.add(sha256=AFTER, **changes)

    async def base(self) -> Image:
        return await self.stores.add(branch="main", kind="baseline", sha256=BEFORE, commit_sha="c" * 40)

    async def images(self) -> tuple[Image, Image]:
        """Add an image of the first commit, and a baseline."""
        return await self.image(commit_sha=FIRST), await self.base()

    def request(self, commit: str = FIRST, *, complete: bool = False) -> ComparisonRequest:
        return ComparisonRequest(self.project.id, 7, commit, "main", ("c" * 40,), complete)

    async def begin(
        self,
        request: ComparisonRequest,
        *shots: PlannedShot,
        run: str = "run",
        state: ComparisonState = RUNNING,
        now: int = NOW,
    ) -> bool:
        return await self.comparisons.begin(StoredComparison(request, run, state, "c" * 40, 2, now, shots))

    async def record(
        self, request: ComparisonRequest, shot: PlannedShot, state: ComparisonState | None = None
    ) -> bool:
        results, pairs = {shot.shot: CHANGED}, {(BEFORE, AFTER): CHANGED}
        identities = {image.id: PIXELS for image in shot.images}
        return await self.comparisons.record(
            request, "run", results, pairs, identities, engine=1, state=state, now=NOW + 5
        )

    async def shown(self) -> StoredComparison:
        shown = await self.comparisons.of_newest_commit(self.project.id, 7)
        assert shown
        return shown


def planned(image: Image, base: Image | None, result: ShotResult | None = None) -> PlannedShot:
    of_commit = ShotBase(base, base.commit_sha, is_listed=False) if base else None
    return PlannedShot(image.shot, image, of_commit, result or ShotResult())


@pytest.fixture
def here(stores: Stores) -> Here:
    return Here(stores)


class TestImages:
    async def test_images_at_a_commit_are_the_newest_of_each_shot(self, here: Here) -> None:
        await here.image(commit_sha=FIRST)
        newer = await here.image(commit_sha=FIRST)
        dark, deleted = [await here.image(commit_sha=FIRST, theme=theme) for theme in ("dark", "deleted")]
        await here.image(commit_sha=SECOND)
        await here.records.schedule([deleted.id], NOW)
        found = await here.comparisons.images_at(here.project.id, 7, FIRST)
        assert set(ids(found)) == {newer.id, dark.id}

    @pytest.mark.parametrize(
        ("uploaded", "asked"), [("aaaaaaa", FIRST), (FIRST, "AAAAAAA"), (FIRST.upper(), FIRST)]
    )
    async def test_either_sha_may_be_a_prefix(self, here: Here, uploaded: str, asked: str) -> None:
        await here.image(commit_sha=uploaded)
        assert len(await here.comparisons.images_at(here.project.id, 7, asked)) == 1

    async def test_a_pair_counts_at_its_commit_and_later_until_its_shot_is_uploaded_again(
        self, here: Here
    ) -> None:
        async def found(commit: str) -> list[tuple[str, str]]:
            pairs = await here.comparisons.pairs_at(here.project.id, 7, commit)
            return [(after.id, before.id) for after, before in pairs]

        async def pair(**changes: object) -> tuple[str, str]:
            after, before = await here.stores.add_pair(**changes)
            return after.id, before.id

        await here.image(name="cart", commit_sha=FIRST)
        first = await pair(name="cart", commit_sha=FIRST)
        await pair(name="cart", commit_sha=FIRST, pr_number=8)
        assert await found(FIRST) == [first]
        assert await found(SECOND) == [first]
        await here.image(name="cart", theme="dark", commit_sha=SECOND)
        again = await here.image(name="cart", commit_sha=SECOND)
        assert await found(SECOND) == []
        assert await found(FIRST) == [first]
        await here.records.schedule([again.id], NOW)
        assert await found(SECOND) == [first]
        second = await pair(name="cart", commit_sha=SECOND)
        assert await found(SECOND) == [second]
        await here.records.schedule([second[1]], NOW)  # only its before image
        assert await found(SECOND) == []

    async def test_a_pair_is_recorded_without_a_base_commit(self, here: Here) -> None:
        after, before = await here.stores.add_pair(commit_sha=FIRST)
        shot = PlannedShot(after.shot, after, ShotBase.before(before), CHANGED)
        assert await here.begin(here.request(), shot)
        base = (await here.shown()).shots[0].base
        assert base
        assert base.is_before
        assert base.image.id == before.id


class TestRecording:
    async def test_a_comparison_is_read_back(self, here: Here) -> None:
        image, base = await here.images()
        request = here.request(complete=True)
        shot = planned(image, base)
        assert await here.begin(request, shot)
        assert await here.record(request, shot, COMPARED)
        found = await here.shown()
        assert (found.request, found.state, found.seen_at) == (request, COMPARED, NOW + 5)
        assert (found.base_commit, found.missing) == ("c" * 40, 2)
        (read,) = found.shots
        assert (read.result, read.image and read.image.id) == (CHANGED, image.id)
        assert read.base
        assert (read.base.image.id, read.base.is_listed) == (base.id, False)
        assert {image.pixels for image in read.images} == {PIXELS}
        assert await here.comparisons.of_commit(here.project.id, 7, FIRST) == found
        assert await here.comparisons.was_complete(here.project.id, 7, FIRST)
        assert not await here.comparisons.was_complete(here.project.id, 7, SECOND)
        await here.comparisons.identify({image.id: ""})
        assert [image.pixels for image in (await here.shown()).shots[0].images] == ["", PIXELS]

    async def test_a_replaced_run_records_nothing(self, here: Here) -> None:
        image, base = await here.images()
        request, shot = here.request(), planned(image, base)
        await here.begin(request, shot)
        await here.begin(request, shot, run="newer")
        assert not await here.record(request, shot, COMPARED)
        found = await here.shown()
        assert (found.state, found.shots[0].result.verdict) == (RUNNING, None)

    async def test_the_newer_commit_is_shown_whichever_is_asked_for_last(self, here: Here) -> None:
        first, base = await here.image(commit_sha=FIRST), await here.base()
        second = await here.image(commit_sha=SECOND)
        await here.begin(here.request(SECOND), planned(second, base), run="2", state=COMPARED)
        await here.begin(here.request(), planned(first, base), run="1", state=COMPARED)
        assert (await here.shown()).request.commit_sha == SECOND
        summary = ComparisonSummary(SECOND, COMPARED, {None: 1}, [planned(second, base).pair])
        assert await here.comparisons.summaries(here.project.id, [7, 8]) == {7: summary}
        assert await here.comparisons.of_commit(here.project.id, 7, FIRST)
        await here.begin(here.request(SECOND), planned(second, base), run="3")
        assert await here.comparisons.of_commit(here.project.id, 7, FIRST)  # a client may still wait for it
        await here.begin(here.request(SECOND), planned(second, base), run="4", now=NOW + 3600)
        assert await here.comparisons.of_commit(here.project.id, 7, FIRST) is None

    async def test_an_image_that_is_being_deleted_is_not_compared(self, here: Here) -> None:
        image, base = await here.images()
        await here.records.schedule([base.id], NOW)
        assert not await here.begin(here.request(), planned(image, base))
        assert await here.comparisons.of_newest_commit(here.project.id, 7) is None

    async def test_deleted_images_leave_the_comparison_and_expiry_removes_it(self, here: Here) -> None:
        image, base = await here.images()
        dark = await here.image(commit_sha=FIRST, theme="dark")
        await here.begin(here.request(), planned(image, base), planned(dark, base))
        await here.records.schedule([dark.id, base.id], NOW)
        found = await here.shown()
        assert [(shot.shot.theme, shot.base) for shot in found.shots] == [("", None)]
        await here.records.remove_images([image.id, dark.id])
        assert list((await here.shown()).shots) == []
        (without_shots,) = (await here.comparisons.summaries(here.project.id, [7])).values()
        assert sum(without_shots.counts.values()) == 0
        await here.records.close_pr(here.project.id, 7, NOW, schedule=True)
        assert await here.comparisons.of_newest_commit(here.project.id, 7) is None

    async def test_the_version_changes_with_everything_that_is_shown(self, here: Here) -> None:
        image, base = await here.images()
        dark, other = await here.image(commit_sha=FIRST, theme="dark"), await here.base()
        request, shot = here.request(), planned(image, base)
        shown, version = here.comparisons.of_newest_commit, here.comparisons.version
        assert await version(here.project.id, 7) is None
        await here.begin(request, shot, planned(dark, other))
        assert await version(here.project.id, 7) is None  # every result would change it

        async def again() -> object:
            return await here.begin(request, shot, planned(dark, other), run="again", state=COMPARED)

        known = {}
        for change in (
            lambda: here.record(request, shot, COMPARED),
            lambda: here.records.set_thumbnail(image.id, "made"),
            lambda: here.records.set_thumbnail(base.id, "damaged"),
            lambda: here.comparisons.set_diff(image.id, base.id),
            lambda: here.comparisons.set_diff(image.id, other.id),
            lambda: here.records.schedule([dark.id], NOW),
            lambda: here.records.schedule([other.id], NOW),
            again,
        ):
            await change()
            found = await version(here.project.id, 7)
            assert found
            assert found == await version(here.project.id, 7)
            known[found] = await shown(here.project.id, 7)
        assert len(known) == 7  # the last run could not begin: its images are being deleted
        await here.begin(request, shot, run="newer", state=COMPARED)
        assert await version(here.project.id, 7) not in {None, *known}


class TestPairs:
    async def test_results_are_known_to_the_same_engine(self, here: Here) -> None:
        image, base = await here.images()
        shot = planned(image, base)
        await here.begin(here.request(), shot)
        await here.record(here.request(), shot)
        pair = (BEFORE, AFTER)
        known = await here.comparisons.known_pairs(here.project.id, {pair, ("2" * 64, "3" * 64)}, 1)
        assert known == {pair: CHANGED}
        assert await here.comparisons.known_pairs(here.project.id, {pair}, 2) == {}
        assert await here.comparisons.known_pairs("other", {pair}, 1) == {}
        assert await here.comparisons.discard_old_pairs(NOW, 10) == 0
        assert await here.comparisons.discard_old_pairs(NOW + 6, 10) == 1

    async def test_a_difference_is_found_by_an_image_with_the_same_bytes(self, here: Here) -> None:
        image, base = await here.images()
        again = await here.image(commit_sha=SECOND)
        assert await here.comparisons.diff_twin(again, base) is None
        assert await here.comparisons.set_diff(image.id, base.id)
        twin = await here.comparisons.diff_twin(again, base)
        assert twin
        assert twin.id == image.id
        await here.records.schedule([image.id], NOW)
        assert not await here.comparisons.set_diff(image.id, base.id)
        assert await here.comparisons.diff_twin(again, base) is None
