"""What waits to be sent to a project's forge."""

import sqlalchemy as sa

_MARK = sa.text(
    "INSERT INTO outbox (project_id, pr_number, kind, target, version, due_at, first_due_at) "
    "SELECT project_id, :pr_number, :kind, '', 1, :now, :now FROM connections "
    "WHERE project_id = :project_id "
    "ON CONFLICT (project_id, pr_number, kind, target) DO UPDATE SET version = outbox.version + 1, "
    "first_due_at = CASE WHEN outbox.due_at IS NULL THEN excluded.due_at ELSE outbox.first_due_at END, "
    "due_at = excluded.due_at, attempts = 0"
)
KINDS = ("comment", "status")


def mark_due(connection: sa.Connection, project_id: str, pr_number: int, now: int) -> None:
    """Record that the pull request's status and comment may have changed, if the project has a connection.

    Call this in the transaction that changes them.
    """
    given = {"project_id": project_id, "pr_number": pr_number, "now": now}
    connection.execute(_MARK, [given | {"kind": kind} for kind in KINDS])
