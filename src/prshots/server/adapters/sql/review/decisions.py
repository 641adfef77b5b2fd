"""Decisions about pairs, and the facts that the gate follows from."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import sqlalchemy as sa

from prshots.contract.replies import Pin, Region, Review, ReviewState
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import ACTIVE, equal, given, in_batches, project_from
from prshots.server.adapters.sql.comparison.newest import NEWEST, NEWEST_OF_SEVERAL
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import (
    asked_pairs,
    compared_shots,
    comparisons,
    decisions,
    images,
    pulls,
    quarantines,
)
from prshots.server.adapters.sql.outbox.causes import mark_due, note_event
from prshots.server.adapters.sql.review.histories import find_histories
from prshots.server.adapters.sql.review.participants import PARTICIPANTS
from prshots.server.domain.audit.models import Action
from prshots.server.domain.comparison.encoding import decode_difference
from prshots.server.domain.comparison.models import PairKey, gone_of, regions_of
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import Decision, NewDecision, ReviewFacts
from prshots.server.domain.review.parts import (
    NO_APPROVALS,
    Boxes,
    PartApprovals,
    PartDecision,
    boxes_of,
    find_approvals,
)
from prshots.server.domain.webhooks.models import Event

_NEWEST_COMMIT = NEWEST.with_only_columns(comparisons.c.commit_sha)
_CURRENT = sa.select(*(compared_shots.c[name] for name in PairKey._fields)).where(
    *given(compared_shots, "project_id", "pr_number"),
    compared_shots.c.commit_sha == _NEWEST_COMMIT.scalar_subquery(),
    compared_shots.c.verdict.is_not(None),
)
_DECISION = ("pr_number", *PairKey._fields, "decision", "by", "at", "note", "pin_x", "pin_y", "boxes", "seq")
_DECISIONS, _PART_DECISIONS = (
    sa.select(*(decisions.c[name] for name in _DECISION))
    .where(*given(decisions, "project_id"), condition)
    .where(decisions.c.pr_number.in_(sa.bindparam("pr_numbers", expanding=True)))
    .order_by(decisions.c.seq)
    for condition in (decisions.c.is_newest, decisions.c.boxes.is_not(None))
)
_DIFFERENCES = _CURRENT.add_columns(compared_shots.c.difference).where(
    sa.tuple_(*(compared_shots.c[name] for name in PairKey._fields)).in_(
        sa.bindparam("pairs", expanding=True)
    )
)
_QUARANTINED = sa.select(*(quarantines.c[name] for name in ShotKey._fields)).where(
    *given(quarantines, "project_id"), quarantines.c.until > sa.bindparam("now")
)

_UNDECIDED = Review(ReviewState.OPEN)

NAMED_SHOTS = 50
_PAIR = sa.tuple_(*(decisions.c[name] for name in PairKey._fields))

MAX_NAMED = 10
"""How many names of decided shots the audit log's page shows."""

_earlier = images.alias()


def _is_same_commit(one: Any, other: Any) -> sa.ColumnElement[bool]:  # noqa: ANN401 - columns
    """Compare commits, ignoring case. Either may be a prefix of the other."""
    one, other = sa.func.lower(one), sa.func.lower(other)
    length = sa.case(
        (sa.func.length(one) < sa.func.length(other), sa.func.length(one)), else_=sa.func.length(other)
    )
    return sa.func.substr(one, 1, length) == sa.func.substr(other, 1, length)


# A commit is as new as its first image. A job that runs again for an older commit doesn't count.
_was_there_before = (
    sa.select(_earlier.c.seq)
    .where(
        _earlier.c.project_id == images.c.project_id,
        _earlier.c.pr_number == images.c.pr_number,
        _earlier.c.commit_sha == images.c.commit_sha,
        _earlier.c.seq < comparisons.c.first_seq,
    )
    .correlate(images, comparisons)
    .exists()
)
_is_of_newer_commit = (
    images.c.project_id == comparisons.c.project_id,
    images.c.pr_number == comparisons.c.pr_number,
    images.c.seq > comparisons.c.first_seq,
    ACTIVE,
    ~_is_same_commit(images.c.commit_sha, comparisons.c.commit_sha),
    ~_was_there_before,
)
_has_newer_commit = sa.select(images.c.seq).where(*_is_of_newer_commit).correlate(comparisons).exists()
NEWER_COMMIT = (
    sa.select(images.c.commit_sha)
    .where(*NEWEST_OF_SEVERAL, *_is_of_newer_commit)
    .order_by(images.c.seq.desc())
    .limit(1)
)
"""The newest commit with images that was never compared, given the pull request as the only `pr_numbers`."""

_COMPARED = sa.select(
    *(comparisons.c[name] for name in ("pr_number", "branch", "commits", "queued_pulls")),
    _has_newer_commit.label("is_outdated"),
).where(*NEWEST_OF_SEVERAL)


class SqlReviews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def decide(self, project_id: str, pr_number: int, decision: NewDecision, now: int) -> bool:
        of_pull: dict[str, Any] = {"project_id": project_id, "pr_number": pr_number}
        pin = decision.pin
        row = {
            **of_pull,
            "decision": decision.decision,
            "by": decision.by,
            "user_id": decision.user_id,
            "at": now,
            "note": decision.note,
            "pin_x": pin.x if pin else None,
            "pin_y": pin.y if pin else None,
        }

        def write(connection: sa.Connection) -> bool:
            lock_pull(connection, project_id, pr_number)
            if not decision.pairs <= {PairKey(*pair) for pair in connection.execute(_CURRENT, of_pull)}:
                return False
            checked = _check_parts(connection, decision, of_pull)
            if checked is None:
                return False
            pairs, parts = sorted(decision.pairs), checked.parts
            settled = [pair for pair in pairs if pair not in parts or pair in checked.completed]
            replaced = (*equal(decisions, **of_pull), decisions.c.is_newest, _PAIR.in_(settled))
            connection.execute(sa.update(decisions).where(*replaced).values(is_newest=False))
            rows = [
                {**row, **pair._asdict(), "is_newest": pair in settled, "boxes": _encode(parts.get(pair))}
                for pair in pairs
            ]
            connection.execute(sa.insert(decisions), rows)
            note_event(connection, Event.DECIDED, **of_pull, cause=lambda: _told(decision, pairs, parts))
            mark_due(connection, project_id, pr_number, now)
            commit_sha = connection.execute(_NEWEST_COMMIT, of_pull).scalar()
            names = sorted({pair.name for pair in pairs})[:MAX_NAMED]
            about = {"decision": decision.decision, "commit_sha": commit_sha, "pairs": len(pairs)}
            details = {**about, "names": names, "note": decision.note}
            if parts:
                details["in_part"] = len(parts)
            shots = [pair._asdict() | _list_boxes(parts.get(pair)) for pair in pairs]
            record(connection, Action.DECIDED, **of_pull, details=details, shots=shots)
            return True

        return await self._database.write(write)

    async def facts(
        self, project_id: str, shots: Mapping[int, Collection[ShotKey]], now: int
    ) -> dict[int, ReviewFacts]:
        return await self._database.read(lambda connection: find_facts(connection, project_id, shots, now))

    async def participants(self, project: Project, pr_number: int) -> list[tuple[Project, str]]:
        rows = await self._database.rows(PARTICIPANTS, project_id=project.id, pr_number=pr_number)
        return [(project_from(row[:-1]), row.skipped_commit or "") for row in rows]

    async def skip(self, project_id: str, pr_number: int, commit_sha: str, now: int) -> bool:
        of_pull = equal(pulls, project_id=project_id, pr_number=pr_number)
        skipping = sa.update(pulls).where(*of_pull).values(skipped_commit=commit_sha)

        def skip(connection: sa.Connection) -> bool:
            lock_pull(connection, project_id, pr_number)
            is_known = connection.execute(skipping).rowcount > 0
            if is_known:
                mark_due(connection, project_id, pr_number, now)
            return is_known

        return await self._database.write(skip)

    async def notice(self, project_id: str, pr_number: int) -> int:
        of_pull = equal(asked_pairs, project_id=project_id, pr_number=pr_number)
        newest = sa.select(sa.func.max(asked_pairs.c.after_decision)).where(*of_pull)
        return await self._database.value(newest) or 0


def find_facts(
    connection: sa.Connection, project_id: str, shots: Mapping[int, Collection[ShotKey]], now: int
) -> dict[int, ReviewFacts]:
    of_pulls = {"project_id": project_id, "pr_numbers": list(shots)}
    compared = {row.pr_number: row for row in connection.execute(_COMPARED, of_pulls)}
    queued = {number: json.loads(row.queued_pulls) for number, row in compared.items()}
    numbers = {"pr_numbers": list({*shots, *chain(*queued.values())})}
    found = _find_decided(connection, of_pulls | numbers)
    own: dict[int, dict[PairKey, Review]] = {}
    for (of, pair), decided in found.items():
        own.setdefault(of, {})[pair] = decided.review
    quarantined = frozenset(
        ShotKey(*row) for row in connection.execute(_QUARANTINED, of_pulls | {"now": now})
    )
    histories = find_histories(connection, project_id, compared, shots, now)
    return {
        number: ReviewFacts(
            own.get(number, {}),
            {pair: decided.review for (of, pair), decided in found.items() if of in queued.get(number, ())},
            quarantined,
            histories.get(number, {}),
            has_newer_commit=number in compared and bool(compared[number].is_outdated),
            approvals=_find_approvals(found, [*queued.get(number, ()), number]),
        )
        for number in shots
    }


@dataclass(frozen=True, slots=True)
class _Decided:
    """The newest review of a pair, and who approved which of its boxes."""

    review: Review
    approvals: PartApprovals


_DecidedPairs = Mapping[tuple[int, PairKey], _Decided]
"""By the pull request's number and the pair, in the order of the reviews."""


def _find_decided(connection: sa.Connection, parameters: Mapping[str, Any]) -> _DecidedPairs:
    newest = {(row.pr_number, PairKey(*row[1:6])): row for row in connection.execute(_DECISIONS, parameters)}
    parts: dict[tuple[int, PairKey], list[PartDecision]] = {}
    for row in connection.execute(_PART_DECISIONS, parameters):
        is_approved = row.decision == Decision.APPROVED
        part = PartDecision(row.seq, is_approved, _decode(row.boxes), row.by)
        parts.setdefault((row.pr_number, PairKey(*row[1:6])), []).append(part)
    return {
        key: _combine(newest.get(key), parts.get(key, ()))
        for key in [*newest, *(key for key in parts if key not in newest)]
    }


def _combine(newest: Any, parts: Sequence[PartDecision]) -> _Decided:  # noqa: ANN401 - a row of the table
    review = _read_review(newest) if newest else _UNDECIDED
    seq, is_whole = (newest.seq, newest.boxes is None) if newest else (0, True)
    approvals = find_approvals(review, seq, parts, is_whole=is_whole)
    return _Decided(_UNDECIDED if approvals.withdrawn else review, approvals)


def _find_approvals(found: _DecidedPairs, pulls: Collection[int]) -> dict[PairKey, PartApprovals]:
    """Return who approved parts of pairs in these pull requests. A later one replaces an earlier one."""
    approvals = {
        pair: decided.approvals for number in pulls for (of, pair), decided in found.items() if of == number
    }
    return {pair: given for pair, given in approvals.items() if given.by_box or given.withdrawn}


class _CheckedParts(NamedTuple):
    """The boxes of the pairs that a decision is about in part, and the pairs that it completes."""

    parts: Mapping[PairKey, Boxes]
    completed: Collection[PairKey]


def _check_parts(
    connection: sa.Connection, decision: NewDecision, of_pull: Mapping[str, Any]
) -> _CheckedParts | None:
    """Return which pairs are decided in part, or None if one of the boxes is no longer there.

    All boxes of a pair are the whole pair, and a rejection is always about the whole pair.
    """
    parts, completed = dict[PairKey, Boxes](), set[PairKey]()
    if not decision.parts:
        return _CheckedParts(parts, completed)
    number = of_pull["pr_number"]
    decided = _find_decided(connection, {**of_pull, "pr_numbers": [number]})
    for some in in_batches(sorted(decision.parts)):
        for *key, difference in connection.execute(_DIFFERENCES, {**of_pull, "pairs": some}):
            pair, current = PairKey(*key), _current_boxes(difference)
            boxes = decision.parts[pair]
            if not boxes <= current or (current and not boxes):
                return None
            if boxes == current or decision.decision is Decision.REJECTED:
                continue
            parts[pair] = boxes
            known = decided.get((number, pair))
            approvals = known.approvals if known else NO_APPROVALS
            if decision.decision is Decision.APPROVED and approvals.cover(current - boxes):
                completed.add(pair)
    return _CheckedParts(parts, completed)


def _current_boxes(difference: str) -> Boxes:
    pieces = decode_difference(json.loads(difference))["pieces"] if difference else ()
    return boxes_of(regions_of(pieces), gone_of(pieces))


def _list_boxes(boxes: Boxes | None) -> dict[str, list[Region]]:
    """Return the boxes as the API has them, or nothing for a whole pair."""
    if boxes is None:
        return {}
    ordered = sorted(boxes)
    regions, gone = ([box.region for box in ordered if box.is_gone is side] for side in (False, True))
    return {"regions": regions, "gone": gone}


def _encode(boxes: Boxes | None) -> str | None:
    return None if boxes is None else json.dumps(_list_boxes(boxes), separators=(",", ":"))


def _decode(text: str) -> Boxes:
    sides = json.loads(text)
    return boxes_of(*(map(tuple, sides[side]) for side in ("regions", "gone")))


def _told(
    decision: NewDecision, pairs: Sequence[PairKey], parts: Mapping[PairKey, Boxes]
) -> dict[str, object]:
    """Return what webhooks send about a decision. A group may have too many shots to name them all."""
    named = [
        pair.shot._asdict() | ({"in_part": True} if pair in parts else {}) for pair in pairs[:NAMED_SHOTS]
    ]
    about = {"decision": decision.decision.value, "by": decision.by, "note": decision.note}
    return {**about, "screenshots": len(pairs), "shots": named}


def _read_review(row: Any) -> Review:  # noqa: ANN401 - a row of the table
    if row.decision == Decision.WITHDRAWN:
        return Review(ReviewState.OPEN)
    pin = None if row.pin_x is None else Pin(row.pin_x, row.pin_y)
    return Review(ReviewState(row.decision), row.by, row.at, row.note, pin)
