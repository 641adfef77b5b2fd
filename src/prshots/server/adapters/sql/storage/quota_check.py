"""Keeps uploads within quotas, in the transactions that add them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from prshots.contract.errors import QUOTA_REACHED, QuotaReachedError
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_organizations
from prshots.server.adapters.sql.outbox.causes import note_event
from prshots.server.domain.images.models import Image
from prshots.server.domain.storage.models import Limit, Limits, Scope, is_nearly_full
from prshots.server.domain.webhooks.models import Event

STORED: dict[Scope, Prepared] = {
    "project": Prepared(text("SELECT coalesce(sum(bytes), 0) FROM project_totals WHERE project_id = :id")),
    "organization": Prepared(
        text(
            "SELECT coalesce(sum(bytes), 0) FROM project_totals "
            "WHERE project_id IN (SELECT id FROM projects WHERE organization_id = :id)"
        )
    ),
}


def lock_limited(connection: Connection, limits: Mapping[str, Limits]) -> None:
    """Lock the organizations that have a quota. Call this before any other lock.

    A project's quota needs no lock: its uploads already wait for each other at the project's total.
    """
    known = {limit for of_project in limits.values() for limit in of_project}
    if organization_ids := {limit.id for limit in known if limit.of == "organization"}:
        lock_organizations(connection, organization_ids)


def require_within(connection: Connection, arrived: Sequence[Image], limits: Mapping[str, Limits]) -> None:
    """Raise QuotaReachedError if a project or organization exceeds its quota. Call this after counting.

    Otherwise note each quota that these images bring to 80 %. The limits are by project.
    """
    added: Counter[Limit] = Counter()
    for image in arrived:
        for limit in limits.get(image.project_id, ()):
            added[limit] += image.size
    for limit, size in added.items():
        used = stored_in(connection, limit.of, limit.id)
        if used > limit.bytes:
            raise QuotaReachedError(QUOTA_REACHED)
        before, after = (used - size, limit.bytes), (used, limit.bytes)
        note_crossing(connection, limit.of, limit.id, before, after)


def note_crossing(
    connection: Connection, of: Scope, holder_id: str, before: tuple[int, int], after: tuple[int, int]
) -> None:
    """Cause the event `quota` if 80 % are used now. `before` and `after` are stored bytes and their limit."""
    if is_nearly_full(*after) and not is_nearly_full(*before):
        holder: dict[str, Any] = {f"{of}_id": holder_id}
        cause = {"limit_bytes": after[1], "stored_bytes": after[0]}
        note_event(connection, Event.QUOTA, **holder, cause=cause)


def stored_in(connection: Connection, of: Scope, holder_id: str) -> int:
    return int(STORED[of].rows(connection, {"id": holder_id})[0][0])
