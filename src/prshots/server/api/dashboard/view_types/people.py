"""People, organizations, and the ways to join them."""

from typing import TypedDict

from prshots.server.domain.projects.models import Role


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
