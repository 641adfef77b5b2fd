"""Plans a comparison from the images of a run and their bases, without any I/O."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, TypedDict

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import CloseUp, ComparisonState, Move, Region, ShotPart, Verdict
from prshots.server.domain.comparison.models import Bases, PlannedShot, ShotBase, ShotResult
from prshots.server.domain.images.models import Image, ShotKey
from prshots.server.domain.images.service import Images

_ORDER = {verdict: place for place, verdict in enumerate([*Verdict, None])}
_MARKED = {Verdict.CHANGED, Verdict.MOVED}
_TO_LOOK_AT = {None, *_MARKED}
_NOT_COMPARED = {Verdict.NEW, Verdict.REMOVED, Verdict.UNCHANGED}
_COUNTED = [verdict for verdict in Verdict if verdict is not Verdict.FAILED]

Pair = tuple[str, str]
"""The SHA-256 hashes of two images: before and after."""


class Work(NamedTuple):
    """Two images to compare. If the verdict is known, only their difference images are missing."""

    shot: ShotKey
    image: Image
    base: Image
    result: ShotResult

    @property
    def pair(self) -> Pair:
        """The hashes of both images. A hash that wasn't recorded is empty."""
        return self.base.sha256 or "", self.image.sha256 or ""


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """The shots of a comparison and their bases. `missing` has the same meaning as in StoredComparison."""

    shots: Sequence[PlannedShot]
    base_commit: str | None
    missing: int
    has_base: bool

    def pairs(self) -> set[Pair]:
        """Return the hashes of all pairs that still have to be compared."""
        return {work.pair for work in self.work() if all(work.pair)}

    def with_known(self, known: Mapping[Pair, ShotResult]) -> "ComparisonPlan":
        """Return the plan with the known results of pairs filled in."""
        results = {work.shot: known[work.pair] for work in self.work() if work.pair in known}
        return replace(
            self, shots=[replace(shot, result=results.get(shot.shot, shot.result)) for shot in self.shots]
        )

    def work(self) -> list[Work]:
        """Return the remaining work: pairs without a verdict, and difference images that aren't stored."""
        return [
            Work(shot.shot, shot.image, shot.base.image, shot.result)
            for shot in self.shots
            if shot.image and shot.base and shot.result.verdict in _TO_LOOK_AT and not has_diff(shot)
        ]

    def unidentified(self) -> list[PlannedShot]:
        """Return the shots that need no comparison, but whose pixels nobody has identified yet."""
        return [
            shot
            for shot in self.shots
            if shot.result.verdict in _NOT_COMPARED
            and not shot.result.pixels_before + shot.result.pixels_after
            and all(image.pixels is None for image in shot.images)
        ]

    @property
    def final_state(self) -> ComparisonState:
        """The state once every shot has a verdict."""
        if not self.has_base:
            return ComparisonState.NO_BASELINE
        if self.missing or not self.shots:  # a run that uploaded nothing can't pass as unchanged
            return ComparisonState.INCOMPLETE
        return ComparisonState.COMPARED


def plan_comparison(
    images: Collection[Image],
    bases: Bases,
    *,
    is_complete: bool,
    before_images: Mapping[str, Image] = MappingProxyType({}),
) -> ComparisonPlan:
    """Choose each shot's base, and decide the shots whose pixels don't need comparing.

    `before_images` maps an image's id to its before image, which takes precedence over any baseline.
    """
    with_before = [image for image in images if image.id in before_images]
    by_shot = {
        **bases.by_shot,
        **{image.shot: ShotBase.before(before_images[image.id]) for image in with_before},
    }
    if not bases.branch_has_any:
        shots = [_plan_shot(image.shot, image, by_shot[image.shot]) for image in with_before]
        missing = len(images) - len(shots) if shots else 0
        return ComparisonPlan(shots, None, missing, has_base=bool(shots))
    shots = [_plan_shot(image.shot, image, by_shot.get(image.shot)) for image in images]
    absent = bases.shots.keys() - {image.shot for image in images}
    if is_complete and bases.is_complete:
        shots += [_plan_shot(shot, None, bases.shots[shot]) for shot in absent]
    missing = 0 if is_complete else len(absent)
    return ComparisonPlan(shots, bases.commit_sha, missing, has_base=True)


def _plan_shot(shot: ShotKey, image: Image | None, base: ShotBase | None) -> PlannedShot:
    return PlannedShot(shot, image, base, _first_result(image, base.image if base else None))


def _first_result(image: Image | None, base: Image | None) -> ShotResult:
    """Return the verdict if it needs no comparison, and what is known about the pixels."""
    before, after = ((each and each.pixels) or "" for each in (base, image))
    verdict = None
    if image is None:
        verdict = Verdict.REMOVED
    elif base is None:
        verdict = Verdict.NEW
    elif image.sha256 is not None and image.sha256 == base.sha256:
        verdict = Verdict.UNCHANGED
        before = after = before or after
    elif before and before == after:
        verdict = Verdict.UNCHANGED
    return ShotResult(verdict, pixels_before=before, pixels_after=after)


def verdict_counts(tally: Mapping[Verdict | None, int]) -> dict[str, int]:
    """Return the counts for every reply and page. `failed` is present only if a shot failed."""
    counts = {str(verdict): tally.get(verdict, 0) for verdict in _COUNTED}
    failed = tally.get(Verdict.FAILED, 0)
    return counts | {Verdict.FAILED: failed} if failed else counts


def has_diff(shot: PlannedShot) -> bool:
    """Return whether the difference image of a changed shot is stored."""
    if shot.image is None or shot.base is None or shot.result.verdict not in _MARKED:
        return False
    return shot.image.diff_base == shot.base.image.id


def closeups_of(shot: PlannedShot, urls: Images) -> list[CloseUp]:
    """Return the stored close-ups of a changed shot. They are stored with its difference image."""
    if not (shot.image and shot.base and has_diff(shot)):
        return []
    regions = [shown.region for shown in shot.result.closeups]
    stored = urls.closeup_urls_of(shot.image, shot.base.image, len(regions))
    return list(map(CloseUp, stored, regions))


class ShownDifference(TypedDict):
    """The fields of a compared shot that say what differs, in every reply and on every page."""

    regions: Sequence[Region]
    gone: Sequence[Region]
    moves: Sequence[Move]
    shift: int
    colors: Sequence[tuple[str, str]]
    closeups: Sequence[CloseUp]
    groups: Sequence[str]
    parts: Sequence[ShotPart]
    group: str


def show_difference(shot: PlannedShot, parts: Sequence[ShotPart], urls: Images | None) -> ShownDifference:
    """Return what differs. A part names its close-up only if that is stored, and if there are `urls`."""
    result = shot.result
    closeups = closeups_of(shot, urls) if urls else []
    shown = [part if closeups else replace(part, closeup=None) for part in parts]
    groups = [part.group for part in parts]
    return {
        "regions": result.regions,
        "gone": result.gone,
        "moves": result.moves,
        "shift": result.shift,
        "colors": [(change.old, change.new) for change in result.colors],
        "closeups": closeups,
        "groups": groups,
        "parts": shown,
        "group": groups[0] if groups else "",
    }


def in_display_order(shots: Collection[PlannedShot]) -> list[PlannedShot]:
    """Sort by verdict, then in natural order. Shots without a verdict come last."""
    return sorted(shots, key=lambda shot: (_ORDER[shot.result.verdict], shot_key(*shot.shot)))
