"""The records of baselines and comparisons: plain, frozen, no dependencies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

from prshots.contract.replies import ComparisonState, Region, Verdict
from prshots.server.domain.images.models import Image, ShotKey

PairVerdict = Literal["unchanged", "changed", "moved"]


class ColorChange(NamedTuple):
    """A color that became another one, as `#rrggbb`, in this many pixels."""

    old: str
    new: str
    pixels: int


@dataclass(frozen=True, slots=True)
class Traits:
    """What a difference looks like, regardless of its position. Equal traits mean the same change.

    `regions` is a hash of what the changed regions show before and after, and `rows` of the inserted or
    removed rows. `colors` is the table that nearly all differing pixels follow, if there is one, most pixels
    first. If applying it to the before image doesn't give the after image, `more_than_colors` is true, and
    `regions` is about what still differs. `share` is the share of the image that differs, from 0 to 1.
    `closeups` has a hash of what each close-up shows of the difference, or "".
    """

    regions: str = ""
    rows: str = ""
    colors: Sequence[ColorChange] = ()
    share: float = 0.0
    more_than_colors: bool = False
    closeups: Sequence[str] = ()

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Undo `dataclasses.asdict`."""
        colors = tuple(ColorChange(*each) for each in facts["colors"])
        return cls(**{**facts, "colors": colors, "closeups": tuple(facts.get("closeups", ()))})


NO_TRAITS = Traits()


CLOSEUP_HALF = 480
"""The most columns of each half of a close-up. It scales down wider regions."""
CLOSEUP_ROWS_AROUND = 60
"""How many rows a close-up shows above and below its region, if there is room."""


@dataclass(frozen=True, slots=True)
class PartPicture:
    """A close-up: a PNG of a region before and after, side by side."""

    region: Region
    picture: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PairResult:
    """The differences between two images.

    `pixels` counts the differing pixels. `regions` are rectangles in the second image. `shift` is the number
    of rows by which the content below moved down (up if negative). `marked` is a JPEG of the second image
    with the regions marked, or empty if nothing differs. `pixels_before` and `pixels_after` identify the
    decoded pixels.
    """

    verdict: PairVerdict
    pixels: int = 0
    regions: Sequence[Region] = ()
    shift: int = 0
    marked: bytes = field(default=b"", repr=False)
    pixels_before: str = ""
    pixels_after: str = ""
    closeups: Sequence[PartPicture] = ()
    traits: Traits = NO_TRAITS


@dataclass(frozen=True, slots=True)
class ShotBase:
    """The baseline that an image is compared with, or the before image that was uploaded with it.

    `is_listed` is true if the baseline belongs to a commit that the request lists, not just to the newest
    commit on the branch. A before image has no `commit_sha`.
    """

    image: Image
    commit_sha: str
    is_listed: bool

    @classmethod
    def before(cls, image: Image) -> Self:
        return cls(image, "", is_listed=True)

    @property
    def is_before(self) -> bool:
        return not self.commit_sha


@dataclass(frozen=True, slots=True)
class Bases:
    """The baselines that a run can be compared with.

    `commit_sha` is the nearest listed commit with baselines, or else the commit of the newest baseline found.
    It is None if there are no baselines. `shots` has all shots of that listed commit, and `is_complete` says
    that its build uploaded all of them. `branch_has_any` says that the branch has baselines.
    """

    commit_sha: str | None
    is_complete: bool
    shots: Mapping[ShotKey, ShotBase]
    by_shot: Mapping[ShotKey, ShotBase]
    branch_has_any: bool


@dataclass(frozen=True, slots=True)
class BaselineCommit:
    """The baselines of a branch at a commit. `bytes` includes images that other commits share."""

    branch: str
    commit_sha: str
    is_complete: bool
    created_at: int
    shots: int
    bytes: int
    seq: int


@dataclass(frozen=True, slots=True)
class BaselinePeriod:
    """Consecutive commits of a branch at which a shot had the same image.

    The times are those of the uploads. `seq` identifies the first commit's baseline.
    """

    image: Image
    first_commit: str
    first_at: int
    last_commit: str
    last_at: int
    commits: int
    seq: int


@dataclass(frozen=True, slots=True)
class ShotResult:
    """The result of comparing a shot. `verdict` is None until it is known.

    `closeups` are the regions that the stored close-ups show.
    """

    verdict: Verdict | None = None
    pixels: int = 0
    regions: Sequence[Region] = ()
    shift: int = 0
    reason: str = ""
    pixels_before: str = ""
    pixels_after: str = ""
    closeups: Sequence[Region] = ()
    traits: Traits = NO_TRAITS


class PairKey(NamedTuple):
    """A shot, and the pixels of both its images. A decision holds for every pair with the same key."""

    name: str
    viewport: str
    theme: str
    pixels_before: str
    pixels_after: str

    @property
    def shot(self) -> ShotKey:
        return ShotKey(*self[:3])


class ComparedPair(NamedTuple):
    """The part of a compared shot that a review needs."""

    key: PairKey
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class PlannedShot:
    """A shot in a comparison. A removed shot has no image, and a new shot has no base."""

    shot: ShotKey
    image: Image | None
    base: ShotBase | None
    result: ShotResult = ShotResult()

    @property
    def images(self) -> list[Image]:
        """Its image and that of its base, if it has them."""
        return [image for image in (self.image, self.base and self.base.image) if image]

    @property
    def pair(self) -> ComparedPair:
        key = PairKey(*self.shot, self.result.pixels_before, self.result.pixels_after)
        return ComparedPair(key, self.result.verdict)


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """A request to compare a pull request's images at a commit.

    `commits` is the history of the base, newest first. `is_complete` says that the run uploaded all its
    shots. `queued_pulls` are the pull requests ahead in a merge queue, whose changes the images also show.
    """

    project_id: str
    pr_number: int
    commit_sha: str
    branch: str
    commits: Sequence[str] = ()
    is_complete: bool = False
    queued_pulls: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """A comparison without its shots. `counts` says how many have each verdict, None included.

    `pairs` are those that aren't unchanged.
    """

    commit_sha: str
    state: ComparisonState
    counts: Mapping[Verdict | None, int]
    pairs: Sequence[ComparedPair]


@dataclass(frozen=True, slots=True)
class StoredComparison:
    """A comparison as recorded.

    `missing` counts the base's shots that an incomplete run lacks. Without baselines, it counts the run's
    shots that came without a before image. `seen_at` is when a process last worked on the comparison. `shots`
    omits shots whose image is deleted.
    """

    request: ComparisonRequest
    run: str
    state: ComparisonState
    base_commit: str | None
    missing: int
    seen_at: int
    shots: Sequence[PlannedShot] = ()

    @property
    def pairs(self) -> list[ComparedPair]:
        return [shot.pair for shot in self.shots]
