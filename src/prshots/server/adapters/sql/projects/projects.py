"""Projects in SQLite or PostgreSQL."""

import json
import time
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy import delete as delete_from

from prshots.contract.errors import NotFoundError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import (
    ACTIVE,
    LONG_LIVED,
    OF_ORGANIZATION,
    PROJECT,
    PROJECTS,
    TOKEN,
    conflict_as,
    equal,
    project_from,
    project_gone_as,
)
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_project
from prshots.server.adapters.sql.database.schema import (
    audit_log,
    images,
    metadata,
    project_totals,
    projects,
    tokens,
    trusts,
)
from prshots.server.adapters.sql.images.due import mark_some
from prshots.server.adapters.sql.outbox.causes import mark_newest_due
from prshots.server.adapters.sql.projects.trusts import remove_trusts
from prshots.server.domain.audit.models import Action
from prshots.server.domain.projects.claims import names_repository
from prshots.server.domain.projects.models import Project, UploadToken

_CHANGEABLE = (
    "name",
    "policy",
    "retain_days",
    "keep_baselines",
    "repository",
    "uploads_per_minute",
    "review_verdicts",
    "four_eyes",
)

_TRUST_OF_TOKEN = (
    select(trusts.c.issuer, trusts.c.claims)
    .join(tokens, tokens.c.trust_id == trusts.c.id)
    .where(tokens.c.id == bindparam("token_id"))
)
REVIEWED_AGAIN = 100
"""For how many pull requests one of these changes the commit statuses at once."""


class SqlProjects:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_project(self, project: Project) -> None:
        row = {key: value for key, value in asdict(project).items() if key not in OF_ORGANIZATION}

        def add(connection: Connection) -> None:
            connection.execute(insert(projects).values(row))
            record(connection, Action.PROJECT_CREATED, project_id=project.id, target=project.name)

        with conflict_as(_name_taken(project)):
            await self._database.write(add)

    async def project(self, name: str, organization_id: str) -> Project | None:
        query = (
            select(*PROJECT)
            .select_from(PROJECTS)
            .where(projects.c.name == name, projects.c.organization_id == organization_id)
        )
        row = await self._database.first(query)
        return project_from(row) if row else None

    async def projects(self) -> list[Project]:
        query = select(*PROJECT).select_from(PROJECTS).order_by(projects.c.name, projects.c.id)
        return [project_from(row) for row in await self._database.rows(query)]

    async def change_project(self, project: Project, now: int) -> None:
        is_this = projects.c.id == project.id
        before = select(*(projects.c[name] for name in _CHANGEABLE)).where(is_this).with_for_update()
        changes = {name: getattr(project, name) for name in _CHANGEABLE}

        def change(connection: Connection) -> None:
            found = connection.execute(before).first()
            old = found._asdict() if found else {}
            connection.execute(update(projects).where(is_this).values(changes))
            changed = {name: [old[name], changes[name]] for name in old if old[name] != changes[name]}
            if changed:
                about: dict[str, Any] = {"project_id": project.id, "target": project.name}
                record(connection, Action.PROJECT_CHANGED, **about, details=changed)
            if changed.keys() & {"name", "repository", "review_verdicts"}:
                mark_newest_due(connection, project.id, REVIEWED_AGAIN, now)

        with conflict_as(_name_taken(project)):
            await self._database.write(change)

    async def set_repository(self, project_id: str, repository: str, keyless_token_id: str = "") -> None:
        is_unset = (projects.c.id == project_id, projects.c.repository == "")
        setting = update(projects).where(*is_unset).values(repository=repository).returning(projects.c.name)

        def change(connection: Connection) -> None:
            trust = connection.execute(_TRUST_OF_TOKEN, {"token_id": keyless_token_id}).first()
            if keyless_token_id and not (
                trust and names_repository(trust.issuer, json.loads(trust.claims), repository)
            ):
                return
            name = connection.execute(setting).scalar()
            if name is not None:
                about = {"project_id": project_id, "target": name}
                record(connection, Action.PROJECT_CHANGED, **about, details={"repository": ["", repository]})

        await self._database.write(change)

    async def retire_project(self, project_id: str, now: int, limit: int) -> int:
        mine = images.c.project_id == project_id
        revoking = (
            update(tokens)
            .where(tokens.c.project_id == project_id, tokens.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )
        some = (
            select(images.c.seq, images.c.source_id)
            .where(mine, ACTIVE)
            .order_by(images.c.pr_number, images.c.seq)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        total = select(project_totals.c.images).where(project_totals.c.project_id == project_id)

        def retire(connection: Connection) -> int:
            remove_trusts(connection, trusts.c.project_id == project_id)
            connection.execute(revoking)
            found = connection.execute(some).all()
            mark_some(connection, project_id, [row.seq for row in found], now)
            if deleted := [row for row in found if row.source_id is None]:
                about = {"images": len(deleted)}
                record(connection, Action.IMAGE_DELETED, project_id=project_id, details=about)
            if not _has_images(connection, project_id):
                return 0
            return connection.execute(total).scalar() or 1

        return await self._database.write(retire)

    async def remove_project(self, project_id: str) -> bool:
        def remove(connection: Connection) -> bool:
            lock_project(connection, project_id)
            if _has_images(connection, project_id):
                return False
            record(connection, Action.PROJECT_DELETED, project_id=project_id)
            mark_newest_due(connection, project_id, REVIEWED_AGAIN, int(time.time()))  # for its siblings
            for table in reversed(metadata.sorted_tables):  # tables that refer to another table come first
                if "project_id" in table.c and table not in {images, audit_log}:
                    connection.execute(delete_from(table).where(table.c.project_id == project_id))
            connection.execute(delete_from(projects).where(projects.c.id == project_id))
            return True

        return await self._database.write(remove)


def _about_token(token: Any) -> dict[str, Any]:  # noqa: ANN401 - or a row of the table
    name = f"{token.label} ({token.hint})" if token.label else token.hint
    return {"project_id": token.project_id, "target": name}


def _name_taken(project: Project) -> str:
    return f"project {project.name!r} already exists"


def _has_images(connection: Connection, project_id: str) -> bool:
    # Ordered like an index: otherwise PostgreSQL might read the whole table for a project without images.
    one = select(images.c.seq).where(images.c.project_id == project_id).order_by(images.c.pr_number).limit(1)
    return connection.execute(one).first() is not None


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
        def add(connection: Connection) -> None:
            connection.execute(insert(tokens).values(asdict(token)))
            record(connection, Action.TOKEN_CREATED, **_about_token(token), details={"id": token.id})

        with project_gone_as(NotFoundError("not found")):
            await self._database.write(add)

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

    async def revoke_token(
        self, token_id: str, now: int, revoked_by: str = "", project_id: str | None = None
    ) -> bool:
        this = equal(tokens, id=token_id) + (
            [] if project_id is None else equal(tokens, project_id=project_id)
        )
        finding = select(*TOKEN).where(*this).with_for_update()
        revoking = update(tokens).where(*this).values(revoked_at=now, revoked_by=revoked_by)

        def revoke(connection: Connection) -> bool:
            row = connection.execute(finding).first()
            if row is not None and row.revoked_at is None:
                connection.execute(revoking)
                record(connection, Action.TOKEN_REVOKED, **_about_token(row), details={"id": token_id})
            return row is not None

        return await self._database.write(revoke)

    async def touch_token(self, token_id: str, now: int) -> None:
        touching = update(tokens).where(tokens.c.id == token_id).values(last_used_at=now)
        await self._database.execute(touching)

    async def discard_expired_tokens(self, now: int, limit: int) -> int:
        some = (
            select(tokens.c.id)
            .where(tokens.c.expires_at <= now, ~LONG_LIVED)
            .order_by(tokens.c.expires_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )

        def discard(connection: Connection) -> int:
            ids = connection.execute(some).scalars().all()
            return connection.execute(delete_from(tokens).where(tokens.c.id.in_(ids))).rowcount if ids else 0

        return await self._database.write(discard)
