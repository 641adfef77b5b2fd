"""Runs comparisons: plans them, has pairs compared in other processes, and records the verdicts.

The service records a comparison as running before it compares the first pair. If this process dies, the
record goes stale, and the next request repeats the comparison. It doesn't compare known pairs again.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from prshots.contract import errors
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.domain.comparison.identification import Identification
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    ComparisonSummary,
    PairResult,
    PlannedShot,
    ShotResult,
    ShownPart,
    StoredComparison,
)
from prshots.server.domain.comparison.plan import ComparisonPlan, Pair, Work, plan_comparison
from prshots.server.domain.comparison.ports import (
    BaselineRecords,
    ComparePictures,
    ComparisonRecords,
    IdentifyPicture,
)
from prshots.server.domain.comparison.turns import Turns
from prshots.server.domain.images.models import Image, ShotKey
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.images.recorded_objects import store_and_record
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project

ENGINE = 4
"""The version of the comparison rules. Raising it makes the service compare every pair again."""

REPLY_SECONDS = 10.0
"""How long a request waits for the result."""

ALIVE_SECONDS = 5.0
STALE_SECONDS = 20
"""After this long without progress, the next request repeats a running comparison."""

RECORD_SECONDS = 1.0
PAIRS_AT_ONCE = 3
"""How many pairs of a run to work on. While one is compared, the next is read, and the difference images of
the one before are stored."""

PLAN_TRIES = 20
"""An image that is deleted between planning and recording takes another try. Many deletes may take many."""

BUSY_TRIES = 20
BUSY_SECONDS = 0.5

_log = structlog.get_logger()
_Key = tuple[str, int, str]


class _ReplacedError(Exception):
    """Another run of the same comparison has started."""


class _UndecidableError(Exception):
    """The reason why a pair can't be compared. If `is_final`, another attempt would fail the same way."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(slots=True)
class _Run:
    """One attempt at a comparison, with the results that aren't recorded yet."""

    organization_id: str
    request: ComparisonRequest
    final_state: ComparisonState
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    results: dict[ShotKey, ShotResult] = field(default_factory=dict)
    pairs: dict[Pair, ShotResult] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    recorded_at: float = field(default_factory=time.monotonic)
    recording: asyncio.Lock = field(default_factory=asyncio.Lock)

    def identified(self, image: Image, pixels: str) -> None:
        if image.pixels is None:
            self.identities[image.id] = pixels


class Comparisons:
    def __init__(
        self,
        *,
        records: ComparisonRecords,
        baselines: BaselineRecords,
        store: ObjectStore,
        images: Images,
        compare: ComparePictures,
        identify: IdentifyPicture,
        on_decided: Callable[[Verdict], None] = lambda _: None,
        slots: int = PAIRS_AT_ONCE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._baselines = baselines
        self._store = store
        self._images = images
        self._compare = compare
        self._on_decided = on_decided
        self._clock = clock
        self._turns = Turns(slots)
        self._identification = Identification(records, store, identify, self._turns)
        self._running: dict[_Key, asyncio.Task[None]] = {}

    async def compare(self, project: Project, request: ComparisonRequest, seconds: float) -> StoredComparison:
        """Compare the images. Return the result, or a partial one after `seconds`. Raises RecordsError."""
        until = time.monotonic() + seconds
        await self._begin(project, request)
        while (task := self._running.get(_key(request))) and (left := until - time.monotonic()) > 0:
            await asyncio.wait({task}, timeout=left)
        stored = await self._records.of_commit(project.id, request.pr_number, request.commit_sha)
        if stored is None:
            raise errors.NotFoundError("not found")  # the pull request was closed in the meantime
        return stored

    async def latest(self, project: Project, pr_number: int) -> StoredComparison | None:
        """Return the comparison of the newest commit. If a dead process abandoned it, start it again."""
        stored = await self._records.of_newest_commit(project.id, pr_number)
        if stored and self._is_abandoned(stored):
            await self._begin(project, stored.request)
        return stored

    async def summaries(
        self, project: Project, pr_numbers: Collection[int]
    ) -> Mapping[int, ComparisonSummary]:
        return await self._records.summaries(project.id, pr_numbers)

    async def version(self, project: Project, pr_number: int) -> str | None:
        """Return a string that changes with `latest` or its URLs. Return None if that is unknown."""
        version = await self._records.version(project.id, pr_number)
        return version and f"{version} {self._images.version_of_urls()}"

    def baseline_stored(self, project: Project, image: Image) -> None:
        """Identify the pixels of a new baseline soon, to save the first comparisons the time."""
        self._identification.later(project, image)

    async def close(self) -> None:
        """Stop all runs. The next request, in any process, repeats them."""
        await self._identification.close()
        for task in list(self._running.values()):
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _is_abandoned(self, stored: StoredComparison) -> bool:
        if stored.state is not ComparisonState.RUNNING or _key(stored.request) in self._running:
            return False
        return self._clock() - stored.seen_at > STALE_SECONDS

    # Running

    async def _begin(self, project: Project, request: ComparisonRequest) -> None:
        """Plan and record a run. Start it if there is work left."""
        key = request.project_id, request.pr_number, request.commit_sha
        if not request.is_complete and await self._records.was_complete(*key):
            request = replace(request, is_complete=True)
        for _ in range(PLAN_TRIES):
            plan = await self._plan(request)
            work: list[Work | PlannedShot] = [*plan.work(), *plan.unidentified()]
            run = _Run(project.organization_id, request, plan.final_state)
            state, now = ComparisonState.RUNNING if work else plan.final_state, int(self._clock())
            begun = StoredComparison(request, run.id, state, plan.base_commit, plan.missing, now, plan.shots)
            if await self._records.begin(begun):
                if replaced := self._running.pop(_key(request), None):
                    replaced.cancel()
                if work:
                    self._start(run, work)
                return
        raise errors.RecordsError("the images to compare are being deleted: try again later")

    async def _plan(self, request: ComparisonRequest) -> ComparisonPlan:
        project_id = request.project_id
        images = await self._records.images_at(project_id, request.pr_number, request.commit_sha)
        pairs = await self._records.pairs_at(project_id, request.pr_number, request.commit_sha)
        shots = {image.shot for image in images}
        # A pair stays valid until its shot is uploaded again.
        images += [after for after, _ in pairs if after.shot not in shots]
        shots = {image.shot for image in images}
        bases = await self._baselines.bases(project_id, request.branch, request.commits, shots)
        before_images = {after.id: before for after, before in pairs}
        plan = plan_comparison(images, bases, is_complete=request.is_complete, before_images=before_images)
        return plan.with_known(await self._records.known_pairs(project_id, plan.pairs(), ENGINE))

    def _start(self, run: _Run, work: Sequence[Work | PlannedShot]) -> None:
        key = _key(run.request)
        task = self._running[key] = asyncio.create_task(self._run(run, work))

        def forget(ended: "asyncio.Task[None]") -> None:
            if self._running.get(key) is ended:
                del self._running[key]

        task.add_done_callback(forget)

    async def _run(self, run: _Run, work: Sequence[Work | PlannedShot]) -> None:
        queue = iter(work)
        tasks = [asyncio.create_task(self._work_through(run, queue)) for _ in range(PAIRS_AT_ONCE)]
        alive = asyncio.create_task(self._stay_alive(run))
        try:
            await asyncio.gather(*tasks)
            await self._record(run, run.final_state)
        except _ReplacedError:
            pass
        except asyncio.CancelledError:
            with contextlib.suppress(errors.PrshotsError, _ReplacedError):
                await self._record(run, is_abandoned=True)
            raise
        except Exception as error:  # noqa: BLE001 - the record must not stay at "running" forever
            await self._fail(run, error)
        finally:
            for task in (*tasks, alive):
                task.cancel()
            await asyncio.gather(*tasks, alive, return_exceptions=True)

    async def _fail(self, run: _Run, error: Exception) -> None:
        if not getattr(error, "count_request", None):
            unexpected = None if isinstance(error, errors.PrshotsError) else error
            _log.error("comparison failed", reason=str(error), exc_info=unexpected)
        with contextlib.suppress(errors.PrshotsError, _ReplacedError):
            await self._record(run, ComparisonState.FAILED)

    async def _stay_alive(self, run: _Run) -> None:
        while True:
            await asyncio.sleep(ALIVE_SECONDS)
            with contextlib.suppress(errors.PrshotsError, _ReplacedError):
                await self._record(run)

    async def _work_through(self, run: _Run, queue: Iterator[Work | PlannedShot]) -> None:
        for work in queue:
            if isinstance(work, PlannedShot):
                await self._identify(run, work)
            elif work.result.verdict:
                await self._restore_diffs(run, work)
            else:
                await self._decide(run, work)
            if time.monotonic() - run.recorded_at > RECORD_SECONDS:
                await self._record(run)

    async def _record(
        self, run: _Run, state: ComparisonState | None = None, *, is_abandoned: bool = False
    ) -> None:
        """Record the results so far. Raises _ReplacedError if another run has started.

        The lock makes the final state come last. If recording fails, the results are kept for the next call.
        """
        async with run.recording:
            results, run.results = run.results, {}
            pairs, run.pairs = run.pairs, {}
            identities, run.identities = run.identities, {}
            run.recorded_at = time.monotonic()
            now = 0 if is_abandoned else int(self._clock())
            try:
                is_current = await self._records.record(
                    run.request, run.id, results, pairs, identities, engine=ENGINE, state=state, now=now
                )
            except BaseException:
                run.results, run.pairs = results | run.results, pairs | run.pairs
                run.identities = identities | run.identities
                raise
        if not is_current:
            raise _ReplacedError

    # One shot

    async def _decide(self, run: _Run, work: Work) -> None:
        is_final = True
        try:
            found = await self._compare_pair(run, work.image, work.base)
        except _UndecidableError as error:
            result, is_final = ShotResult(Verdict.FAILED, reason=str(error)), error.is_final
        else:
            result = _result_of(found)
            run.identified(work.base, found.pixels_before)
            run.identified(work.image, found.pixels_after)
            if found.marked:
                await self._store_diffs(work.image, work.base, _pictures_of(found))
        run.results[work.shot] = result
        self._on_decided(result.verdict or Verdict.FAILED)
        if is_final and all(work.pair):
            run.pairs[work.pair] = result

    async def _identify(self, run: _Run, planned: PlannedShot) -> None:
        """Identify the pixels of a shot that has the same bytes on both sides, or only one side."""
        pixels = await self._identification.pixels_of(planned.images[0], run.organization_id, run.id)
        if pixels is not None:
            for image in planned.images:
                run.identified(image, pixels)
            run.results[planned.shot] = replace(
                planned.result,
                pixels_before=pixels if planned.base else "",
                pixels_after=pixels if planned.image else "",
            )

    async def _restore_diffs(self, run: _Run, work: Work) -> None:
        """Store the difference images of a known pair for another image with the same bytes."""
        twin = await self._records.diff_twin(work.image, work.base)
        keys = _diff_keys(twin)[: 1 + len(work.result.closeups)] if twin else []
        found = [await self._store.read(key) for key in keys]
        pictures = [picture for picture in found if picture is not None]
        if not found or len(pictures) < len(found):
            try:
                pictures = _pictures_of(await self._compare_pair(run, work.image, work.base))
            except _UndecidableError:
                return
        await self._store_diffs(work.image, work.base, pictures)

    async def _compare_pair(self, run: _Run, image: Image, base: Image) -> PairResult:
        """Compare two stored images. Raises _UndecidableError, StoreError."""
        for _ in range(BUSY_TRIES):
            async with self._turns.take(run.organization_id, image.project_id, run.id):
                before, after = await self._store.read(base.key), await self._store.read(image.key)
                if before is None or after is None:
                    raise _UndecidableError(f"{'its base' if before is None else 'it'} was deleted")
                try:
                    return await self._compare(before, after, base.pixels or "")
                except errors.PictureError as error:
                    raise _UndecidableError(str(error), is_final=True) from error
                except errors.PictureWorkerDiedError as error:
                    raise _UndecidableError(str(error)) from error
                except errors.PictureWorkerError as error:
                    reason = str(error)
            await asyncio.sleep(BUSY_SECONDS)
        raise _UndecidableError(reason)

    async def _store_diffs(self, image: Image, base: Image, pictures: Sequence[bytes]) -> None:
        """Store difference images. If the store is full, the comparison continues: the verdict matters more.

        If the store doesn't respond, the comparison fails, and the next one stores the missing images.
        """
        try:
            objects = {key: [picture] for key, picture in zip(_diff_keys(image), pictures, strict=False)}
            await store_and_record(self._store, objects, lambda: self._records.set_diff(image.id, base.id))
        except errors.StoreFullError as error:
            if not error.count_request:
                _log.error("difference image not stored", image=image.id, reason=str(error))


def _diff_keys(image: Image) -> list[str]:
    return [image.diff_key, *image.closeup_keys]


def _pictures_of(found: PairResult) -> list[bytes]:
    """Return the difference image and the close-ups, in the order of `_diff_keys`."""
    return [found.marked, *(closeup.picture for closeup in found.closeups)]


def _result_of(found: PairResult) -> ShotResult:
    return ShotResult(
        Verdict(found.verdict),
        found.pixels,
        found.pieces,
        found.moves,
        found.colors,
        found.is_redrawn,
        pixels_before=found.pixels_before,
        pixels_after=found.pixels_after,
        closeups=[ShownPart(closeup.region, closeup.pieces) for closeup in found.closeups],
    )


def _key(request: ComparisonRequest) -> _Key:
    return request.project_id, request.pr_number, request.commit_sha.lower()
