"""The quotas of organizations and projects. Uploads stay within them, in the transactions that add images."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import QUOTA_REACHED, QuotaReachedError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_organizations
from prshots.server.adapters.sql.database.schema import organizations, project_totals, projects
from prshots.server.adapters.sql.outbox.causes import note_event
from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import Image
from prshots.server.domain.storage.models import Limit, Limits, QuotaHolder, Scope, is_nearly_full
from prshots.server.domain.webhooks.models import Event

_TABLES: dict[Scope, sa.Table] = {"organization": organizations, "project": projects}
_WITH_TOTALS = projects.outerjoin(project_totals, project_totals.c.project_id == projects.c.id)
_SUMS = [sa.func.coalesce(sa.func.sum(project_totals.c[name]), 0).label(name) for name in ("images", "bytes")]
_STORED: dict[Scope, Prepared] = {
    "project": Prepared(sa.text("SELECT coalesce(sum(bytes), 0) FROM project_totals WHERE project_id = :id")),
    "organization": Prepared(
        sa.text(
            "SELECT coalesce(sum(bytes), 0) FROM project_totals "
            "WHERE project_id IN (SELECT id FROM projects WHERE organization_id = :id)"
        )
    ),
}


class SqlQuotas:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def stored(self, limit: Limit) -> int:
        return int((await self._database.rows(_STORED[limit.of], id=limit.id))[0][0])

    async def total(self, organization_id: str) -> tuple[int, int]:
        mine = projects.c.organization_id == organization_id
        number, size = await self._database.first(sa.select(*_SUMS).select_from(_WITH_TOTALS).where(mine))
        return number, size

    async def organizations(self, after: tuple[int, str] | None, limit: int) -> list[QuotaHolder]:
        return await self._holders(organizations, organizations.outerjoin(_WITH_TOTALS), after, limit)

    async def projects(
        self, organization_id: str, after: tuple[int, str] | None, limit: int
    ) -> list[QuotaHolder]:
        mine = projects.c.organization_id == organization_id
        return await self._holders(projects, _WITH_TOTALS, after, limit, mine)

    async def _holders(
        self,
        table: sa.Table,
        joined: sa.FromClause,
        after: tuple[int, str] | None,
        limit: int,
        *where: sa.ColumnElement[bool],
    ) -> list[QuotaHolder]:
        columns = (table.c.id, table.c.name, *_SUMS, table.c.quota_bytes)
        found = sa.select(*columns).select_from(joined).where(*where).group_by(table.c.id).subquery()
        largest = sa.select(found).order_by(found.c.bytes.desc(), found.c.id.desc()).limit(limit)
        if after is not None:
            largest = largest.where(sa.tuple_(found.c.bytes, found.c.id) < sa.tuple_(*after))
        return [QuotaHolder(*row) for row in await self._database.rows(largest)]

    async def set_quota(self, of: Scope, holder_id: str, quota_bytes: int | None, default: int = 0) -> bool:
        table = _TABLES[of]
        this = table.c.id == holder_id
        # Uploads with the quota that was valid before come first, or see the new one.
        before = sa.select(table.c.name, table.c.quota_bytes).where(this).with_for_update(key_share=True)
        setting = sa.update(table).where(this).values(quota_bytes=quota_bytes)

        def change(connection: sa.Connection) -> bool:
            found: Any = connection.execute(before).first()
            if found is None or found.quota_bytes == quota_bytes:
                return found is not None
            connection.execute(setting)
            holder: dict[str, Any] = {f"{of}_id": holder_id}
            details = {"from": found.quota_bytes, "to": quota_bytes}
            record(connection, Action.QUOTA_CHANGED, **holder, target=found.name, details=details)
            stored = stored_in(connection, of, holder_id)
            limits = (default if each is None else each for each in (found.quota_bytes, quota_bytes))
            old, new = ((stored, limit) for limit in limits)
            note_crossing(connection, of, holder_id, old, new)
            return True

        return await self._database.write(change)


def lock_limited(connection: sa.Connection, limits: Mapping[str, Limits]) -> None:
    """Lock the organizations that have a quota. Call this before any other lock.

    A project's quota needs no lock: its uploads already wait for each other at the project's total.
    """
    known = {limit for of_project in limits.values() for limit in of_project}
    if organization_ids := {limit.id for limit in known if limit.of == "organization"}:
        lock_organizations(connection, organization_ids)


def require_within(connection: sa.Connection, arrived: Sequence[Image], limits: Mapping[str, Limits]) -> None:
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
    connection: sa.Connection, of: Scope, holder_id: str, before: tuple[int, int], after: tuple[int, int]
) -> None:
    """Cause the event `quota` if 80 % are used now. `before` and `after` are stored bytes and their limit."""
    if is_nearly_full(*after) and not is_nearly_full(*before):
        holder: dict[str, Any] = {f"{of}_id": holder_id}
        cause = {"limit_bytes": after[1], "stored_bytes": after[0]}
        note_event(connection, Event.QUOTA, **holder, cause=cause)


def stored_in(connection: sa.Connection, of: Scope, holder_id: str) -> int:
    return int(_STORED[of].rows(connection, {"id": holder_id})[0][0])
