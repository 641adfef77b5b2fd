"""Connections to forges, and what waits to be sent through them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from prshots.contract.forge_kinds import ForgeKind
from prshots.server.domain.projects.models import Project


@dataclass(frozen=True, slots=True)
class Connection:
    """How the service reaches a project's repository on its forge.

    `secret` is the token, encrypted with the signing key `kid`. Both are empty for the operator's GitHub App.
    """

    project_id: str
    forge: ForgeKind
    api_url: str
    repository: str
    created_by: str
    created_at: int
    kid: str = ""
    secret: str = field(default="", repr=False)

    @property
    def uses_app(self) -> bool:
        return not self.secret

    @property
    def bound_to(self) -> str:
        """What the encrypted token belongs to: it can't be decrypted for anything else."""
        return f"{self.project_id}\0{self.api_url}"


class DeliveryKind(StrEnum):
    """What goes out about a pull request, in the order in which it is sent."""

    STATUS = "status"
    COMMENT = "comment"


class Due(NamedTuple):
    """One thing to send. `version` rises with every cause, and `attempts` includes this one.

    `sent` is what was sent last, or empty if that is unknown.
    """

    kind: DeliveryKind
    version: int
    attempts: int
    first_due_at: int
    sent: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What is due for a pull request. Until its lease ends, only its `holder` sends anything about it."""

    project: Project
    pr_number: int
    holder: str
    due: Sequence[Due]
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of sending something. It failed if there is an `error`.

    It is tried again at `next_at`, or given up if that is None.
    """

    due: Due
    sent: str = ""
    error: str = ""
    next_at: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The pull request's status `prshots` on its forge, if the connection posts it."""

    state: Literal["none", "sent", "waiting", "failing"]
    forge: ForgeKind | None
    error: str
    posted: str
    """The state that was sent: success, pending or failure."""
    description: str


NO_CHECK = Check("none", None, "", "", "")


class FailingDelivery(NamedTuple):
    """Something that couldn't be sent. Without `next_at`, it was given up until the next cause."""

    pr_number: int
    kind: DeliveryKind
    error: str
    attempts: int
    first_due_at: int
    next_at: int | None


PullDeliveries = tuple[Check, list[FailingDelivery]]
