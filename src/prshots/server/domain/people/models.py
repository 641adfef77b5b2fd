"""The records of people, their sign-ins and memberships."""

from dataclasses import dataclass

from prshots.server.domain.projects.models import Role


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


@dataclass(frozen=True, slots=True)
class Member:
    user: User
    role: Role


@dataclass(frozen=True, slots=True)
class Identity:
    """What a login provider says about the person who signed in. `emails` has verified addresses only.

    `login` is for display. The allow list compares `unique_login`, if the provider guarantees that it belongs
    to one account, regardless of case; otherwise `account`, the provider's exact id of the account.
    """

    subject: str
    login: str
    name: str
    unique_login: str = ""
    account: str = ""
    avatar_url: str = ""
    organizations: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoginState:
    """The hash of a sign-in link's code, which can be used once, or of a `state` that has been used."""

    sha256: str
    provider: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Session:
    sha256: str
    user_id: str
    created_at: int
    last_seen_at: int
