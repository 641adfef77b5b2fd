"""The causes to send something to a project's forge, recorded in the transactions that make them."""

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import equal
from prshots.server.adapters.sql.database.schema import outbox

_MARK = sa.text(
    "INSERT INTO outbox (project_id, pr_number, kind, target, version, due_at, first_due_at) "
    "SELECT project_id, :pr_number, :kind, '', 1, :due_at, :now FROM connections "
    "WHERE project_id = :project_id "
    "ON CONFLICT (project_id, pr_number, kind, target) DO UPDATE SET version = outbox.version + 1, "
    "first_due_at = CASE WHEN outbox.due_at IS NULL OR outbox.attempts > 0 THEN excluded.first_due_at "
    "ELSE outbox.first_due_at END, due_at = excluded.due_at, attempts = 0"
)
_SEND_AGAIN = sa.text(
    "UPDATE outbox SET version = version + 1, due_at = :now, first_due_at = :now, attempts = 0, sent = '' "
    "WHERE project_id = :project_id AND (due_at IS NOT NULL OR error <> '')"
)
_FORGET_SENT = sa.text("UPDATE outbox SET sent = '' WHERE project_id = :project_id AND sent <> ''")

JOB_SECONDS = 30
"""How long the comment waits after a comparison: the job that asked for it usually posts the comment."""


def mark_due(
    connection: sa.Connection, project_id: str, pr_number: int, now: int, *, comment_in: int = 0
) -> None:
    """Record that the pull request's status and comment may have changed, if the project has a connection.

    Call this in the transaction that changes them.
    """
    given = {"project_id": project_id, "pr_number": pr_number, "now": now}
    due = {"comment": now + comment_in, "status": now}
    connection.execute(_MARK, [given | {"kind": kind, "due_at": due_at} for kind, due_at in due.items()])


def send_again(connection: sa.Connection, project_id: str, now: int) -> None:
    """Try everything that waits or failed again, because the project's connection has changed.

    The new connection may lead to another repository, so nothing counts as sent.
    """
    of_project = {"project_id": project_id}
    connection.execute(_SEND_AGAIN, of_project | {"now": now})
    connection.execute(_FORGET_SENT, of_project)


def discard_all(connection: sa.Connection, project_id: str) -> None:
    """Drop what waits and what failed, because the project no longer has a connection."""
    connection.execute(sa.delete(outbox).where(*equal(outbox, project_id=project_id)))
