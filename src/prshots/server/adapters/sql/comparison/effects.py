"""What the state of a comparison causes, in the transaction that records it."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.comparison.newest import COMMIT, NEWEST
from prshots.server.adapters.sql.database.schema import compared_shots
from prshots.server.adapters.sql.outbox.causes import JOB_SECONDS, mark_due
from prshots.server.adapters.sql.outbox.webhook_causes import note_event
from prshots.server.adapters.sql.review.asked_pairs import note_asked
from prshots.server.adapters.sql.review.quarantines import count_quarantined
from prshots.server.domain.webhooks.models import Event

_VERDICTS = (
    sa.select(compared_shots.c.verdict, sa.func.count().label("count"))
    .where(*given(compared_shots, *COMMIT), compared_shots.c.verdict.is_not(None))
    .group_by(compared_shots.c.verdict)
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
            note_asked(connection, newest, now)
        count_quarantined(connection, key, now)
        note_event(connection, Event.COMPARED, **place, cause=lambda: _told(connection, key, state))
    mark_due(connection, **place, now=now, comment_in=JOB_SECONDS, has_gate=not is_running)


def _told(connection: sa.Connection, key: Mapping[str, object], state: ComparisonState) -> dict[str, object]:
    """Return what webhooks send about a comparison."""
    counts = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    counts |= {row.verdict: row.count for row in connection.execute(_VERDICTS, key)}
    return {"commit_sha": key["commit_sha"], "state": state.value, "screenshots": counts}
