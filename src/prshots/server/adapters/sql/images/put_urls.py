"""One-time URLs for uploads. One transaction uses up a URL and records its image."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update

from prshots.contract.errors import UnauthorizedError
from prshots.server.adapters.sql.columns import PROJECT, PROJECTS, project_from, project_gone_as
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.schema import images, put_urls, tokens
from prshots.server.adapters.sql.images.due import schedule_images
from prshots.server.adapters.sql.images.staging import add_staged
from prshots.server.adapters.sql.images.totals import add_images
from prshots.server.domain.images.models import BranchPlace, Image, PutUrl, StagedImage
from prshots.server.domain.projects.models import Project
from prshots.server.domain.storage.models import Limits

_PLAIN = [field.name for field in fields(PutUrl) if field.name != "place"]
_COLUMNS = [put_urls.c[name] for name in _PLAIN]
_WITH_TOKEN = put_urls.join(tokens, tokens.c.id == put_urls.c.token_id).join(
    PROJECTS, put_urls.c.project_id == PROJECTS.left.c.id
)
_FIND = (
    select(*_COLUMNS, put_urls.c.branch, put_urls.c.repository, *PROJECT)
    .select_from(_WITH_TOKEN)
    .where(
        or_(put_urls.c.sha256 == bindparam("sha256"), put_urls.c.before_sha256 == bindparam("sha256")),
        put_urls.c.expires_at > bindparam("now"),
        tokens.c.revoked_at.is_(None),
    )
)
_EXPIRED = (
    select(put_urls.c.sha256, put_urls.c.before_id)
    .where(put_urls.c.expires_at <= bindparam("now"))
    .order_by(put_urls.c.expires_at)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_USE_BEFORE = (
    update(put_urls)
    .where(put_urls.c.sha256 == bindparam("of"), put_urls.c.before_id.is_(None))
    .values(before_id=bindparam("before"))
)
_REMOVE = delete(put_urls).where(put_urls.c.sha256.in_(bindparam("hashes", expanding=True)))


class SqlPutUrls:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, put_url: PutUrl) -> None:
        row = {name: value for name, value in asdict(put_url).items() if name != "place"}
        adding = insert(put_urls).values(row | put_url.place._asdict())
        with project_gone_as(UnauthorizedError("unauthorized")):
            await self._database.execute(adding)

    async def find(self, sha256: str, now: int) -> tuple[PutUrl, Project] | None:
        row = await self._database.first(_FIND, sha256=sha256, now=now)
        return _read_put_url(row) if row else None

    async def use(
        self, put_url: PutUrl, image: Image, staged: StagedImage | None, limits: Limits = ()
    ) -> bool:
        def record(connection: Connection) -> bool:
            if not connection.execute(_REMOVE, {"hashes": [put_url.sha256]}).rowcount:
                return False
            if staged:
                add_staged(connection, staged, limits)
            else:
                add_images(connection, [image], {image.project_id: limits})
            return True

        return await self._database.write(record)

    async def use_before(self, put_url: PutUrl, before: Image, limits: Limits = ()) -> bool:
        def record(connection: Connection) -> bool:
            given = {"of": put_url.sha256, "before": before.id}
            if not connection.execute(_USE_BEFORE, given).rowcount:
                return False
            add_images(connection, [before], {before.project_id: limits})
            return True

        return await self._database.write(record)

    async def discard_expired(self, now: int, limit: int) -> int:
        def discard(connection: Connection) -> int:
            expired = connection.execute(_EXPIRED, {"now": now, "most": limit}).all()
            if before_ids := [row.before_id for row in expired if row.before_id]:
                schedule_images(connection, now, images.c.id.in_(before_ids))
            hashes = [row.sha256 for row in expired]
            return connection.execute(_REMOVE, {"hashes": hashes}).rowcount if hashes else 0

        return await self._database.write(discard)


def _read_put_url(row: Sequence[Any]) -> tuple[PutUrl, Project]:
    plain, place = dict(zip(_PLAIN, row, strict=False)), BranchPlace(*row[len(_PLAIN) : len(_PLAIN) + 2])
    return PutUrl(**plain, place=place), project_from(row[len(_PLAIN) + 2 :])
