"""The quotas of organizations and projects, and what they have stored."""

from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.schema import organizations, project_totals, projects
from prshots.server.adapters.sql.storage.quota_check import STORED, note_crossing, stored_in
from prshots.server.domain.audit.models import Action
from prshots.server.domain.storage.models import Limit, QuotaHolder, Scope

_TABLES: dict[Scope, sa.Table] = {"organization": organizations, "project": projects}
_WITH_TOTALS = projects.outerjoin(project_totals, project_totals.c.project_id == projects.c.id)
_SUMS = [sa.func.coalesce(sa.func.sum(project_totals.c[name]), 0).label(name) for name in ("images", "bytes")]


class SqlQuotas:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def stored(self, limit: Limit) -> int:
        return int((await self._database.rows(STORED[limit.of], id=limit.id))[0][0])

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
