"""The replies of the public API. The service writes them, the client reads them.

A field with a default is only in the JSON if its value differs. A field with a default factory is always in
the JSON, but not in that of an older service. The OpenAPI document is generated from
these classes: a string below a field is its description there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Uploaded:
    id: str
    view_url: str
    """Valid for 365 days, or until the image expires."""
    markdown: str
    """`![<name>](<view_url>)`"""
    before_url: str | None = None
    """Only present if the upload had a `before`. It is deleted with the image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged(Uploaded):
    """The reply to an upload before its pull request exists."""

    expires_at: int
    """A Unix time. The image expires then unless it is moved to a pull request."""
    dashboard_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedShot(Staged):
    """A staged image in a list."""

    name: str
    viewport: str
    theme: str
    commit_sha: str


@dataclass(frozen=True, slots=True)
class StagedList:
    """The images that are staged for a branch."""

    branch: str
    staged: Sequence[StagedShot]


@dataclass(frozen=True, slots=True)
class Moved:
    """The reply to a move of staged images to their pull request."""

    branch: str
    pr_number: int
    moved: int
    kept: int
    """How many images stay staged for the branch."""
    reason: str
    """Why they stay. Empty if all were moved."""


@dataclass(frozen=True, slots=True)
class OneTimeUrls:
    """The reply to a request for a URL that takes one image."""

    put_url: str
    expires_at: int
    """A Unix time."""
    before_put_url: str = ""
    """Only present with `with_before`. Upload the before image first."""


@dataclass(frozen=True, slots=True)
class Deleted:
    ok: bool
    id: str


@dataclass(frozen=True, slots=True)
class Expired:
    pr_number: int
    policy: str
    marked: int
    """How many images were marked as belonging to a closed pull request."""
    expired: int
    """How many images were deleted."""
    baselines: int | None = None
    """Only present with `merged_as`: how many images became baselines."""


@dataclass(frozen=True, slots=True)
class Described:
    pr_number: int
    dashboard_url: str


@dataclass(frozen=True, slots=True)
class PlainComment:
    pr_number: int
    markdown: str


@dataclass(frozen=True, slots=True)
class SizedComment(PlainComment):
    """A comment of limited length, or of one view."""

    heading: str
    """The heading line of the markdown."""
    count: int
    """All screenshots."""
    shown: int
    """Screenshots with an image."""
    listed: int
    """Screenshots with only a line."""
    omitted: int
    """Screenshots with neither."""
    siblings: int = 0
    """Only present if not 0: how many other projects of the repository take part in the pull request."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    max_image_bytes: int
    """An image must be smaller."""
    uploads_per_minute: int
    max_name_characters: int


@dataclass(frozen=True, slots=True)
class GrantedToken:
    """The reply to the exchange of a CI job's ID token."""

    token: str = field(repr=False)
    expires_at: int
    """A Unix time in 15 minutes."""
    project: str
    project_id: str
    organization: str
    """The name of the project's organization."""


@dataclass(frozen=True, slots=True)
class MissingShot:
    name: str
    viewport: str
    theme: str


@dataclass(frozen=True, slots=True)
class KnownUploads:
    """The reply to a list of shots: the commit now has those whose bytes the service knows."""

    known: int
    missing: Sequence[MissingShot]


@dataclass(frozen=True, slots=True)
class KnownShot:
    """A shot, and the hash of its image."""

    name: str
    viewport: str
    theme: str
    sha256: str


@dataclass(frozen=True, slots=True)
class KnownBaselines:
    """The reply to a list of baselines: the service has recorded those whose bytes it has."""

    branch: str
    commit_sha: str
    recorded: int
    missing: Sequence[KnownShot]


@dataclass(frozen=True, slots=True)
class CompletedBaselines:
    branch: str
    commit_sha: str
    shots: int


class Verdict(StrEnum):
    """The result for a shot. `FAILED`: the two images could not be compared."""

    CHANGED = "changed"
    MOVED = "moved"
    NEW = "new"
    REMOVED = "removed"
    FAILED = "failed"
    UNCHANGED = "unchanged"


class ComparisonState(StrEnum):
    """`RUNNING` is the state of a comparison that is still being computed. All others are final."""

    RUNNING = "running"
    COMPARED = "compared"
    NO_BASELINE = "no_baseline"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


MANUAL = "manual"
"""The `pair` of a shot whose before image was uploaded with it."""

Region = tuple[int, int, int, int]
"""A rectangle of pixels: left, top, width, height."""

Move = tuple[int, int, int, int, int, int]
"""A rectangle of the after image, and how far its content moved to the right and down."""


class GroupKind(StrEnum):
    """The reason why shots are in a group.

    `SINGLE`: a change of one name. `SAME_PIXELS`: the same pieces changed the same way on several names.
    `INSERTED`: the same content came in or went on several names, and moved other content. `MOVED`: content
    only stands elsewhere, by the same offset. `REDRAWN`: nearly all text is drawn differently.
    `RECOLORED`: the same colors changed, like a theme.
    """

    REMOVED = "removed"
    SINGLE = "single"
    SAME_PIXELS = "same_pixels"
    INSERTED = "inserted"
    NEW = "new"
    MOVED = "moved"
    REDRAWN = "redrawn"
    RECOLORED = "recolored"


@dataclass(frozen=True, slots=True)
class ShotGroup:
    """Shots with the same change."""

    id: str
    """The same change has the same id in later comparisons."""
    kind: GroupKind
    shots: int
    names: Sequence[str]
    title: str
    """What changed, in one line of plain text."""


class ReviewState(StrEnum):
    """Whether a shot needs a decision, and which one it has.

    `SEEN_BEFORE`: the base branch has alternated between these two images, so the difference is noise.
    """

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    NOT_NEEDED = "not_needed"
    QUARANTINED = "quarantined"
    SEEN_BEFORE = "seen_before"


@dataclass(frozen=True, slots=True)
class Pin:
    """A point in an image, as a share of its width and height from 0 to 1."""

    x: float
    y: float


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Review:
    """The decision about a shot."""

    state: ReviewState
    by: str = field(default_factory=str)
    """The login of the person, or the label of the token. Empty without a decision."""
    at: int | None = field(default_factory=_nothing)
    """A Unix time."""
    note: str = field(default_factory=str)
    pin: Pin | None = field(default_factory=_nothing)


NO_REVIEW = Review(ReviewState.NOT_NEEDED)


@dataclass(frozen=True, slots=True)
class OutdatedNote:
    """A note about an image that the shot no longer has."""

    name: str
    viewport: str
    theme: str
    state: ReviewState
    by: str
    at: int
    note: str
    pin: Pin | None


class GateState(StrEnum):
    PASSED = "passed"
    WAITING = "waiting"
    REJECTED = "rejected"
    BLOCKED = "blocked"


class CommitState(StrEnum):
    SUCCESS = "success"
    PENDING = "pending"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class GateStatus:
    """A commit status to post on the forge."""

    context: str
    """`prshots` for the pull request as a whole, `prshots/<project>` for a project of several."""
    state: CommitState
    description: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether the pull request may be merged as far as its screenshots are concerned."""

    state: GateState
    open: int
    """How many shots need a decision."""
    reason: str
    """Why it is blocked: `running`, `incomplete`, `failed`, `no_baseline` or `not_compared`. Else empty."""
    statuses: Sequence[GateStatus] = ()
    """The statuses to post on the commit, and no others. Not present in the reply to a decision."""


@dataclass(frozen=True, slots=True)
class PullGate(Gate):
    """The gate with the commit it is about."""

    commit_sha: str = ""
    """The newest compared commit, or the skipped one. Not present if no commit was compared."""
    dashboard_url: str = ""


NOT_COMPARED = Gate(GateState.BLOCKED, 0, "not_compared")
"""The gate without a comparison of the newest commit."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The reply to decisions."""

    decided: int
    """How many pairs."""
    gate: Gate


@dataclass(frozen=True, slots=True)
class CloseUp:
    """A part of a shot at full size, before on the left and after on the right."""

    url: str
    region: Region
    """Left, top, width and height, in pixels of the after image."""


@dataclass(frozen=True, slots=True)
class ShotPart:
    """The part of a shot that belongs to a group."""

    group: str
    regions: Sequence[int]
    """Indexes of the shot's `regions`."""
    gone: Sequence[int]
    """Indexes of what is `gone`."""
    closeup: int | None
    """The index of the close-up that shows this part best. Null if none does."""
    review: ReviewState = field(default_factory=lambda: ReviewState.NOT_NEEDED)
    """The state of this part. A shot is approved when each of its parts is."""
    by: Sequence[str] = field(default_factory=list)
    """Who decided about this part."""


@dataclass(frozen=True, slots=True)
class ComparedShot:
    name: str
    viewport: str
    theme: str
    verdict: Verdict
    pixels: int
    """Pixels that differ."""
    regions: Sequence[Region]
    """What changed, came in or has another color: left, top, width and height, in the after image."""
    shift: int
    """How many rows the largest of the moves goes down. Negative: up."""
    view_url: str | None
    """Null for a removed shot."""
    before_url: str | None
    """Null for a new shot."""
    diff_url: str | None
    base_commit: str | None
    """Null for a pair, and for a new shot."""
    pixels_before: str = field(default_factory=str)
    """Identifies the decoded pixels: two encodings of the same pixels have the same value. May be empty."""
    pixels_after: str = field(default_factory=str)
    closeups: Sequence[CloseUp] = field(default_factory=list)
    """At most six."""
    review: Review = field(default_factory=lambda: NO_REVIEW)
    gone: Sequence[Region] = field(default_factory=list)
    """What is gone, in pixels of the before image."""
    moves: Sequence[Move] = field(default_factory=list)
    """Boxes of the after image whose content stood elsewhere: left, top, width, height, and how far it moved
    to the right and down. At most 64, the largest first."""
    colors: Sequence[tuple[str, str]] = field(default_factory=list)
    """The old and the new color that most recolored pixels follow, at most 16."""
    groups: Sequence[str] = field(default_factory=list)
    """The ids of its groups, in their order."""
    parts: Sequence[ShotPart] = field(default_factory=list)
    """What belongs to each of its groups."""
    group: str = ""
    """The first of its groups. Only present for a changed, moved, new or removed shot."""
    ancestor: bool = True
    """Only present if false: no listed commit has the shot, so its base is the branch's newest baseline.

    It needs a decision like any other."""
    reason: str = ""
    """Only present if the images could not be compared: why."""
    pair: str = ""
    """Only present, as `manual`, if the before image was uploaded with the image."""
    commit_sha: str = ""
    """Only present if the image is from an earlier commit: a pair stays until it is replaced."""


@dataclass(frozen=True, slots=True)
class Comparison:
    pr_number: int
    commit_sha: str
    branch: str
    base_commit: str | None
    state: ComparisonState
    counts: Mapping[str, int]
    """How many shots have each verdict. `failed` is only there if there are any."""
    shots: Sequence[ComparedShot]
    dashboard_url: str
    groups: Sequence[ShotGroup] = field(default_factory=list)
    """In the order to review them."""
    gate: Gate = field(default_factory=lambda: NOT_COMPARED)
    outdated_notes: Sequence[OutdatedNote] = field(default_factory=list)
    pairs: int = 0
    """How many shots were compared with a before image that was uploaded with them. Only present if not 0."""
