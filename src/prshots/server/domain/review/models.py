"""Decisions about pairs of images, and the facts that the gate follows from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from prshots.contract.replies import Gate, OutdatedNote, Pin, Review
from prshots.server.domain.comparison.models import PairKey
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.parts import Boxes, PartApprovals


class Decision(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class NewDecision:
    """One decision about several pairs of a pull request.

    `by` is the login of a person, or the label of a token, which has no `user_id`. `parts` has the boxes of
    the pairs that the page showed only in part.
    """

    decision: Decision
    pairs: frozenset[PairKey]
    by: str
    user_id: str = ""
    note: str = ""
    pin: Pin | None = None
    parts: Mapping[PairKey, Boxes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """What is known about a pull request besides its comparison.

    `decisions` has the newest review of each pair, oldest first. One that was withdrawn is open. `queued` are
    those of the pull requests ahead in a merge queue: they count where the pull request has none. `histories`
    has the pixels that a shot had on the base branch in the last 30 days, oldest first. `has_newer_commit`
    says that a commit after the compared one has images. `approvals` says which boxes of a pair are approved,
    if there are decisions about its parts.
    """

    decisions: Mapping[PairKey, Review] = field(default_factory=dict)
    queued: Mapping[PairKey, Review] = field(default_factory=dict)
    quarantined: frozenset[ShotKey] = frozenset()
    histories: Mapping[ShotKey, Sequence[str]] = field(default_factory=dict)
    has_newer_commit: bool = False
    approvals: Mapping[PairKey, PartApprovals] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The reviews of a comparison's shots. `words` describe the gate, `unreadable` shots that block it.

    `approvals` has the shots with decisions about their parts.
    """

    reviews: Mapping[ShotKey, Review]
    gate: Gate
    outdated_notes: Sequence[OutdatedNote]
    words: str
    unreadable: str = ""
    approvals: Mapping[ShotKey, PartApprovals] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShareLink:
    """A share link without its secret, of which only the SHA-256 is stored.

    `ended_at` is when somebody revoked it (`ended_by`), or when the pull request closed. Then `ended_by` is
    empty.
    """

    id: str
    project_id: str
    pr_number: int
    sha256: str
    created_by: str
    created_at: int
    expires_at: int
    ended_at: int | None = None
    ended_by: str = ""


class SharedPull(NamedTuple):
    """The pull request that an active link shows."""

    project: Project
    pr_number: int
    title: str
    expires_at: int
