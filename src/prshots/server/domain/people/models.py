"""The records of people, their sign-ins and memberships."""

from dataclasses import dataclass

from prshots.server.domain.projects.models import Organization, Role

OPERATOR = ("local", "operator")
"""The provider and the subject of the operator. No login provider has that name."""


@dataclass(frozen=True, slots=True)
class User:
    """A person with an account at a login provider. `subject` never changes; `login` may."""

    id: str
    provider: str
    subject: str
    login: str
    name: str
    avatar_url: str
    created_at: int

    @property
    def is_operator(self) -> bool:
        """Whether this is the person who signs in with the operator's one-time link."""
        return (self.provider, self.subject) == OPERATOR


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an organization. `from_group`: they joined through a group, and leave with it."""

    user: User
    role: Role
    from_group: bool = False


@dataclass(frozen=True, slots=True)
class Invitation:
    """An offer to join an organization. It grants nothing until the user accepts. `invited_by` is a login."""

    organization: Organization
    user: User
    role: Role
    invited_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class InvitationLink:
    """A link that lets one person join an organization. Only its hash is stored. `created_by` is a login."""

    id: str
    organization: Organization
    sha256: str
    role: Role
    created_by: str
    created_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a login provider whose people are members of an organization. Its name is in lower case."""

    organization_id: str
    provider: str
    name: str
    role: Role
    created_by: str
    created_at: int

    @property
    def full_name(self) -> str:
        return f"{self.provider}:{self.name}"


@dataclass(frozen=True, slots=True)
class Identity:
    """A person's identity according to the login provider. `emails` contains only verified addresses.

    `login` is for display. The allow list compares `unique_login`, ignoring case, if the provider guarantees
    that it belongs to one account. Otherwise it compares `account`, the provider's exact account id. `groups`
    are the provider's organizations, teams or groups with this person, or None if it doesn't say.
    """

    subject: str
    login: str
    name: str
    unique_login: str = ""
    account: str = ""
    avatar_url: str = ""
    groups: frozenset[str] | None = None
    emails: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoginState:
    """The hash of a one-time sign-in link's code, or of a `state` that has been used."""

    sha256: str
    provider: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Session:
    sha256: str
    user_id: str
    created_at: int
    last_seen_at: int
