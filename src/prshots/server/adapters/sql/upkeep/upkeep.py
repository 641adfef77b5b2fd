"""Queries over the whole database for the sweep and `prshots check`."""

import time
from collections.abc import Collection

from sqlalchemy import Connection, func, select

from prshots.server.adapters.sql.columns import ACTIVE, IMAGE
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.free_pages import (
    CHECKPOINT,
    is_small_enough_to_rewrite,
    reclaim_some,
    rewrite,
)
from prshots.server.adapters.sql.database.schema import images, installation, project_totals
from prshots.server.adapters.sql.images.due import count_due, overdue_in, projects_with_due
from prshots.server.adapters.sql.upkeep.inspection import server_time
from prshots.server.adapters.sql.upkeep.wrong_totals import recompute, wrong_days, wrong_projects, wrong_pulls
from prshots.server.domain.images.models import Image
from prshots.server.domain.upkeep.ports import WrongTotal

_STORED = select(
    func.coalesce(func.sum(project_totals.c.images), 0), func.coalesce(func.sum(project_totals.c.bytes), 0)
)


class SqlUpkeep:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def installation_id(self) -> str:
        query = select(installation.c.id)
        return await self._database.value(query)

    async def time(self) -> float | None:
        return await self._database.read(server_time)

    async def stored(self) -> tuple[int, int]:
        number, size = await self._database.first(_STORED)
        return number, size

    async def count_overdue(self, since: int, most: int) -> int:
        def count(connection: Connection) -> int:
            overdue = 0
            for project_id, policy, retain_days in projects_with_due(connection, since):
                for rule in overdue_in(policy, retain_days, since):
                    if overdue < most:
                        overdue += count_due(connection, project_id, rule, most - overdue)
            return overdue

        return await self._database.read(count)

    async def images_by_id(self, after: str, until: str, limit: int) -> list[Image]:
        query = select(*IMAGE).where(images.c.id > after, images.c.id <= until)
        page = query.order_by(images.c.id).limit(limit)
        return [Image(*row) for row in await self._database.rows(page)]

    async def active_ids(self, image_ids: Collection[str]) -> set[str]:
        query = select(images.c.id).where(images.c.id.in_(image_ids), ACTIVE)
        return {row.id for row in await self._database.rows(query)}

    async def wrong_pulls(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        return await self._database.read(lambda connection: wrong_pulls(connection, project_id, after))

    async def wrong_days(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        return await self._database.read(lambda connection: wrong_days(connection, project_id, after))

    async def wrong_projects(self) -> list[WrongTotal]:
        return await self._database.read(wrong_projects)

    async def recompute(self, wrong: WrongTotal) -> None:
        await self._database.write(lambda connection: recompute(connection, wrong))

    async def reclaim_space(self, seconds: float) -> int:
        if await self._database.read(is_small_enough_to_rewrite):
            await self._database.read(rewrite)  # an older version created the file, which can't shrink yet
        given, until = 0, time.monotonic() + seconds
        while some := await self._database.write(reclaim_some):
            given += some
            if time.monotonic() > until:
                break
        if given:  # the checkpoint shrinks the file
            await self._database.read(lambda connection: connection.exec_driver_sql(CHECKPOINT).all())
        return given
