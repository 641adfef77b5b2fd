"""Records what is due to be sent to forges and webhooks, in the transactions that cause it."""

import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.database.schema import comparisons, pulls, webhook_deliveries
from prshots.server.adapters.sql.review.participants import CONNECTED_SIBLINGS
from prshots.server.domain.webhooks.models import Event, Webhook

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

_RECEIVERS = sa.text(
    "SELECT id, organization_id, events FROM webhooks WHERE disabled_at IS NULL AND organization_id = "
    "COALESCE((SELECT organization_id FROM projects WHERE id = :project_id), :organization_id) "
    "AND project_id IN ('', :project_id)"
)
_ADD_MESSAGES = sa.insert(webhook_deliveries)

Cause = Mapping[str, object]

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


def note_event(
    connection: sa.Connection,
    event: Event,
    *,
    organization_id: str = "",
    project_id: str = "",
    pr_number: int = 0,
    cause: Cause | Callable[[], Cause] = dict,
) -> None:
    """Record an event for every webhook that sends it. Call this in the transaction of its cause.

    An event of a project also goes to webhooks of its organization. `cause` becomes part of the message. A
    function is called only if there is a webhook.
    """
    place = {"organization_id": organization_id, "project_id": project_id}
    receivers = [row for row in connection.execute(_RECEIVERS, place) if event in row.events.split(",")]
    if receivers:
        told = json.dumps(cause() if callable(cause) else cause)
        rows = [_message(each, event, project_id, pr_number, told) for each in receivers]
        connection.execute(_ADD_MESSAGES, rows)


def note_test(connection: sa.Connection, webhook: Webhook) -> None:
    """Record a test message of this webhook alone."""
    connection.execute(_ADD_MESSAGES, _message(webhook, Event.TEST, webhook.project_id, 0, "{}"))


def _message(webhook: Any, event: Event, project_id: str, pr_number: int, cause: str) -> dict[str, object]:  # noqa: ANN401 - or a row
    now = int(time.time())
    return {
        "id": f"msg_{secrets.token_hex(16)}",
        "webhook_id": webhook.id,
        "organization_id": webhook.organization_id,
        "project_id": project_id,
        "pr_number": pr_number,
        "event": event.value,
        "cause": cause,
        "created_at": now,
        "due_at": now,
        "first_due_at": now,
    }
