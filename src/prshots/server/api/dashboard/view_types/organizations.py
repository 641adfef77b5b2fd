"""Organizations: people, projects, credentials, webhooks, usage and the audit log."""

from collections.abc import Sequence
from typing import TypedDict

from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import Policy
from prshots.server.api.dashboard.view_types.pull_requests import PullRequestView
from prshots.server.domain.audit.models import ActorKind
from prshots.server.domain.projects.models import Role
from prshots.server.domain.storage.models import FileKind, QuotaHolder, QuotaUse
from prshots.server.domain.webhooks.models import Event, Format


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


class QuotasView(TypedDict):
    quotas: list[QuotaUse]
    """The quotas that apply."""


class QuotaHoldersView(TypedDict):
    holders: list[QuotaHolder]
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
