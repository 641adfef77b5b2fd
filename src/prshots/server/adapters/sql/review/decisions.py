"""Decisions about pairs, and the facts that the gate follows from."""

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import sqlalchemy as sa

from prshots.contract.replies import Pin, Review, ReviewState
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import ACTIVE, equal, given, project_from
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
from prshots.server.domain.comparison.models import PairKey
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import Decision, NewDecision, ReviewFacts
from prshots.server.domain.webhooks.models import Event

_NEWEST_COMMIT = NEWEST.with_only_columns(comparisons.c.commit_sha)
_CURRENT = sa.select(*(compared_shots.c[name] for name in PairKey._fields)).where(
    *given(compared_shots, "project_id", "pr_number"),
    compared_shots.c.commit_sha == _NEWEST_COMMIT.scalar_subquery(),
    compared_shots.c.verdict.is_not(None),
)
_DECISION = ("pr_number", *PairKey._fields, "decision", "by", "at", "note", "pin_x", "pin_y")
_DECISIONS = (
    sa.select(*(decisions.c[name] for name in _DECISION))
    .where(*given(decisions, "project_id"), decisions.c.is_newest)
    .where(decisions.c.pr_number.in_(sa.bindparam("pr_numbers", expanding=True)))
    .order_by(decisions.c.seq)
)
_QUARANTINED = sa.select(*(quarantines.c[name] for name in ShotKey._fields)).where(
    *given(quarantines, "project_id"), quarantines.c.until > sa.bindparam("now")
)

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
            "is_newest": True,
        }

        def write(connection: sa.Connection) -> bool:
            lock_pull(connection, project_id, pr_number)
            if not decision.pairs <= {PairKey(*pair) for pair in connection.execute(_CURRENT, of_pull)}:
                return False
            pairs = sorted(decision.pairs)
            replaced = (*equal(decisions, **of_pull), decisions.c.is_newest, _PAIR.in_(pairs))
            connection.execute(sa.update(decisions).where(*replaced).values(is_newest=False))
            connection.execute(sa.insert(decisions), [row | pair._asdict() for pair in pairs])
            note_event(connection, Event.DECIDED, **of_pull, cause=lambda: _told(decision, pairs))
            mark_due(connection, project_id, pr_number, now)
            commit_sha = connection.execute(_NEWEST_COMMIT, of_pull).scalar()
            names = sorted({pair.name for pair in pairs})[:MAX_NAMED]
            about = {"decision": decision.decision, "commit_sha": commit_sha, "pairs": len(pairs)}
            details = {**about, "names": names, "note": decision.note}
            shots = [pair._asdict() for pair in pairs]
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
    rows = connection.execute(_DECISIONS, of_pulls | numbers)
    decided = [(row.pr_number, PairKey(*row[1:6]), _read_review(row)) for row in rows]
    own: dict[int, dict[PairKey, Review]] = {}
    for of, pair, review in decided:
        own.setdefault(of, {})[pair] = review
    quarantined = frozenset(
        ShotKey(*row) for row in connection.execute(_QUARANTINED, of_pulls | {"now": now})
    )
    histories = find_histories(connection, project_id, compared, shots, now)
    return {
        number: ReviewFacts(
            own.get(number, {}),
            {pair: review for of, pair, review in decided if of in queued.get(number, ())},
            quarantined,
            histories.get(number, {}),
            has_newer_commit=number in compared and bool(compared[number].is_outdated),
        )
        for number in shots
    }


def _told(decision: NewDecision, pairs: Sequence[PairKey]) -> dict[str, object]:
    """Return what webhooks send about a decision. A group may have too many shots to name them all."""
    named = [{"name": pair.name, "viewport": pair.viewport, "theme": pair.theme} for pair in pairs]
    about = {"decision": decision.decision.value, "by": decision.by, "note": decision.note}
    return {**about, "screenshots": len(pairs), "shots": named[:NAMED_SHOTS]}


def _read_review(row: Any) -> Review:  # noqa: ANN401 - a row of the table
    if row.decision == Decision.WITHDRAWN:
        return Review(ReviewState.OPEN)
    pin = None if row.pin_x is None else Pin(row.pin_x, row.pin_y)
    return Review(ReviewState(row.decision), row.by, row.at, row.note, pin)
