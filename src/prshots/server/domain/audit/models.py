"""The entries of the audit log, and who is acting now."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple


class ActorKind(StrEnum):
    PERSON = "person"
    TOKEN = "token"  # noqa: S105 - not a password
    OPERATOR = "operator"
    """Someone who runs `prshots` on the command line."""
    SERVICE = "service"
    """The service itself: a sweep, or a request from someone whom it doesn't know."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `name` is a login, a token's label or the operator's account on the machine.

    `address` is the IP address that the request came from, or empty outside requests.
    """

    kind: ActorKind = ActorKind.SERVICE
    id: str = ""
    name: str = ""
    address: str = ""


_NOBODY = Actor()
# The edge sets it once: per request, or per command. A context variable, because nearly every write records
# its actor, and no rule depends on it.
_ACTOR = ContextVar("actor", default=_NOBODY)


def current_actor() -> Actor:
    return _ACTOR.get()


def act_from(address: str) -> None:
    """Set the address that the current request came from. Nobody is known to act yet."""
    _ACTOR.set(Actor(address=address))


def act_as(kind: ActorKind, actor_id: str, name: str) -> None:
    """Set who acts in the current request or command. Keeps the address."""
    _ACTOR.set(replace(_ACTOR.get(), kind=kind, id=actor_id, name=name))


class Action(StrEnum):
    """What can be recorded, as `subject.verb`."""

    SIGNED_IN = "person.signed_in"
    SIGN_IN_LINK_CREATED = "sign_in_link.created"
    ORGANIZATION_CREATED = "organization.created"
    ORGANIZATION_DELETED = "organization.deleted"
    MEMBER_INVITED = "member.invited"
    MEMBER_JOINED = "member.joined"
    MEMBER_ROLE_CHANGED = "member.role_changed"
    MEMBER_REMOVED = "member.removed"
    INVITATION_WITHDRAWN = "invitation.withdrawn"
    INVITATION_LINK_CREATED = "invitation_link.created"
    INVITATION_LINK_REVOKED = "invitation_link.revoked"
    GROUP_ADDED = "group.added"
    GROUP_REMOVED = "group.removed"
    PROJECT_CREATED = "project.created"
    PROJECT_CHANGED = "project.changed"
    PROJECT_DELETED = "project.deleted"
    TOKEN_CREATED = "token.created"  # noqa: S105 - not a password
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 - not a password
    TRUST_ADDED = "trust.added"
    TRUST_REMOVED = "trust.removed"
    TRUST_UNPINNED = "trust.unpinned"
    IMAGE_DELETED = "image.deleted"
    PULL_REQUEST_CLOSED = "pull_request.closed"
    PULL_REQUEST_DELETED = "pull_request.deleted"
    AUTHOR_CHANGED = "pull_request.author_changed"
    DECIDED = "decision.made"
    QUARANTINE_STARTED = "quarantine.started"
    QUARANTINE_ENDED = "quarantine.ended"
    CONNECTION_SET = "connection.set"
    CONNECTION_REMOVED = "connection.removed"
    WEBHOOK_CREATED = "webhook.created"
    WEBHOOK_CHANGED = "webhook.changed"
    WEBHOOK_SECRET_ROTATED = "webhook.secret_rotated"  # noqa: S105 - not a password
    WEBHOOK_DELETED = "webhook.deleted"
    WEBHOOK_TESTED = "webhook.tested"
    WEBHOOK_REDELIVERED = "webhook.redelivered"
    SHARE_LINK_CREATED = "share_link.created"
    SHARE_LINK_REVOKED = "share_link.revoked"
    QUOTA_CHANGED = "quota.changed"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_RETIRED = "key.retired"
    MOVE_STARTED = "installation.move_started"
    MOVE_CANCELED = "installation.move_canceled"
    RESTORED = "installation.restored"
    SWEEP_DELETED = "sweep.deleted"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act. `target` says what it was done to, and `details` what changed.

    `organization_id` is empty for acts on the whole installation. `project` is the project's name at that
    time.
    """

    seq: int
    at: int
    organization_id: str
    project_id: str
    project: str
    actor: Actor
    action: str
    target: str
    details: Mapping[str, object]
    pr_number: int | None = None

    def as_exported(self) -> dict[str, object]:
        return {"time": datetime.fromtimestamp(self.at, UTC).isoformat(), **asdict(self)}


class AuditFilter(NamedTuple):
    """Which entries to return. Empty fields match all. `action` also matches a subject, such as `token`.

    `project` is a project's name, then or now. `with_shots` adds the shots of decisions to their details.
    """

    actor: str = ""
    action: str = ""
    target: str = ""
    pr_number: int | None = None
    project_id: str = ""
    project: str = ""
    since: int | None = None
    until: int | None = None
    with_shots: bool = False
