"""Marks what is due to be sent to a project's forge, in the transaction that causes it."""

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.database.schema import comparisons, pulls
from prshots.server.adapters.sql.outbox.webhook_causes import note_event
from prshots.server.adapters.sql.review.participants import CONNECTED_SIBLINGS
from prshots.server.domain.webhooks.models import Event

_MARK = sa.text(
    "INSERT INTO outbox (project_id, pr_number, kind, version, due_at, first_due_at) "
    "SELECT project_id, :pr_number, :kind, 1, :due_at, :now FROM connections "
    "WHERE project_id = :project_id "
    "ON CONFLICT (project_id, pr_number, kind) DO UPDATE SET version = outbox.version + 1, "
    "first_due_at = CASE WHEN outbox.due_at IS NULL OR outbox.attempts > 0 THEN excluded.first_due_at "
    "ELSE outbox.first_due_at END, due_at = excluded.due_at, attempts = 0"
)
_SEND_AGAIN = sa.text(
    "UPDATE outbox SET version = version + 1, sent = '', attempts = 0, first_due_at = :now, "
    "due_at = CASE WHEN error <> '' THEN :now ELSE due_at END WHERE project_id = :project_id"
)
_NEWEST_COMPARED = (
    sa.select(pulls.c.pr_number)
    .where(
        *given(pulls, "project_id"),
        pulls.c.closed_at.is_(None),
        pulls.c.pr_number.in_(sa.select(comparisons.c.pr_number).where(*given(comparisons, "project_id"))),
    )
    .order_by(pulls.c.pr_number.desc())
    .limit(sa.bindparam("limit"))
)

JOB_SECONDS = 30
"""How long the comment waits after a comparison: the job that asked for it usually posts the comment."""


def mark_due(
    connection: sa.Connection,
    project_id: str,
    pr_number: int,
    now: int,
    *,
    comment_in: int = 0,
    has_gate: bool = True,
) -> None:
    """Record that the pull request's status, comment and gate may have changed.

    The status and the comment wait only if the project has a connection, and the gate if it has a webhook and
    the pull request `has_gate`: not while a comparison is running, nor after its images were deleted.

    Call this in the transaction that changes them.
    """
    given = {"project_id": project_id, "pr_number": pr_number, "now": now}
    due = [(project_id, "comment", now + comment_in), (project_id, "status", now)]
    # Siblings also post the status of the pull request as a whole.
    due += [(each, "status", now) for each in connection.execute(CONNECTED_SIBLINGS, given).scalars()]
    marked = [given | {"project_id": each, "kind": kind, "due_at": at} for each, kind, at in sorted(due)]
    connection.execute(_MARK, marked)  # sorted, because siblings may do the same at the same time
    if has_gate:
        note_event(connection, Event.GATE, project_id=project_id, pr_number=pr_number)


def mark_newest_due(connection: sa.Connection, project_id: str, limit: int, now: int) -> None:
    """Record the same for the newest open pull requests that were compared. Sorted, as for quarantines."""
    of_project = {"project_id": project_id, "limit": limit}
    for pr_number in sorted(connection.execute(_NEWEST_COMPARED, of_project).scalars()):
        mark_due(connection, project_id, pr_number, now)


def send_again(connection: sa.Connection, project_id: str, now: int) -> None:
    """Make everything that failed due, because the project's connection has changed.

    The new connection may lead to another repository, so nothing counts as sent.
    """
    connection.execute(_SEND_AGAIN, {"project_id": project_id, "now": now})
