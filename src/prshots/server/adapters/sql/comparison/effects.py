"""What the state of a comparison causes, in the transaction that records it."""

import hashlib
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from prshots.contract.replies import ComparisonState, ReviewState, Verdict
from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.comparison.newest import COMMIT, DIFFERS, NEWEST
from prshots.server.adapters.sql.database.schema import compared_shots, decisions, projects
from prshots.server.adapters.sql.outbox.causes import JOB_SECONDS, mark_due, note_event
from prshots.server.adapters.sql.review.decisions import find_facts
from prshots.server.domain.comparison.models import ComparedPair, PairKey
from prshots.server.domain.review.models import Decision
from prshots.server.domain.review.rules import review_pairs
from prshots.server.domain.webhooks.models import Event

_VERDICTS = (
    sa.select(compared_shots.c.verdict, sa.func.count().label("count"))
    .where(*given(compared_shots, *COMMIT), compared_shots.c.verdict.is_not(None))
    .group_by(compared_shots.c.verdict)
)
_NEEDED = sa.select(projects.c.review_verdicts).where(projects.c.id == sa.bindparam("project_id"))
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
# A commit counts once, however often it is compared.
_COUNT_QUARANTINED = sa.text(
    "INSERT INTO quarantined_commits (quarantine_id, pr_number, commit_sha, project_id, differed) "
    "SELECT quarantines.id, compared.pr_number, compared.commit_sha, compared.project_id, "
    "CASE WHEN compared.verdict = :unchanged THEN 0 ELSE 1 END FROM quarantines "
    "JOIN compared_shots AS compared ON compared.project_id = quarantines.project_id "
    "AND compared.name = quarantines.name AND compared.viewport = quarantines.viewport "
    "AND compared.theme = quarantines.theme "
    "WHERE quarantines.project_id = :project_id AND quarantines.until > :now "
    "AND compared.pr_number = :pr_number AND compared.commit_sha = :commit_sha "
    "AND compared.verdict <> :failed "
    "ON CONFLICT (quarantine_id, pr_number, commit_sha) DO UPDATE SET differed = excluded.differed"
)


def note_state(connection: sa.Connection, key: Mapping[str, Any], state: ComparisonState, now: int) -> None:
    """Record what a comparison's state causes: what it asks people, and what goes out.

    An old commit's job asks nothing, because nobody is shown its comparison.
    """
    place: dict[str, Any] = {"project_id": key["project_id"], "pr_number": key["pr_number"]}
    is_running = state is ComparisonState.RUNNING
    if not is_running:
        newest = connection.execute(NEWEST, key).first()
        if newest and newest.commit_sha == key["commit_sha"]:
            _note_asked(connection, newest, now)
        _count_quarantined(connection, key, now)
        note_event(connection, Event.COMPARED, **place, cause=lambda: _told(connection, key, state))
    mark_due(connection, **place, now=now, comment_in=JOB_SECONDS, has_gate=not is_running)


def _note_asked(connection: sa.Connection, comparison: Any, now: int) -> None:  # noqa: ANN401 - a row
    """Remember the pairs of a finished comparison that need a decision, unless they were asked before.

    Stores each with the newest decision by a person that wasn't withdrawn.
    """
    of_pull = {"project_id": comparison.project_id, "pr_number": comparison.pr_number}
    needed = connection.execute(_NEEDED, of_pull).scalar() or ""
    rows = connection.execute(_PAIRS, {**of_pull, "commit_sha": comparison.commit_sha})
    pairs = [ComparedPair(PairKey(*key), Verdict(verdict)) for *key, verdict in rows if verdict]
    shots = {comparison.pr_number: [pair.key.shot for pair in pairs]}
    facts = find_facts(connection, comparison.project_id, shots, now)[comparison.pr_number]
    reviewed = review_pairs(ComparisonState(comparison.state), pairs, needed.split(","), facts)
    asked = [pair.key for pair in pairs if reviewed.reviews[pair.key.shot].state is ReviewState.OPEN]
    if asked:
        newest = connection.execute(_NEWEST_DECISION, of_pull).scalar_one()
        hashes = (hashlib.sha256("\0".join(pair).encode()).hexdigest() for pair in sorted(asked))
        connection.execute(_ASK, [{**of_pull, "pair": pair, "after_decision": newest} for pair in hashes])


def _count_quarantined(connection: sa.Connection, comparison: Mapping[str, object], now: int) -> None:
    """Record for each quarantined shot whether it differs in this finished comparison, given by its key."""
    verdicts = {"unchanged": Verdict.UNCHANGED.value, "failed": Verdict.FAILED.value}
    connection.execute(_COUNT_QUARANTINED, {**comparison, **verdicts, "now": now})


def _told(connection: sa.Connection, key: Mapping[str, object], state: ComparisonState) -> dict[str, object]:
    """Return what webhooks send about a comparison."""
    counts = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    counts |= {row.verdict: row.count for row in connection.execute(_VERDICTS, key)}
    return {"commit_sha": key["commit_sha"], "state": state.value, "screenshots": counts}
