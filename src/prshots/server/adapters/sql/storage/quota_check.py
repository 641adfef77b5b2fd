"""Keeps uploads within quotas, in the transactions that add them."""

from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, text

from prshots.contract.errors import QUOTA_REACHED, QuotaReachedError
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_organizations
from prshots.server.adapters.sql.outbox.webhook_causes import note_event
from prshots.server.domain.images.models import Image
from prshots.server.domain.storage.models import Limits, is_nearly_full
from prshots.server.domain.webhooks.models import Event

OF_PROJECT = Prepared(
    text("SELECT coalesce(sum(bytes), 0) FROM project_totals WHERE project_id = :project_id")
)
OF_ORGANIZATION = Prepared(
    text(
        "SELECT coalesce(sum(bytes), 0) FROM project_totals "
        "WHERE project_id IN (SELECT id FROM projects WHERE organization_id = :organization_id)"
    )
)


def lock_limited(connection: Connection, limits: Collection[Limits]) -> None:
    """Lock the organizations that have a quota. Call this before any other lock.

    A project's quota needs no lock: its uploads already wait for each other at the project's total.
    """
    if limited := {each.organization_id for each in limits if each.of_organization}:
        lock_organizations(connection, limited)


def require_within(connection: Connection, arrived: Sequence[Image], limits: Collection[Limits]) -> None:
    """Raise QuotaReachedError if a project or organization exceeds its quota. Call this after counting.

    Otherwise note each quota that these images bring to 80 %.
    """
    organizations = {each.project_id: each.organization_id for each in limits}
    added: Counter[str] = Counter()
    for image in arrived:
        added[image.project_id] += image.size
        added[organizations.get(image.project_id, "")] += image.size
    for project_id, limit in {(each.project_id, each.of_project) for each in limits}:
        if limit:
            used = stored_in(connection, OF_PROJECT, project_id=project_id)
            _require(used, limit)
            note_crossing(connection, (used - added[project_id], limit), (used, limit), project_id=project_id)
    for organization_id, limit in {(each.organization_id, each.of_organization) for each in limits}:
        if limit:
            used = stored_in(connection, OF_ORGANIZATION, organization_id=organization_id)
            _require(used, limit)
            before = used - added[organization_id]
            note_crossing(connection, (before, limit), (used, limit), organization_id=organization_id)


def note_crossing(
    connection: Connection,
    before: tuple[int, int],
    after: tuple[int, int],
    *,
    organization_id: str = "",
    project_id: str = "",
) -> None:
    """Cause the event `quota` if 80 % are used now. `before` and `after` are stored bytes and their limit."""
    if is_nearly_full(*after) and not is_nearly_full(*before):
        cause = {"limit_bytes": after[1], "stored_bytes": after[0]}
        note_event(
            connection, Event.QUOTA, organization_id=organization_id, project_id=project_id, cause=cause
        )


def stored_in(connection: Connection, query: Prepared, **given: str) -> int:
    return int(query.rows(connection, given)[0][0])


def _require(used: int, limit: int) -> None:
    if used > limit:
        raise QuotaReachedError(QUOTA_REACHED)
