"""What the store had each day, by project and kind of file."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.schema import images, installation, projects, usage_by_day
from prshots.server.domain.storage.models import Measured, UsageDay

_USAGE = usage_by_day.c
_OWNERS = sa.select(images.c.id, images.c.project_id, images.c.kind)
_SUMS = (
    sa.select(
        _USAGE.day,
        _USAGE.kind,
        sa.func.sum(_USAGE.files),
        sa.func.sum(_USAGE.bytes),
        sa.func.max(sa.cast(_USAGE.estimated, sa.Integer)),
    )
    .where(_USAGE.day >= sa.bindparam("since_day"))
    .group_by(_USAGE.day, _USAGE.kind)
    .order_by(_USAGE.day, _USAGE.kind)
)
_OF_PROJECT = _SUMS.where(_USAGE.project_id == sa.bindparam("owner_id"))
_IN_ORGANIZATION = sa.select(projects.c.id).where(projects.c.organization_id == sa.bindparam("owner_id"))
_OF_ORGANIZATION = _SUMS.where(_USAGE.project_id.in_(_IN_ORGANIZATION))


class SqlUsage:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def owners(self, image_ids: Collection[str]) -> dict[str, tuple[str, str]]:
        rows = await self._database.rows(_OWNERS.where(images.c.id.in_(image_ids)))
        return {image_id: (project_id, kind) for image_id, project_id, kind in rows}

    async def replace_day(self, day: int, measured: Sequence[Measured], *, is_estimated: bool) -> None:
        one_at_a_time = sa.select(installation.c.id).with_for_update(key_share=True)
        removing = sa.delete(usage_by_day).where(_USAGE.day == day)
        rows = [each._asdict() | {"day": day, "estimated": is_estimated} for each in measured]

        def replace(connection: sa.Connection) -> None:
            connection.execute(one_at_a_time)  # two sweeps may measure at the same time
            connection.execute(removing)
            existing = set(connection.execute(sa.select(projects.c.id)).scalars())
            if added := [row for row in rows if row["project_id"] in existing]:
                connection.execute(sa.insert(usage_by_day), added)

        await self._database.write(replace)

    async def discard_days(self, before: int) -> None:
        await self._database.execute(sa.delete(usage_by_day).where(_USAGE.day < before))

    async def of_project(self, project_id: str, since_day: int) -> list[UsageDay]:
        return await self._days(_OF_PROJECT, project_id, since_day)

    async def of_organization(self, organization_id: str, since_day: int) -> list[UsageDay]:
        return await self._days(_OF_ORGANIZATION, organization_id, since_day)

    async def _days(self, query: sa.Executable, owner_id: str, since_day: int) -> list[UsageDay]:
        kinds: dict[int, dict[str, tuple[int, int]]] = {}
        estimated: set[int] = set()
        for day, kind, files, size, is_estimated in await self._database.rows(
            query, owner_id=owner_id, since_day=since_day
        ):
            kinds.setdefault(day, {})[kind] = (files, size)
            if is_estimated:
                estimated.add(day)
        return [UsageDay(day, kinds[day], day in estimated) for day in kinds]
