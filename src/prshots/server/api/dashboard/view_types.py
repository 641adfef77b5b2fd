"""The shapes of the dashboard API's JSON. Times are Unix seconds; sizes are bytes.

The dashboard's TypeScript types are generated from this module: see `typescript.py`. A string below a field
becomes its comment there.
"""

from typing import Literal, TypedDict

from prshots.contract.limits import Policy
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.domain.projects.models import Role


class UserView(TypedDict):
    id: str
    login: str
    name: str
    avatar_url: str
    """Empty if the user has no picture, or one that the page may not load."""
    provider: str


class OrganizationView(TypedDict):
    id: str
    name: str
    personal: bool
    role: Role
    """The role of the signed-in user."""


class ServiceView(TypedDict):
    """The service's addresses and limits."""

    base_url: str
    img_url: str
    web_url: str
    max_image_bytes: int
    uploads_per_minute: int
    trusted_issuers: list[str]
    """The OpenID issuers that a project may trust."""
    version: str


class MeView(TypedDict):
    user: UserView
    organizations: list[OrganizationView]
    service: ServiceView


class ProjectOrganizationView(TypedDict):
    """The organization that a project belongs to."""

    id: str
    name: str


class ProjectView(TypedDict):
    id: str
    name: str
    organization: ProjectOrganizationView
    role: Role
    """The role of the signed-in user in the project's organization."""
    policy: Policy
    retain_days: int | None
    keep_baselines: int
    """How many commits of a branch keep their baselines."""
    repository: str
    """The web address of its repository. Empty if unknown."""
    uploads_per_minute: int | None
    """Its own limit. Null if the service's limit applies."""
    created_at: int
    images: int
    bytes: int
    open_pulls: int
    last_upload_at: int | None
    uploads_per_day: list[int]
    """The last 30 days, oldest first, today last."""


class ProjectListView(TypedDict):
    projects: list[ProjectView]
    next: str | None


class WouldExpireView(TypedDict):
    """What the next sweep would delete."""

    images: int
    bytes: int


class ProjectDeletionView(TypedDict):
    remaining: int
    """Images still to delete. At 0 the project is deleted too."""


class DayOfUploadsView(TypedDict):
    day: str
    """Like 2026-11-15, in UTC."""
    uploads: int
    bytes: int


class PullRequestView(TypedDict):
    pr_number: int
    images: int
    bytes: int
    last_upload_at: int
    last_commit: str
    closed_at: int | None
    title: str
    """Empty if no client has told it, like the branch, the author and the URL."""
    source_branch: str
    author: str
    url: str
    """Where the forge shows it."""


class UsageView(TypedDict):
    days: list[DayOfUploadsView]
    """Every day of the requested period, oldest first."""
    images: int
    bytes: int
    biggest: list[PullRequestView]


class ImageView(TypedDict):
    id: str
    pr_number: int
    name: str
    viewport: str
    theme: str
    """light, dark, or empty."""
    commit_sha: str
    sha256: str | None
    """Of the bytes. null if it was not recorded."""
    type: str
    """The content type: image/png, image/jpeg or image/webp."""
    size: int
    uploaded_at: int
    url: str
    markdown: str
    thumbnail: Literal["made", "damaged", "unsupported", "too_large"] | None
    """null: not requested yet. Otherwise whether there is one or, if not, why the image cannot have one."""
    thumbnail_url: str | None


class ListedPullRequestView(PullRequestView):
    newest: list[ImageView]
    """Up to four images, newest first."""


class PullRequestListView(TypedDict):
    pulls: list[ListedPullRequestView]
    next: str | None


class ShotView(TypedDict):
    """A shot in the gallery: its newest image, and of how many commits it has images."""

    newest: ImageView
    commits: int
    unchanged_since: str | None
    """The first commit that had the same bytes, if it is another one."""


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
    """null: not known yet."""
    pixels: int
    regions: list[tuple[int, int, int, int]]
    """Left, top, width and height, in pixels of the image after."""
    shift: int
    """By how many rows the content below moved down; negative: up."""
    after: ImageView | None
    """null: the shot was removed."""
    before: ImageView | None
    """null: the shot is new, or its base was deleted."""
    is_pair: bool
    """The before was uploaded together with the after. Then there is no base commit."""
    diff_url: str | None
    base_commit: str | None
    ancestor: bool
    """false: the base is the newest baseline of the branch, not one of the pull request's own history."""
    reason: str
    """Why the comparison failed. Empty otherwise."""


class ComparisonView(TypedDict):
    commit_sha: str
    branch: str
    base_commit: str | None
    state: ComparisonState
    missing: int
    """How many of the base's shots an incomplete run lacks. Without a base commit: how many have no base."""
    shots: list[ComparedShotView]
    """Changed first, then moved, new, removed, failed and unchanged ones, each in natural order."""


class LatestComparisonView(TypedDict):
    comparison: ComparisonView | None


class BaselineCommitView(TypedDict):
    """The baselines of a branch at a commit."""

    branch: str
    commit_sha: str
    complete: bool
    created_at: int
    shots: int
    bytes: int


class BaselineListView(TypedDict):
    branches: list[str]
    commits: list[BaselineCommitView]
    next: str | None


class StagedView(TypedDict):
    """An image that waits for the pull request of a branch."""

    image: ImageView
    before: ImageView | None
    branch: str
    repository: str
    """The owner/name that has the branch. Empty: the project's own."""
    expires_at: int


class StagedListView(TypedDict):
    staged: list[StagedView]
    """Newest first."""
    next: str | None


class CommentView(TypedDict):
    markdown: str
    html: str


class ExpiredView(TypedDict):
    expired: int
    failed: int
    """Images that could not be deleted yet. The hourly sweep retries them."""


class DeletedImageView(TypedDict):
    ok: bool
    id: str


class ThumbnailUrlsView(TypedDict):
    thumbnails: dict[str, str | None]
    """By image id. null: there is none, and `missing` says why. Not listed: the image is deleted."""
    missing: dict[str, Literal["damaged", "unsupported", "too_large", "later"]]
    """By image id. later: ask again in a few seconds."""


class TokenView(TypedDict):
    id: str
    label: str
    hint: str
    created_at: int
    created_by: str
    """A login. Empty if the command line created it."""
    last_used_at: int | None
    revoked_at: int | None


class TokenListView(TypedDict):
    tokens: list[TokenView]
    next: str | None


class NewTokenView(TypedDict):
    token: TokenView
    secret: str


class TrustView(TypedDict):
    """Lets CI jobs upload without a token if their ID token has this issuer and these claims."""

    id: str
    issuer: str
    claims: dict[str, str]
    created_at: int
    created_by: str
    """A login. Empty if the command line created it."""
    last_used_at: int | None
    pins: dict[str, str]
    """The ids of the repository and its owner, from the first job. Later jobs must have the same."""
    refused_ids: dict[str, str]
    """The ids of the last job that was refused because it had others. An id that it did not have is empty."""
    refused_at: int | None


class TrustListView(TypedDict):
    trusts: list[TrustView]


class MemberView(UserView):
    role: Role
    you: bool


class MemberListView(TypedDict):
    members: list[MemberView]
    next: str | None


class DoneView(TypedDict):
    ok: bool
