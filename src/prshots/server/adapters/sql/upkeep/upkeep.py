"""Queries over the whole database for the sweep and `prshots check`."""

import time
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select, text

from prshots.contract.limits import MAX_PR_NUMBER
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
from prshots.server.domain.images.models import SECONDS_PER_DAY, Image
from prshots.server.domain.upkeep.ports import Total, WrongTotal


class SqlUpkeep:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def installation_id(self) -> str:
        return await self._database.value(select(installation.c.id))

    async def time(self) -> float | None:
        return await self._database.read(_server_time)

    async def stored(self) -> tuple[int, int]:
        totals = (project_totals.c.images, project_totals.c.bytes)
        sums = select(*(func.coalesce(func.sum(column), 0) for column in totals))
        number, size = await self._database.first(sums)
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

    async def count_signed_with_others(self, kids: Collection[str]) -> dict[str, int]:
        """Count the images whose URLs are signed with keys other than these, by kid."""
        signed = select(images.c.kid, func.count()).where(images.c.kid.not_in(kids)).group_by(images.c.kid)
        return dict(await self._database.rows(signed))

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


def _server_time(connection: Connection) -> float | None:
    """Return the time by the server's clock, or None for SQLite, which uses ours."""
    if connection.dialect.name == "sqlite":
        return None
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


# Compare the stored totals with actual counts, and recompute wrong totals. A comparison is one statement, and
# every upload and expiry changes images and totals in one transaction. The comparison therefore never sees
# one without the other, even while the service runs.

PULLS_AT_ONCE = 200
DAYS_AT_ONCE = 7

_LAST_OF_PAGE = text(
    "SELECT pr_number FROM pulls WHERE project_id = :project_id AND pr_number > :after "
    "ORDER BY pr_number LIMIT 1 OFFSET :more"
)
_WRONG_PULLS = text(
    "SELECT pr_number, sum(stored_images), sum(stored_bytes), sum(counted_images), sum(counted_bytes) FROM ("
    "SELECT pr_number, 0 AS stored_images, 0 AS stored_bytes, "
    "CASE WHEN kind = 'before' THEN 0 ELSE 1 END AS counted_images, size AS counted_bytes "
    "FROM images WHERE project_id = :project_id AND pr_number > :after AND pr_number <= :until UNION ALL "
    "SELECT pr_number, images, bytes, 0, 0 "
    "FROM pulls WHERE project_id = :project_id AND pr_number > :after AND pr_number <= :until"
    ") AS both_sides GROUP BY pr_number "
    "HAVING sum(stored_images) <> sum(counted_images) OR sum(stored_bytes) <> sum(counted_bytes) "
    "ORDER BY pr_number"
)
# Only counts active uploads to pull requests, which the age index covers. There may be fewer images than
# uploads, never more.
_FIRST_UPLOAD = text(
    "SELECT uploaded_at FROM images WHERE project_id = :project_id AND scheduled_at IS NULL "
    "AND pr_number > 0 AND uploaded_at >= :since ORDER BY uploaded_at LIMIT 1"
)
_WRONG_DAYS = text(
    "SELECT day, sum(stored_uploads), sum(stored_bytes), sum(counted_uploads), sum(counted_bytes) FROM ("
    "SELECT uploaded_at / :day_seconds AS day, 0 AS stored_uploads, 0 AS stored_bytes, "
    "1 AS counted_uploads, size AS counted_bytes FROM images WHERE project_id = :project_id "
    "AND scheduled_at IS NULL AND pr_number > 0 AND source_id IS NULL "
    "AND uploaded_at >= :since AND uploaded_at < :until UNION ALL "
    "SELECT day, uploads, bytes, 0, 0 FROM uploads_by_day "
    "WHERE project_id = :project_id AND day >= :first AND day <= :last"
    ") AS both_sides GROUP BY day "
    "HAVING sum(stored_uploads) < sum(counted_uploads) OR sum(stored_bytes) < sum(counted_bytes) ORDER BY day"
)
_WRONG_PROJECTS = text(
    "SELECT projects.id, coalesce(totals.images, 0), coalesce(totals.bytes, 0), "
    "coalesce(totals.open_pulls, 0), coalesce(sums.images, 0), coalesce(sums.bytes, 0), "
    "coalesce(sums.open_pulls, 0) FROM projects "
    "LEFT JOIN project_totals AS totals ON totals.project_id = projects.id LEFT JOIN ("
    "SELECT project_id, sum(images) AS images, sum(bytes) AS bytes, "
    "sum(CASE WHEN closed_at IS NULL AND pr_number > 0 THEN 1 ELSE 0 END) AS open_pulls "
    "FROM pulls GROUP BY project_id"
    ") AS sums ON sums.project_id = projects.id "
    "WHERE coalesce(totals.images, 0) <> coalesce(sums.images, 0) "
    "OR coalesce(totals.bytes, 0) <> coalesce(sums.bytes, 0) "
    "OR coalesce(totals.open_pulls, 0) <> coalesce(sums.open_pulls, 0) ORDER BY projects.id"
)


class _Recomputing(NamedTuple):
    """The statements that recompute a total: create its row if it is missing, lock it, count and write.

    An upload first adds its image, then adds itself to the total, where it waits for our lock. An upload that
    the count misses therefore adds itself afterwards. An upload that held the lock before us is committed,
    and the count includes it, because each statement sees everything committed before it.
    """

    add_missing: str
    lock: str
    write: str


_RECOMPUTING: dict[Total, _Recomputing] = {
    "pull request": _Recomputing(
        add_missing="INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit) "
        "SELECT project_id, pr_number, 0, 0, uploaded_at, commit_sha FROM images "
        "WHERE project_id = :project_id AND pr_number = :number ORDER BY seq DESC LIMIT 1 "
        "ON CONFLICT (project_id, pr_number) DO NOTHING",
        lock="UPDATE pulls SET images = images WHERE project_id = :project_id AND pr_number = :number",
        write="UPDATE pulls SET (images, bytes) = ("
        "SELECT count(CASE WHEN kind <> 'before' THEN 1 END), coalesce(sum(size), 0) FROM images "
        "WHERE project_id = :project_id AND pr_number = :number"
        ") WHERE project_id = :project_id AND pr_number = :number",
    ),
    "day": _Recomputing(
        add_missing="INSERT INTO uploads_by_day (project_id, day, uploads, bytes) "
        "VALUES (:project_id, :number, 0, 0) ON CONFLICT (project_id, day) DO NOTHING",
        lock="UPDATE uploads_by_day SET uploads = uploads WHERE project_id = :project_id AND day = :number",
        write="UPDATE uploads_by_day SET (uploads, bytes) = ("
        "SELECT CASE WHEN uploads_by_day.uploads < count(*) THEN count(*) ELSE uploads_by_day.uploads END, "
        "CASE WHEN uploads_by_day.bytes < sum(size) THEN sum(size) ELSE uploads_by_day.bytes END FROM images "
        "WHERE project_id = :project_id AND scheduled_at IS NULL AND pr_number > 0 AND source_id IS NULL "
        "AND uploaded_at >= :since AND uploaded_at < :until"
        ") WHERE project_id = :project_id AND day = :number",
    ),
    "project": _Recomputing(
        add_missing="INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at) "
        "SELECT project_id, 0, 0, 0, max(last_upload_at) FROM pulls "
        "WHERE project_id = :project_id GROUP BY project_id ON CONFLICT (project_id) DO NOTHING",
        lock="UPDATE project_totals SET images = images WHERE project_id = :project_id",
        write="UPDATE project_totals SET (images, bytes, open_pulls) = ("
        "SELECT coalesce(sum(images), 0), coalesce(sum(bytes), 0), "
        "coalesce(sum(CASE WHEN closed_at IS NULL AND pr_number > 0 THEN 1 ELSE 0 END), 0) "
        "FROM pulls WHERE project_id = :project_id"
        ") WHERE project_id = :project_id",
    ),
}


def wrong_pulls(connection: Connection, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
    page = {"project_id": project_id, "after": after}
    last = connection.execute(_LAST_OF_PAGE, page | {"more": PULLS_AT_ONCE - 1}).scalar()
    until = MAX_PR_NUMBER if last is None else last
    rows = connection.execute(_WRONG_PULLS, page | {"until": until})
    return _wrong("pull request", project_id, ("images", "bytes"), rows), last


def wrong_days(connection: Connection, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
    since = {"project_id": project_id, "since": (after + 1) * SECONDS_PER_DAY}
    uploaded_at = connection.execute(_FIRST_UPLOAD, since).scalar()
    if uploaded_at is None:
        return [], None
    first = int(uploaded_at) // SECONDS_PER_DAY
    last = first + DAYS_AT_ONCE - 1
    days = {"project_id": project_id, "first": first, "last": last, "day_seconds": SECONDS_PER_DAY}
    rows = connection.execute(_WRONG_DAYS, days | _seconds_of(first, last))
    return _wrong("day", project_id, ("uploads", "bytes"), rows), last


def wrong_projects(connection: Connection) -> list[WrongTotal]:
    names = ("images", "bytes", "open_pulls")
    return [
        wrong
        for row in connection.execute(_WRONG_PROJECTS)
        for wrong in _wrong("project", row[0], names, [(0, *row[1:])])
    ]


def recompute(connection: Connection, wrong: WrongTotal) -> None:
    """Recompute a total. Call this in a transaction."""
    key = {"project_id": wrong.project_id, "number": wrong.number} | _seconds_of(wrong.number, wrong.number)
    statements = _RECOMPUTING[wrong.of]
    connection.execute(text(statements.add_missing), key)
    # Without a row to lock, there is nothing to count. An upload may add the row meanwhile, and the count
    # would miss other uploads that it waits for.
    if connection.execute(text(statements.lock), key).rowcount:
        connection.execute(text(statements.write), key)


def _seconds_of(first_day: int, last_day: int) -> dict[str, int]:
    return {"since": first_day * SECONDS_PER_DAY, "until": (last_day + 1) * SECONDS_PER_DAY}


def _wrong(of: Total, project_id: str, names: tuple[str, ...], rows: Iterable[Any]) -> list[WrongTotal]:
    """Read the wrong totals from rows of (number, stored …, counted …)."""
    return [
        WrongTotal(
            of,
            project_id,
            row[0],
            dict(zip(names, row[1 : 1 + len(names)], strict=True)),
            dict(zip(names, row[1 + len(names) :], strict=True)),
        )
        for row in rows
    ]
