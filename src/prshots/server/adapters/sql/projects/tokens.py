"""Upload tokens in SQLite or PostgreSQL."""

from dataclasses import asdict

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy import delete as delete_from

from prshots.contract.errors import NotFoundError
from prshots.server.adapters.sql.columns import (
    LONG_LIVED,
    PROJECT,
    PROJECTS,
    TOKEN,
    project_from,
    project_gone_as,
)
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import tokens
from prshots.server.domain.projects.models import Project, UploadToken

# Built once, because building it takes longer than running it.
_PROJECT_OF_TOKEN = Prepared(
    select(*TOKEN, *PROJECT)
    .select_from(tokens.join(PROJECTS))
    .where(tokens.c.sha256 == bindparam("sha256"), tokens.c.revoked_at.is_(None))
)


class SqlTokens:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_token(self, token: UploadToken) -> None:
        adding = insert(tokens).values(asdict(token))
        with project_gone_as(NotFoundError("not found")):
            await self._database.execute(adding)

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        row = await self._database.look_up(_PROJECT_OF_TOKEN, sha256=sha256)
        return (UploadToken(*row[: len(TOKEN)]), project_from(row[len(TOKEN) :])) if row else None

    async def tokens(self, project_id: str) -> list[UploadToken]:
        query = (
            select(*TOKEN)
            .where(tokens.c.project_id == project_id, LONG_LIVED)
            .order_by(tokens.c.created_at, tokens.c.id)
        )
        return [UploadToken(*row) for row in await self._database.rows(query)]

    async def revoke_token(self, token_id: str, now: int, project_id: str | None = None) -> bool:
        first = func.coalesce(tokens.c.revoked_at, now)
        revoking = update(tokens).where(tokens.c.id == token_id).values(revoked_at=first)
        if project_id is not None:
            revoking = revoking.where(tokens.c.project_id == project_id)
        return await self._database.execute(revoking) > 0

    async def touch_token(self, token_id: str, now: int) -> None:
        touching = update(tokens).where(tokens.c.id == token_id).values(last_used_at=now)
        await self._database.execute(touching)

    async def discard_expired_tokens(self, now: int, limit: int) -> int:
        some = (
            select(tokens.c.id)
            .where(tokens.c.expires_at <= now)
            .order_by(tokens.c.expires_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )

        def discard(connection: Connection) -> int:
            ids = connection.execute(some).scalars().all()
            return connection.execute(delete_from(tokens).where(tokens.c.id.in_(ids))).rowcount if ids else 0

        return await self._database.write(discard)
