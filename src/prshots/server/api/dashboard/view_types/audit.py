"""The audit log."""

from typing import TypedDict

from prshots.server.domain.audit.models import ActorKind


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
