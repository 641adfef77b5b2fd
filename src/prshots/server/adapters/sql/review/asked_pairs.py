"""The pairs that a pull request has asked people about, and the decision that came before each."""

import hashlib
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from prshots.contract.replies import ComparisonState, ReviewState, Verdict
from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.comparison.newest import DIFFERS
from prshots.server.adapters.sql.database.schema import compared_shots, decisions, projects
from prshots.server.adapters.sql.review.decisions import find_facts
from prshots.server.domain.comparison.models import ComparedPair, PairKey
from prshots.server.domain.review.models import Decision
from prshots.server.domain.review.rules import review_pairs

_VERDICTS = sa.select(projects.c.review_verdicts).where(projects.c.id == sa.bindparam("project_id"))
_PAIRS = sa.select(*(compared_shots.c[name] for name in (*PairKey._fields, "verdict"))).where(
    *given(compared_shots, "project_id", "pr_number", "commit_sha"), DIFFERS
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
    needed = connection.execute(_VERDICTS, of_pull).scalar() or ""
    rows = connection.execute(_PAIRS, {**of_pull, "commit_sha": comparison.commit_sha})
    pairs = [ComparedPair(PairKey(*key), Verdict(verdict)) for *key, verdict in rows if verdict]
    shots = {comparison.pr_number: [pair.key.shot for pair in pairs]}
    facts = find_facts(connection, comparison.project_id, shots, now)[comparison.pr_number]
    reviewed = review_pairs(ComparisonState(comparison.state), pairs, needed.split(","), facts)
    asked = [pair.key for pair in pairs if reviewed.reviews[pair.key.shot].state is ReviewState.OPEN]
    if asked:
        newest = connection.execute(_NEWEST_DECISION, of_pull).scalar_one()
        rows_to_add = [{**of_pull, "pair": _hash(pair), "after_decision": newest} for pair in sorted(asked)]
        connection.execute(_ASK, rows_to_add)


def _hash(pair: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(pair).encode()).hexdigest()
