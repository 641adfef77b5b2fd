"""What the public API replies. The service writes these, the client reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The reply to an upload. An image uploaded with its before image has a `before_url`."""

    id: str
    view_url: str
    markdown: str
    before_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged(Uploaded):
    """The reply to an upload before its pull request exists. Unless it is moved, it expires then."""

    expires_at: int
    dashboard_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedShot(Staged):
    """A staged image in a list."""

    name: str
    viewport: str
    theme: str
    commit_sha: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The reply to a move: how many staged images are the pull request's now, how many stay, and why."""

    branch: str
    pr_number: int
    moved: int
    kept: int
    reason: str


@dataclass(frozen=True, slots=True)
class OneTimeUrls:
    """The reply to a request for a URL that takes an image once. PUT the before image first."""

    put_url: str
    expires_at: int
    before_put_url: str = ""


@dataclass(frozen=True, slots=True)
class Expired:
    """The reply to an expiry: how many images it marked as closed, and how many it deleted."""

    pr_number: int
    policy: str
    marked: int
    expired: int


@dataclass(frozen=True, slots=True)
class Described:
    """The reply to the description of a pull request."""

    pr_number: int
    dashboard_url: str


@dataclass(frozen=True, slots=True)
class SizedComment:
    """A comment of limited length.

    Of `count` screenshots, `shown` have a picture, `listed` have only a line, and `omitted` have neither.
    """

    pr_number: int
    markdown: str
    heading: str
    count: int
    shown: int
    listed: int
    omitted: int


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What a service accepts. An image must be smaller than `max_image_bytes`."""

    max_image_bytes: int
    uploads_per_minute: int
    max_name_characters: int


class Verdict(StrEnum):
    """What became of a shot. `FAILED`: the two images could not be compared."""

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


@dataclass(frozen=True, slots=True)
class ComparedShot:
    """The comparison of one shot. A new one has no `before_url`, a removed one no `view_url`.

    `ancestor`: the base is from a commit that the request listed. `reason` is why the comparison failed.
    `pair` is `manual` if the base is the before image uploaded with it; then there is no
    `base_commit`. `commit_sha` is that of the image, if it is not the compared one.
    """

    name: str
    viewport: str
    theme: str
    verdict: Verdict
    pixels: int
    regions: Sequence[Region]
    shift: int
    view_url: str | None
    before_url: str | None
    diff_url: str | None
    base_commit: str | None
    ancestor: bool = True
    reason: str = ""
    pair: str = ""
    commit_sha: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The reply to a comparison. `counts` has every verdict; `failed` only if there is one.

    `pairs` is how many shots were compared with the before image that was uploaded with them.
    """

    pr_number: int
    commit_sha: str
    branch: str
    base_commit: str | None
    state: ComparisonState
    counts: Mapping[str, int]
    shots: Sequence[ComparedShot]
    dashboard_url: str
    pairs: int = 0
