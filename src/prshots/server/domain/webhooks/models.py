"""Webhooks, their secrets, and the messages that they send."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from prshots.server.domain.projects.models import Project


class Event(StrEnum):
    """Why a message is sent. Webhooks choose from all but `test`, which an owner sends."""

    COMPARED = "compared"
    DECIDED = "decided"
    GATE = "gate"
    EXPIRED = "expired"
    QUOTA = "quota"
    TEST = "test"


CHOICES = tuple(event for event in Event if event is not Event.TEST)


class Format(StrEnum):
    STANDARD = "standard"
    SLACK = "slack"
    TEAMS = "teams"


@dataclass(frozen=True, slots=True)
class WebhookSecret:
    """A secret that signs messages, encrypted with the signing key `kid`. `is_old` until a rotation ends."""

    webhook_id: str
    is_old: bool = False
    kid: str = ""
    secret: str = field(default="", repr=False)

    @property
    def bound_to(self) -> str:
        return f"webhook\0{self.webhook_id}"


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events go. Without a `project_id`, those of all projects in the organization.

    `sent_at` is when a message last arrived, and `failing_since` when the first one after that failed.
    `disabled_at` is when the receiver asked for no more messages.
    """

    id: str
    organization_id: str
    project_id: str
    url: str
    format: Format
    events: Sequence[Event]
    secrets: Sequence[WebhookSecret]
    """The current one, and the one before, which signs until `old_until`."""

    created_by: str
    created_at: int
    old_until: int = 0
    sent_at: int | None = None
    failing_since: int | None = None
    disabled_at: int | None = None
    project: str = ""
    """The project's name."""


class QueueKey(NamedTuple):
    """The messages that are sent in order: a webhook's about one pull request."""

    organization_id: str
    webhook_id: str
    project_id: str
    pr_number: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `cause` was recorded with its cause. `body` is empty until the first attempt.

    `attempts` includes the current one.
    """

    id: str
    event: Event
    cause: Mapping[str, Any]
    body: str
    created_at: int
    attempts: int
    first_due_at: int


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """The next message of a queue. Until its lease ends, only its `holder` sends anything of the queue.

    `sent_gate` is the state of the gate that the queue last sent, or empty.
    """

    queue: QueueKey
    webhook: Webhook
    organization: str
    project: Project | None
    holder: str
    message: Message
    sent_gate: str


class Receipt(NamedTuple):
    """The receiver's answer: the status and the beginning of its reply. It failed if there is an `error`.

    `is_gone` says that the receiver wants no more messages.
    """

    status: int = 0
    reply: str = ""
    error: str = ""
    is_gone: bool = False


class ListedDelivery(NamedTuple):
    """A message in the webhook's list. It waits until `due_at`, if it has that."""

    seq: int
    id: str
    event: Event
    project_id: str
    pr_number: int
    created_at: int
    due_at: int | None
    attempts: int
    sent_at: int | None
    status: int
    reply: str
    error: str
