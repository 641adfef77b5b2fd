"""The shapes of the dashboard API's JSON. Times are Unix seconds; sizes are bytes.

`web/make_types.py` generates the TypeScript types from this module. A string below a field becomes
the field's comment there.
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import Policy
from prshots.contract.replies import CloseUp, ComparisonState, Gate, OutdatedNote, Review, ShotGroup, Verdict
from prshots.server.domain.audit.models import ActorKind
from prshots.server.domain.outbox.models import DeliveryKind
from prshots.server.domain.projects.models import Role
from prshots.server.domain.storage.models import FileKind
from prshots.server.domain.webhooks.models import Event, Format


class UserView(TypedDict):
    id: str
    login: str
    name: str
    avatar_url: str
    """Empty if the user has no avatar, or one that the page may not load."""
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


class OrganizationNameView(TypedDict):
    id: str
    name: str


class InvitationView(TypedDict):
    organization: OrganizationNameView
    user: UserView
    role: Role
    invited_by: str
    """A login."""
    created_at: int


class InvitationListView(TypedDict):
    invitations: list[InvitationView]


class MeView(TypedDict):
    user: UserView
    organizations: list[OrganizationView]
    invitations: list[InvitationView]
    """The newest invitations that wait for the user's answer."""
    service: ServiceView
    operator: bool
    """Whether the user operates the installation."""


class ProjectView(TypedDict):
    id: str
    name: str
    organization: OrganizationNameView
    role: Role
    """The role of the signed-in user in the project's organization."""
    policy: Policy
    retain_days: int | None
    keep_baselines: int
    """How many commits per branch keep their baselines."""
    repository: str
    """The web address of the repository. Empty if unknown."""
    uploads_per_minute: int | None
    """The project's own limit. null if the service's limit applies."""
    review_verdicts: list[str]
    """The verdicts that need a decision."""
    four_eyes: bool
    """Whether the author of a pull request can't approve it."""
    created_at: int
    images: int
    bytes: int
    open_pulls: int
    last_upload_at: int | None
    uploads_per_day: list[int]
    """The last 30 days, oldest first."""


class ProjectListView(TypedDict):
    projects: list[ProjectView]
    next: str | None


class WouldExpireView(TypedDict):
    """The images that the next sweep would delete."""

    images: int
    bytes: int


class ProjectDeletionView(TypedDict):
    remaining: int
    """Images still to delete. At 0, the project is deleted as well."""


class DayOfUploadsView(TypedDict):
    day: str
    """A date in UTC, such as 2026-11-15."""
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
    """Empty, like the branch, author and URL, until a client sends it."""
    source_branch: str
    author: str
    url: str
    """The pull request's page on the forge."""
    deleted_at: int | None
    """When a person deleted all its images, until the next upload."""
    deleted_by: str | None


class FilesView(TypedDict):
    kind: FileKind
    files: int
    bytes: int


class BytesOfDayView(TypedDict):
    day: str
    """A date in UTC."""
    bytes: int


class MeasuredView(TypedDict):
    """What the store really has, measured by the sweep. Includes files that don't count towards quotas."""

    day: str | None
    """When it was last measured, as a date in UTC. null if never."""
    estimated: bool
    """Whether the store is so large that the sweep measured only a part of it."""
    kinds: list[FilesView]
    """The last measurement, largest first."""
    days: list[BytesOfDayView]
    """The measured days of the requested period, oldest first."""


class QuotaView(TypedDict):
    of: Literal["organization", "project"]
    bytes: int
    """The stored bytes that count towards the quota."""
    limit: int


class QuotasView(TypedDict):
    quotas: list[QuotaView]
    """The quotas that apply."""


class QuotaHolderView(TypedDict):
    """An organization or project, for the operator."""

    id: str
    name: str
    images: int
    bytes: int
    quota_bytes: int | None
    """The quota that the operator set: 0 for no limit, null for the service's default."""


class QuotaHoldersView(TypedDict):
    holders: list[QuotaHolderView]
    """Largest first."""
    default_bytes: int
    """The quota of those that have null. 0 for no limit."""
    next: str | None


class StoredProjectView(TypedDict):
    id: str
    name: str
    images: int
    bytes: int


class OrganizationUsageView(TypedDict):
    images: int
    bytes: int
    projects: list[StoredProjectView]
    """The 100 largest projects, largest first."""
    measured: MeasuredView


class UsageView(TypedDict):
    days: list[DayOfUploadsView]
    """Every day of the requested period, oldest first."""
    images: int
    bytes: int
    biggest: list[PullRequestView]
    measured: MeasuredView


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
    """Left, top, width and height, in pixels of the after image."""
    shift: int
    """How many rows the content below moved down. Negative if it moved up."""
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
    """The reason why the comparison failed. Otherwise empty."""
    pixels_before: str
    """The identity of the decoded pixels. Empty if there is no image, or if it isn't known yet."""
    pixels_after: str
    closeups: Sequence[CloseUp]
    group: str
    """The id of its group. Empty if the shot is unchanged or failed."""
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
    outdated_notes: Sequence[OutdatedNote]
    outbox: list[FailureView]
    shots: list[ComparedShotView]
    """Changed shots first, then moved, new, removed, failed and unchanged ones, each in natural order."""


class LatestComparisonView(TypedDict):
    comparison: ComparisonView | None


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


class BaselinePeriodView(TypedDict):
    """Consecutive commits of a branch at which a shot had the same image."""

    image: ImageView
    first_commit: str
    first_at: int
    last_commit: str
    last_at: int
    commits: int


class BaselineHistoryView(TypedDict):
    periods: list[BaselinePeriodView]
    """Newest first."""
    next: str | None


class StagedView(TypedDict):
    """An image that is staged until its branch has a pull request."""

    image: ImageView
    before: ImageView | None
    branch: str
    repository: str
    """The branch's repository, as owner/name. Empty for the project's own."""
    expires_at: int


class StagedListView(TypedDict):
    staged: list[StagedView]
    """Newest first."""
    next: str | None


class QuarantineView(TypedDict):
    """A shot that doesn't need decisions for a while."""

    id: str
    name: str
    viewport: str
    theme: str
    reason: str
    created_by: str
    """A login."""
    created_at: int
    until: int
    compared: int
    """How many commits of pull requests were compared since it began."""
    differed: int
    """At how many of these commits the shot differed."""


class QuarantineListView(TypedDict):
    quarantines: list[QuarantineView]
    """In order of their end."""


class AlternatingPictureView(TypedDict):
    pixels: str
    image: ImageView | None
    """null if it was deleted."""
    at: int
    """When the branch last got this picture."""


class AlternatingShotView(TypedDict):
    """A shot that alternated between pictures on a branch in the last 30 days."""

    name: str
    viewport: str
    theme: str
    branch: str
    pictures: list[AlternatingPictureView]
    changes: int
    """How often the branch's picture changed in that time."""
    last_at: int
    """When it last changed."""


class NoiseView(TypedDict):
    shots: list[AlternatingShotView]
    """At most 100, those that changed last first."""


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


class TokenView(TypedDict):
    id: str
    label: str
    hint: str
    created_at: int
    created_by: str
    """A login. Empty if the command line created the token."""
    last_used_at: int | None
    expires_at: int | None
    revoked_at: int | None
    revoked_by: str | None
    """A login. Empty if the command line revoked the token, null if unknown."""


class ConnectionView(TypedDict):
    forge: ForgeKind
    api_url: str
    repository: str
    uses_app: bool
    """Whether it uses the operator's GitHub App instead of a token."""
    created_by: str
    """A login. Empty if the command line created the connection."""
    created_at: int
    problem: str
    """Why it doesn't work, or empty."""


class ConnectionReplyView(TypedDict):
    connection: ConnectionView | None


class TokenListView(TypedDict):
    tokens: list[TokenView]
    next: str | None


class MemberTokenView(TokenView):
    project: str
    """The project's name."""


class MemberTokensView(TypedDict):
    tokens: list[MemberTokenView]
    """The oldest valid tokens that a member created in the organization's projects."""


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
    """A login. Empty if the command line created the trust."""
    last_used_at: int | None
    pins: dict[str, str]
    """The ids of the repository and its owner from the first job. Later jobs must have the same ids."""
    refused_ids: dict[str, str]
    """The ids of the last job that was refused for having different ones. A missing id is empty."""
    refused_at: int | None


class TrustListView(TypedDict):
    trusts: list[TrustView]


class InvitationLinkView(TypedDict):
    id: str
    role: Role
    created_by: str
    created_at: int
    expires_at: int


class InvitationLinkListView(TypedDict):
    links: list[InvitationLinkView]


class NewInvitationLinkView(TypedDict):
    link: InvitationLinkView
    url: str
    """Contains the secret, so it is shown once."""


class OfferView(TypedDict):
    """What an invitation link offers to the person who opened it."""

    organization: OrganizationNameView
    role: Role
    created_by: str
    expires_at: int
    is_member: bool


class GroupView(TypedDict):
    provider: str
    name: str
    role: Role
    created_by: str
    created_at: int


class GroupListView(TypedDict):
    groups: list[GroupView]
    yours: list[str]
    """The groups that the user may name: those of their last sign-in."""


class MemberView(UserView):
    role: Role
    you: bool
    from_group: bool
    """They joined through a group of their login provider, and leave with it."""


class MemberListView(TypedDict):
    members: list[MemberView]
    next: str | None


class ActorView(TypedDict):
    kind: ActorKind
    name: str
    """A login, a token's label or the operator's account. Empty for the service."""
    address: str
    """The IP address, or empty outside requests."""


class AuditEntryView(TypedDict):
    seq: int
    at: int
    actor: ActorView
    action: str
    """An action such as `token.created`."""
    target: str
    project_id: str
    project: str
    """The project's name at that time. Empty for acts outside a project."""
    details: dict[str, str]


class AuditLogView(TypedDict):
    entries: list[AuditEntryView]
    next: str | None


class WebhookView(TypedDict):
    id: str
    project_id: str | None
    """Null for all projects of the organization."""
    project: str
    """The project's name, or empty."""
    url: str
    format: Format
    events: Sequence[Event]
    created_by: str
    created_at: int
    old_secret_until: int | None
    """Until then, messages are also signed with the secret before the last rotation."""
    sent_at: int | None
    """When a message last arrived."""
    failing_since: int | None
    disabled_at: int | None
    """When the receiver answered 410. A change enables the webhook again."""


class WebhookListView(TypedDict):
    webhooks: list[WebhookView]


class NewWebhookView(TypedDict):
    webhook: WebhookView
    secret: str
    """Shown once."""


class WebhookDeliveryView(TypedDict):
    id: str
    """The message's `webhook-id`."""
    event: Event
    project_id: str | None
    pr_number: int | None
    created_at: int
    next_at: int | None
    """When it is sent next. Null if it arrived or was given up."""
    attempts: int
    sent_at: int | None
    status: int | None
    """The HTTP status of the last reply."""
    reply: str
    """The beginning of the last reply."""
    error: str


class WebhookDeliveriesView(TypedDict):
    deliveries: list[WebhookDeliveryView]
    next: str | None


class WebhookPayloadView(TypedDict):
    payload: str
    """The body, or empty before the first attempt."""


class DoneView(TypedDict):
    ok: bool
