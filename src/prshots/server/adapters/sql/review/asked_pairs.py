"""The pairs that a pull request has asked people about, and the decision that came before each."""

import hashlib
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.database.schema import (
    compared_shots,
    decisions,
    projects,
    quarantines,
)
from prshots.server.adapters.sql.review.histories import find_histories
from prshots.server.domain.comparison.models import PairKey
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.models import Decision
from prshots.server.domain.review.rules import is_seen_before

_VERDICTS = sa.select(projects.c.review_verdicts).where(projects.c.id == sa.bindparam("project_id"))
_is_quarantined = sa.exists().where(
    *(quarantines.c[name] == compared_shots.c[name] for name in ("project_id", *ShotKey._fields)),
    quarantines.c.until > sa.bindparam("now"),
)
_PAIRS = sa.select(*(compared_shots.c[name] for name in PairKey._fields)).where(
    *given(compared_shots, "project_id", "pr_number", "commit_sha"),
    compared_shots.c.verdict.in_(sa.bindparam("verdicts", expanding=True)),
    compared_shots.c.ancestor == 1,
    ~_is_quarantined,
)
_of_pair = [decisions.c[name] for name in PairKey._fields]
_by_people = (
    sa.select(decisions.c.seq, decisions.c.decision)
    .add_columns(sa.func.max(decisions.c.seq).over(partition_by=_of_pair).label("newest"))
    .where(*given(decisions, "project_id", "pr_number"), decisions.c.user_id != "")
    .subquery()
)
_NEWEST_DECISION = sa.select(sa.func.coalesce(sa.func.max(_by_people.c.seq), 0)).where(
    _by_people.c.seq == _by_people.c.newest, _by_people.c.decision != Decision.WITHDRAWN
)
_ASK = sa.text(
    "INSERT INTO asked_pairs (project_id, pr_number, pair, after_decision) "
    "VALUES (:project_id, :pr_number, :pair, :after_decision) ON CONFLICT DO NOTHING"
)


def note_asked(connection: sa.Connection, comparison: Any, now: int) -> None:  # noqa: ANN401 - a row
    """Remember the pairs of a finished comparison that need a decision, unless they were asked before.

    Stores each with the newest decision by a person that wasn't withdrawn.
    """
    of_pull = {"project_id": comparison.project_id, "pr_number": comparison.pr_number}
    verdicts = connection.execute(_VERDICTS, of_pull).scalar() or ""
    asked = {**of_pull, "commit_sha": comparison.commit_sha, "verdicts": verdicts.split(","), "now": now}
    found = [PairKey(*pair) for pair in connection.execute(_PAIRS, asked)]
    number, shots = comparison.pr_number, {pair.shot for pair in found}
    histories = find_histories(connection, comparison.project_id, {number: comparison}, {number: shots}, now)
    if unseen := [pair for pair in found if not is_seen_before(pair, histories[number])]:
        newest = connection.execute(_NEWEST_DECISION, of_pull).scalar_one()
        rows = [{**of_pull, "pair": _hash(pair), "after_decision": newest} for pair in sorted(unseen)]
        connection.execute(_ASK, rows)


def _hash(pair: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(pair).encode()).hexdigest()
