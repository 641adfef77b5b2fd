"""Records the events that webhooks send, in the transactions that cause them."""

import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.database.schema import webhook_deliveries
from prshots.server.domain.webhooks.models import Event, Webhook

_RECEIVERS = sa.text(
    "SELECT id, organization_id, events FROM webhooks WHERE disabled_at IS NULL AND organization_id = "
    "COALESCE((SELECT organization_id FROM projects WHERE id = :project_id), :organization_id) "
    "AND project_id IN ('', :project_id)"
)
_ADD = sa.insert(webhook_deliveries)

Cause = Mapping[str, object]


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
        rows = [_row(each, event, project_id, pr_number, told) for each in receivers]
        connection.execute(_ADD, rows)


def note_test(connection: sa.Connection, webhook: Webhook) -> None:
    """Record a test message of this webhook alone."""
    connection.execute(_ADD, _row(webhook, Event.TEST, webhook.project_id, 0, "{}"))


def _row(webhook: Any, event: Event, project_id: str, pr_number: int, cause: str) -> dict[str, object]:  # noqa: ANN401 - or a row
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
