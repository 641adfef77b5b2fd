"""How comparisons run: while they take long, when a process dies or is replaced, and when something fails."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prshots.contract.comments import MAX_COMMENT_BYTES, Marker, View
from prshots.contract.errors import (
    DamagedPictureError,
    NotFoundError,
    PictureWorkerDiedError,
    PictureWorkerError,
    RecordsError,
    StoreError,
    StoreFullError,
)
from prshots.contract.replies import Comparison, ComparisonState, SizedComment, Verdict
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.review.decisions import SqlReviews
from prshots.server.adapters.sql.review.noise import SqlNoise
from prshots.server.domain.comments import fitting, views
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.comparison import service
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PairResult,
    PartPicture,
    Piece,
    StoredComparison,
)
from prshots.server.domain.comparison.service import PAIRS_AT_ONCE, STALE_SECONDS, Comparisons
from prshots.server.domain.images.models import Image
from prshots.server.domain.review.noise_service import Noise
from prshots.server.domain.review.service import Reviews
from support.stores_and_records import NOW, a_project, an_image, image_service, open_records
from support.waiting import eventually

BASE, HEAD = "b" * 40, "a" * 40
CHANGED = PairResult(
    "changed",
    12,
    [Piece((1, 2, 3, 4), "changed"), Piece((5, 6, 7, 8), "came")],
    marked=b"\xff\xd8marked",
    pixels_before="1" * 64,
    pixels_after="2" * 64,
    closeups=[PartPicture((1, 2, 3, 4), [0], b"one"), PartPicture((5, 6, 7, 8), [1], b"two")],
)


class Store(DiskStore):
    """A disk that can fail to store differences, or to read."""

    fails_differences: StoreError | None = None
    fails_reads: StoreError | None = None

    async def put(self, key: str, chunks: object) -> None:
        if self.fails_differences and key.endswith(".diff.jpg"):
            raise self.fails_differences
        await super().put(key, chunks)  # type: ignore[arg-type]

    async def read(self, key: str) -> bytes | None:
        if self.fails_reads:
            raise self.fails_reads
        return await super().read(key)


class Place:
    """A project with a baseline and a pull request for each of some shots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = open_records(folder)
        self.store = Store(folder / "images")
        self.project = a_project()
        self.now = float(NOW)
        self.compared = self.identified = 0
        self.identity: Callable[[bytes], str] = lambda data: hashlib.sha256(data).hexdigest()
        self.before = b"before"
        self.known: list[str] = []
        """The identities of the before images that the service knew."""
        self.order: list[bytes] = []
        """What was compared, by its bytes before."""
        self.answer: Callable[[], PairResult] = lambda: CHANGED
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.service = self.another_process()

    def another_process(self, slots: int = PAIRS_AT_ONCE) -> Comparisons:
        database = self.records._database
        return Comparisons(
            records=SqlComparisons(database),
            baselines=SqlBaselines(database),
            store=self.store,
            images=image_service(self.records, self.store),
            compare=self.compare,
            identify=self.identify,
            slots=slots,
            clock=lambda: self.now,
        )

    async def identify(self, data: bytes) -> str:
        self.identified += 1
        return self.identity(data)

    async def compare(self, before: bytes, after: bytes, known: str = "") -> PairResult:
        assert (before.removeprefix(b"other "), after) == (b"before", b"after")
        self.compared += 1
        self.order.append(before)
        self.known.append(known)
        await self.may_answer.wait()
        return self.answer()

    async def fill(self, shots: int = 1) -> None:
        await self.records.add_project(self.project)
        for number in range(shots):
            common = {"name": f"shot-{number}", "viewport": "1x1"}
            base = an_image(self.project, **common, kind="baseline", commit_sha=BASE, sha256=f"{number:064}")
            await self.store.put(base.key, [self.before])
            await self.records.add_image(base, "main")
            await self.push(**common, sha256=f"{number + 1000:064}")

    async def push(self, **fields: object) -> Image:
        image = an_image(self.project, commit_sha=HEAD, **fields)
        await self.store.put(image.key, [b"after"])
        await self.records.add_image(image)
        return image

    async def ask(self, service: Comparisons | None = None, seconds: float = 20) -> Comparison:
        request = ComparisonRequest(self.project.id, 7, HEAD, "main", (BASE,))
        return await self.reviews(service).compare(self.project, request, seconds)

    def reviews(self, service: Comparisons | None = None) -> Reviews:
        database = self.records._database
        return Reviews(
            records=SqlReviews(database),
            comparisons=service or self.service,
            overview=SqlOverview(database),
            images=image_service(self.records, self.store),
            forge_hosts={},
        )

    async def start_and_hold(self, shots: int = 1) -> Comparison:
        """Ask for a comparison. Its pairs wait until `may_answer` is set."""
        await self.fill(shots)
        self.may_answer.clear()
        first = await self.ask(seconds=0)
        await self.until_comparing(min(shots, PAIRS_AT_ONCE))
        return first

    async def until_comparing(self, pairs: int = 1) -> None:
        await eventually(lambda: self.compared >= pairs, f"{pairs} pairs to be compared")

    async def until_compared(self, service: Comparisons) -> Comparison:
        reviews = self.reviews(service)
        async with asyncio.timeout(20):
            while (found := await reviews.latest(self.project, 7)) is None or found.state == "running":
                await asyncio.sleep(0.01)
        return found


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    yield made
    made.may_answer.set()
    await made.service.close()
    await made.records.close()


async def test_images_deleted_while_a_comparison_is_planned_are_left_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.fill()
    deleted = [await place.push(name=f"deleted-{number}", viewport="1x1") for number in range(10)]
    begin = place.service._records.begin

    async def begin_after_a_delete(comparison: StoredComparison) -> bool:
        if deleted:
            await place.records.schedule([deleted.pop().id], NOW)
        return await begin(comparison)

    monkeypatch.setattr(place.service._records, "begin", begin_after_a_delete)
    assert [shot.name for shot in (await place.ask()).shots] == ["shot-0"]
    assert not deleted


async def test_a_comparison_that_takes_long_is_running_and_goes_on(place: Place) -> None:
    first = await place.start_and_hold()
    assert (first.state, first.shots) == (ComparisonState.RUNNING, [])
    place.may_answer.set()
    final = await place.until_compared(place.service)
    assert (final.state, final.counts["changed"]) == (ComparisonState.COMPARED, 1)
    assert final.shots[0].diff_url


async def test_an_abandoned_comparison_is_repeated_by_whoever_asks(place: Place) -> None:
    await place.start_and_hold()
    other = place.another_process()
    assert (await other.latest(place.project, 7)).state is ComparisonState.RUNNING  # type: ignore[union-attr]
    assert place.compared == 1  # someone works on it
    place.now += STALE_SECONDS + 1
    place.may_answer.set()
    final = await place.until_compared(other)
    assert final.state is ComparisonState.COMPARED
    await other.close()


async def test_a_process_that_stops_leaves_it_to_the_next(place: Place) -> None:
    await place.start_and_hold()
    await place.service.close()
    place.may_answer.set()
    other = place.another_process()
    assert (await place.until_compared(other)).state is ComparisonState.COMPARED
    await other.close()


async def test_a_second_request_replaces_the_first_one_and_both_get_its_result(place: Place) -> None:
    await place.fill()
    place.may_answer.clear()
    first = asyncio.create_task(place.ask())
    await place.until_comparing()
    await place.push(name="late", viewport="1x1", sha256="f" * 64)
    second = asyncio.create_task(place.ask())
    await place.until_comparing(2)
    place.may_answer.set()
    assert [len((await each).shots) for each in (first, second)] == [2, 2]


async def test_a_process_stops_when_another_has_begun_the_same_comparison(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "RECORD_SECONDS", -1)  # recorded after every pair
    await place.start_and_hold(shots=6)
    other = place.another_process()
    await place.ask(other, seconds=0)
    await place.until_comparing(2 * PAIRS_AT_ONCE)
    place.may_answer.set()
    assert (await place.until_compared(other)).state is ComparisonState.COMPARED
    await eventually(lambda: not place.service._running, "the end of the run")
    assert place.compared == PAIRS_AT_ONCE + 6
    await other.close()


async def test_pairs_that_were_compared_are_not_compared_again(place: Place) -> None:
    await place.fill(shots=5)
    first = await place.ask()
    assert (place.compared, len(first.shots)) == (5, 5)
    again = await place.push(name="shot-0", viewport="1x1", sha256=f"{1000:064}")
    second = await place.ask()
    assert place.compared == 5
    assert again.id in str(second.shots[0].diff_url)
    assert await place.store.read(again.diff_key) == CHANGED.marked
    assert [await place.store.read(key) for key in again.closeup_keys[:3]] == [b"one", b"two", None]
    assert [closeup.region for closeup in second.shots[0].closeups] == [(1, 2, 3, 4), (5, 6, 7, 8)]
    await place.store.delete([again.closeup_keys[1]])
    third = await place.push(name="shot-0", viewport="1x1", sha256=f"{1000:064}")
    await place.ask()
    assert place.compared == 6  # one of them was lost
    assert await place.store.read(third.closeup_keys[1]) == b"two"


async def test_identified_pixels_are_not_compared(place: Place) -> None:
    await place.fill()
    (first,) = (await place.ask()).shots
    assert (place.known, first.pixels_before, first.pixels_after) == ([""], "1" * 64, "2" * 64)
    again = await place.push(name="shot-0", viewport="1x1", sha256="f" * 64)
    await place.ask()
    assert place.known == ["", "1" * 64]
    await place.service._records.identify({again.id: "1" * 64})
    (third,) = (await place.ask()).shots
    assert (place.compared, third.verdict, third.pixels_after) == (2, Verdict.UNCHANGED, "1" * 64)


async def test_shots_that_need_no_comparison_are_identified_once(place: Place) -> None:
    await place.fill()
    await place.push(name="shot-0", viewport="1x1", sha256=f"{0:064}")  # the baseline's bytes
    await place.push(name="new", viewport="1x1")
    for _ in range(2):
        found = {shot.verdict: shot for shot in (await place.ask()).shots}
        assert (place.compared, place.identified) == (0, 2)
        assert (
            found[Verdict.NEW].pixels_after
            == found[Verdict.UNCHANGED].pixels_after
            == hashlib.sha256(b"after").hexdigest()
        )
        assert (found[Verdict.NEW].pixels_before, found[Verdict.UNCHANGED].pixels_before) == (
            "",
            found[Verdict.NEW].pixels_after,
        )


@pytest.mark.parametrize(
    ("error", "tries"), [(DamagedPictureError("cut off"), 1), (PictureWorkerDiedError("the process died"), 2)]
)
async def test_an_image_that_cannot_be_identified_keeps_its_verdict(
    place: Place, error: Exception, tries: int
) -> None:
    await place.fill()
    await place.push(name="shot-0", viewport="1x1", sha256=f"{0:064}")

    def identity(_: bytes) -> str:
        raise error

    place.identity = identity
    for _ in range(2):
        reply = await place.ask()
        assert (reply.state, reply.shots[0].verdict, reply.shots[0].pixels_after) == (
            ComparisonState.COMPARED,
            Verdict.UNCHANGED,
            "",
        )
    assert place.identified == tries


async def test_a_new_baseline_is_identified_in_the_background(place: Place) -> None:
    await place.fill(shots=3)
    bases = await place.service._baselines.of_commit(place.project.id, "main", BASE, None, 10)
    for base in bases:
        place.service.baseline_stored(place.project, base)
    await eventually(
        lambda: place.identified == 3 and place.service._identification._task.done(), "its identity"
    )  # type: ignore[union-attr]
    await place.ask()
    assert place.known == [hashlib.sha256(b"before").hexdigest()] * 3


async def test_a_verdict_of_older_rules_is_decided_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.fill()
    await place.ask()
    monkeypatch.setattr(service, "ENGINE", service.ENGINE + 1)
    await place.ask()
    assert place.compared == 2


@pytest.mark.parametrize(
    ("error", "is_remembered"),
    [
        (DamagedPictureError("cannot be decoded"), True),
        (PictureWorkerDiedError("the process died"), False),
        (PictureWorkerError("too many images wait"), False),
    ],
)
async def test_a_pair_that_cannot_be_compared_fails_alone(
    place: Place, error: Exception, is_remembered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BUSY_SECONDS", 0.001)
    await place.fill(shots=2)
    answers = iter([CHANGED])

    def answer() -> PairResult:
        if found := next(answers, None):
            return found
        raise error

    place.answer = answer
    reply = await place.ask()
    assert reply.state is ComparisonState.COMPARED
    assert sorted(shot.verdict for shot in reply.shots) == [Verdict.CHANGED, Verdict.FAILED]
    assert [shot.reason for shot in reply.shots if shot.reason] == [str(error)]
    place.compared = 0
    await place.ask()
    assert (place.compared == 0) == is_remembered


async def test_results_lost_by_a_failing_database_are_recorded_later(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that fails for a moment must not leave a comparison that looks whole and lacks a verdict."""
    monkeypatch.setattr(service, "ALIVE_SECONDS", 0.01)
    monkeypatch.setattr(service, "PAIRS_AT_ONCE", 1)
    await place.fill(shots=2)
    records, failed = place.service._records, asyncio.Event()
    record = records.record

    async def record_later(*given: Any, **named: Any) -> bool:
        if given[2] and not failed.is_set():
            failed.set()
            raise RecordsError("the database did not answer")
        return await record(*given, **named)

    monkeypatch.setattr(records, "record", record_later)

    def answer() -> PairResult:
        if place.compared == 1:
            place.may_answer.clear()  # the second pair waits until the first one's result was lost
        return CHANGED

    place.answer = answer
    asked = asyncio.create_task(place.ask())
    await asyncio.wait_for(failed.wait(), 20)
    place.may_answer.set()
    reply = await asked
    assert (reply.state, len(reply.shots)) == (ComparisonState.COMPARED, 2)


async def test_a_run_that_has_nothing_to_do_stops_the_one_before(place: Place) -> None:
    await place.start_and_hold()
    await place.push(name="shot-0", viewport="1x1", sha256=f"{0:064}")  # the baseline's bytes
    reply = await asyncio.wait_for(place.ask(), 10)
    assert (reply.state, reply.counts["unchanged"]) == (ComparisonState.COMPARED, 1)


@pytest.mark.parametrize("fails", ["fails_reads", "fails_differences"])
async def test_a_store_that_does_not_answer_fails_the_comparison_and_the_next_one_is_whole(
    place: Place, fails: str
) -> None:
    await place.fill()
    setattr(place.store, fails, StoreError("the store did not answer"))
    assert (await place.ask()).state is ComparisonState.FAILED
    setattr(place.store, fails, None)
    found = await place.ask()
    assert (found.state, bool(found.shots[0].diff_url)) == (ComparisonState.COMPARED, True)


async def test_without_room_for_the_difference_there_is_still_a_verdict(place: Place) -> None:
    await place.fill()
    place.store.fails_differences = StoreFullError("the disk is full")
    (shot,) = (await place.ask()).shots
    assert (shot.verdict, shot.diff_url) == (Verdict.CHANGED, None)
    place.store.fails_differences = None
    (shot,) = (await place.ask()).shots
    assert shot.diff_url


async def test_an_image_that_expires_meanwhile_leaves_no_difference(place: Place) -> None:
    await place.start_and_hold()
    await place.records.close_pr(place.project.id, 7, NOW, schedule=True)
    place.may_answer.set()
    await eventually(lambda: not place.service._running, "the end of the run")
    assert not list(place.folder.rglob("*.diff.jpg"))
    assert await place.service.latest(place.project, 7) is None


async def test_comparison_of_a_pull_request_that_closes_meanwhile_is_not_found(place: Place) -> None:
    await place.fill()
    place.may_answer.clear()
    asked = asyncio.create_task(place.ask())
    await place.until_comparing(1)
    await place.records.close_pr(place.project.id, 7, NOW, schedule=True)
    place.may_answer.set()
    with pytest.raises(NotFoundError, match=r"^not found$"):
        await asked


async def test_organizations_take_turns_before_their_runs_do(place: Place) -> None:
    place.service = place.another_process(slots=1)
    await place.fill(shots=8)
    sibling, other = Place(place.folder), Place(place.folder)
    for each in (sibling, other):
        each.service, each.store = place.service, place.store
    other.before = b"other before"
    await sibling.fill()
    await other.fill()
    other.project = replace(other.project, organization_id="other")
    place.may_answer.clear()
    runs = []
    for number, each in enumerate((place, sibling, other), start=1):
        runs.append(asyncio.create_task(each.ask()))
        await eventually(lambda: len(place.service._running) == number, f"run {number}")  # noqa: B023
    await place.until_comparing()
    await eventually(
        lambda: len(place.service._turns._waiting) == PAIRS_AT_ONCE + 1, "the other pairs to wait"
    )
    place.may_answer.set()
    await asyncio.gather(*runs)
    assert place.order.index(b"other before") == 1
    await sibling.records.close()
    await other.records.close()


@pytest.mark.parametrize("view", [View.LATEST, View.CHANGES])
async def test_a_view_of_the_comment_does_not_block_the_event_loop(
    place: Place, monkeypatch: pytest.MonkeyPatch, view: View
) -> None:
    """Another thread writes it. With 1,500 shots, it takes 0.15 s."""
    threads = []

    def fit_comment(*args: Any, **options: bool) -> SizedComment:
        threads.append(threading.current_thread())
        return fitting.fit_comment(*args, **options)

    monkeypatch.setattr(views, "fit_comment", fit_comment)
    await place.fill()
    await place.ask()
    noise = Noise(SqlNoise(place.records._database))
    comments = Comments(place.records, image_service(place.records, place.store), place.reviews(), noise)
    await comments.write_sized(place.project, 7, MAX_COMMENT_BYTES, Marker.HTML, view)
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()
