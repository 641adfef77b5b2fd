"""Pull requests: their images, comparisons and share links."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from prshots.contract.replies import (
    CloseUp,
    ComparisonState,
    Gate,
    OutdatedNote,
    Review,
    ShotGroup,
    ShotPart,
    Verdict,
)
from prshots.server.domain.outbox.models import Check, DeliveryKind


class PullRequestView(TypedDict):
    pr_number: int
    images: int
    bytes: int
    last_upload_at: int
    last_commit: str
    closed_at: int | None
    title: str
    """Empty, like the branch, author and URL, until a client sends it."""
    source_branch: str
    author: str
    url: str
    """The pull request's page on the forge."""
    deleted_at: int | None
    """When a person deleted all its images, until the next upload."""
    deleted_by: str | None


class ImageView(TypedDict):
    id: str
    pr_number: int
    name: str
    viewport: str
    theme: str
    """light, dark or empty."""
    commit_sha: str
    sha256: str | None
    """The hash of the bytes. null if it wasn't recorded."""
    type: str
    """The content type: image/png, image/jpeg or image/webp."""
    size: int
    """0 if the image shares the bytes of an earlier commit or a baseline."""
    uploaded_at: int
    url: str
    markdown: str
    thumbnail: Literal["made", "damaged", "unsupported", "too_large"] | None
    """null if nobody has requested it yet. Otherwise `made`, or the reason why there is no thumbnail."""
    thumbnail_url: str | None


class ComparisonSummaryView(TypedDict):
    commit_sha: str
    state: ComparisonState
    counts: dict[str, int]
    """How many shots have each verdict."""


class ListedPullRequestView(PullRequestView):
    comparison: ComparisonSummaryView | None
    """Of the newest compared commit."""
    gate: Gate | None


class PullRequestListView(TypedDict):
    pulls: list[ListedPullRequestView]
    next: str | None


class ShotView(TypedDict):
    """A shot in the gallery: its newest image, and the number of commits with images of it."""

    newest: ImageView
    commits: int
    unchanged_since: str | None
    """The first commit with the same bytes, if it differs from the image's commit."""


class ShotListView(TypedDict):
    shots: list[ShotView]
    next: str | None


class ImageListView(TypedDict):
    images: list[ImageView]
    next: str | None


class ComparedShotView(TypedDict):
    name: str
    viewport: str
    theme: str
    verdict: Verdict | None
    """null until it is known."""
    pixels: int
    regions: list[tuple[int, int, int, int]]
    """What changed, came in or has another color: left, top, width and height, in the after image."""
    gone: list[tuple[int, int, int, int]]
    """What is gone, in pixels of the before image."""
    moves: list[tuple[int, int, int, int, int, int]]
    """Boxes of the after image, and how far their content moved to the right and down. The largest first."""
    shift: int
    """How many rows the largest of the moves goes down. Negative if it goes up."""
    colors: list[tuple[str, str]]
    """The old and the new color that most recolored pixels follow."""
    after: ImageView | None
    """null if the shot was removed."""
    before: ImageView | None
    """null if the shot is new, or if its base was deleted."""
    is_pair: bool
    """Whether the two images were uploaded together. A pair has no base commit."""
    diff_url: str | None
    base_commit: str | None
    ancestor: bool
    """false if the base is the branch's newest baseline, not one from the pull request's own history."""
    reason: str
    """Why its images could not be compared. Otherwise empty."""
    pixels_before: str
    """The identity of the decoded pixels. Empty if there is no image, or if it isn't known yet."""
    pixels_after: str
    closeups: Sequence[CloseUp]
    groups: list[str]
    """The ids of its groups, in their order. Empty if the shot is unchanged or failed."""
    parts: list[ShotPart]
    """What belongs to each of its groups."""
    group: str
    """The first of its groups, or empty."""
    review: Review


class FailureView(TypedDict):
    """A delivery to the forge that failed."""

    kind: DeliveryKind
    error: str
    next_at: int | None
    """null if it was given up. The next decision or comparison tries again."""


class FailingDeliveryView(FailureView):
    pr_number: int
    attempts: int
    first_due_at: int


class OutboxView(TypedDict):
    """What waits to go out to the project's forge."""

    failing: list[FailingDeliveryView]
    """At most 100, of the newest pull requests."""
    waiting: int


class ComparisonView(ComparisonSummaryView):
    branch: str
    base_commit: str | None
    missing: int
    """How many of the base's shots the run lacks. Without a base commit, how many shots have no base."""
    groups: Sequence[ShotGroup]
    """In the order to review them."""
    gate: Gate
    check: Check
    blocked: str
    """Why the gate is blocked, in one line of plain text. Otherwise empty."""
    unreadable: str
    """Which shots could not be compared and keep the gate blocked, and what to do. Otherwise empty."""
    outdated_notes: Sequence[OutdatedNote]
    outbox: list[FailureView]
    shots: list[ComparedShotView]
    """Changed shots first, then moved, new, removed, failed and unchanged ones, each in natural order."""


class SiblingView(TypedDict):
    """Another project of the repository that takes part in the pull request."""

    id: str
    name: str
    gate: Gate


class LatestComparisonView(TypedDict):
    comparison: ComparisonView | None
    siblings: list[SiblingView]


class ShareLinkView(TypedDict):
    """A link that shows a pull request's changes to people without an account."""

    id: str
    created_by: str
    created_at: int
    expires_at: int
    ended_at: int | None
    """When somebody revoked it, or when the pull request closed."""
    ended_by: str
    """Who revoked it. Otherwise empty."""


class ShareLinkListView(TypedDict):
    share_links: list[ShareLinkView]
    """At most 100: the active ones, then the others, each newest first."""


class NewShareLinkView(TypedDict):
    share_link: ShareLinkView
    url: str
    """The only reply with its secret."""


class SharedChangesView(TypedDict):
    """The page behind a share link."""

    project: str
    """Its name."""
    pr_number: int
    title: str
    expires_at: int
    comparison: ComparisonView | None
    """Without names of people, notes and deliveries."""


class CommentView(TypedDict):
    markdown: str
    html: str


class ExpiredView(TypedDict):
    expired: int
    failed: int
    """Images that couldn't be deleted yet. The hourly sweep retries them."""


class DeletedImageView(TypedDict):
    ok: bool
    id: str


class ThumbnailUrlsView(TypedDict):
    thumbnails: dict[str, str | None]
    """By image id. null if there is none: see `missing`. Omits deleted images."""
    missing: dict[str, Literal["damaged", "unsupported", "too_large", "later"]]
    """By image id. For `later`, ask again in a few seconds."""
