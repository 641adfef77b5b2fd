"""The records of baselines and comparisons: plain, frozen, no dependencies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

from prshots.contract.replies import ComparisonState, Move, Region, Verdict
from prshots.server.domain.images.models import Image, ShotKey

PairVerdict = Literal["unchanged", "changed", "moved"]
PieceKind = Literal["changed", "came", "gone", "recolored"]


class ColorChange(NamedTuple):
    """A color that became another one, as `#rrggbb`, in this many pixels."""

    old: str
    new: str
    pixels: int


class Shape(NamedTuple):
    """What a word, an icon or a picture looks like, whatever its colors."""

    width: int
    height: int
    bits: int


class Piece(NamedTuple):
    """A part of the difference: one region, or one box that is gone."""

    box: Region
    kind: PieceKind
    shapes: Sequence[Shape] = ()


CLOSEUP_HALF = 480
"""The most columns of each half of a close-up. It scales down wider regions."""
CLOSEUP_ROWS_AROUND = 60
"""How many rows a close-up shows above and below its region, if there is room."""


@dataclass(frozen=True, slots=True)
class PartPicture:
    """A close-up: a PNG of a region before and after, side by side."""

    region: Region
    pieces: Sequence[int]
    picture: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PairResult:
    """The differences between two images."""

    verdict: PairVerdict
    pixels: int = 0
    pieces: Sequence[Piece] = ()
    moves: Sequence[Move] = ()
    colors: Sequence[ColorChange] = ()
    is_redrawn: bool = False
    marked: bytes = field(default=b"", repr=False)
    pixels_before: str = ""
    pixels_after: str = ""
    closeups: Sequence[PartPicture] = ()

    @property
    def regions(self) -> list[Region]:
        return regions_of(self.pieces)

    @property
    def gone(self) -> list[Region]:
        return gone_of(self.pieces)

    @property
    def shift(self) -> int:
        return shift_of(self.moves)


def regions_of(pieces: Iterable[Piece]) -> list[Region]:
    return [piece.box for piece in pieces if piece.kind != "gone"]


def gone_of(pieces: Iterable[Piece]) -> list[Region]:
    return [piece.box for piece in pieces if piece.kind == "gone"]


def shift_of(moves: Sequence[Move]) -> int:
    """Return how many rows the largest move goes down. Negative: up."""
    return moves[0][5] if moves else 0


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


class ShownPart(NamedTuple):
    """What a stored close-up shows: a region, and the indexes of its pieces."""

    region: Region
    pieces: Sequence[int]


@dataclass(frozen=True, slots=True)
class ShotResult:
    """The result of comparing a shot. `verdict` is None until it is known.

    `pieces` are the regions from the top, then what is gone. `closeups` says what the stored close-ups show.
    """

    verdict: Verdict | None = None
    pixels: int = 0
    pieces: Sequence[Piece] = ()
    moves: Sequence[Move] = ()
    colors: Sequence[ColorChange] = ()
    is_redrawn: bool = False
    reason: str = ""
    pixels_before: str = ""
    pixels_after: str = ""
    closeups: Sequence[ShownPart] = ()

    @property
    def regions(self) -> list[Region]:
        return regions_of(self.pieces)

    @property
    def gone(self) -> list[Region]:
        return gone_of(self.pieces)

    @property
    def shift(self) -> int:
        return shift_of(self.moves)


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
