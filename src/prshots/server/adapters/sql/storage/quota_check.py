"""Keeps uploads within quotas, in the transactions that add them."""

from collections.abc import Collection

from sqlalchemy import Connection, text

from prshots.contract.errors import QUOTA_REACHED, QuotaReachedError
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_organizations
from prshots.server.domain.storage.models import Limits

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


def require_within(connection: Connection, limits: Collection[Limits]) -> None:
    """Raise QuotaReachedError if a project or organization exceeds its quota. Call this after counting."""
    for each in limits:
        if each.of_project:
            _require(stored_in(connection, OF_PROJECT, project_id=each.project_id), each.of_project)
    for organization_id, limit in {each.organization_id: each.of_organization for each in limits}.items():
        if limit:
            _require(stored_in(connection, OF_ORGANIZATION, organization_id=organization_id), limit)


def stored_in(connection: Connection, query: Prepared, **given: str) -> int:
    return int(query.rows(connection, given)[0][0])


def _require(used: int, limit: int) -> None:
    if used > limit:
        raise QuotaReachedError(QUOTA_REACHED)
