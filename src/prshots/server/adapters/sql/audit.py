"""The audit log. Whatever writes records an act adds its entry here, in the same transaction."""

import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import sqlalchemy as sa
import structlog

from prshots.server.adapters.sql.database.database import Database, after_commit
from prshots.server.adapters.sql.database.schema import audit_log
from prshots.server.domain.audit.acting import current_actor
from prshots.server.domain.audit.models import Action, Actor, ActorKind, AuditEntry, AuditFilter

_OF_PROJECT = sa.text("SELECT organization_id, name FROM projects WHERE id = :project_id")

_log = structlog.get_logger()


def record(
    connection: sa.Connection,
    action: Action,
    *,
    organization_id: str = "",
    project_id: str = "",
    target: str = "",
    details: Mapping[str, object] | None = None,
) -> None:
    """Record what the current actor does, in the transaction that does it. After the commit, log it once.

    An act in a project belongs to the project's organization. One without either belongs to the installation.
    """
    project = ""
    if project_id:
        found = connection.execute(_OF_PROJECT, {"project_id": project_id}).first()
        if found is None:  # deleted in the meantime, so nothing happens to it
            return
        organization_id, project = found
    actor = current_actor()
    entry = {
        "action": action.value,
        "target": target,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "actor": actor.name,
        "address": actor.address,
        "organization_id": organization_id,
        "project_id": project_id,
        "project": project,
        "details": details or {},
    }
    details_json = json.dumps(entry["details"], ensure_ascii=False)
    row = entry | {"at": int(time.time()), "details": details_json}
    connection.execute(sa.insert(audit_log), row)
    given = {name: value for name, value in (entry | {"details": json.loads(details_json)}).items() if value}
    if actor.kind is not ActorKind.OPERATOR:  # a command itself says what it did
        after_commit(connection, partial(_log.info, "audit", **given))


class SqlAudit:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, action: Action, *, target: str = "", details: Mapping[str, object] | None = None
    ) -> None:
        await self._database.write(
            lambda connection: record(connection, action, target=target, details=details)
        )

    async def entries(
        self, organization_id: str | None, which: AuditFilter, before: int | None, limit: int
    ) -> list[AuditEntry]:
        log = audit_log.c
        query = sa.select(audit_log)
        if organization_id is not None:
            query = query.where(log.organization_id == organization_id)
        if before is not None:
            query = query.where(log.seq < before)
        if which.actor:
            query = query.where(sa.func.lower(log.actor) == which.actor.lower())
        if which.action:
            is_subject = log.action.startswith(f"{which.action}.", autoescape=True)
            query = query.where(sa.or_(log.action == which.action, is_subject))
        if which.project_id:
            query = query.where(log.project_id == which.project_id)
        if which.since is not None:
            query = query.where(log.at >= which.since)
        if which.until is not None:
            query = query.where(log.at < which.until)
        return [_entry(row) for row in await self._database.rows(query.order_by(log.seq.desc()).limit(limit))]

    async def discard_old(self, until: int, limit: int) -> int:
        old = sa.select(audit_log.c.seq).where(audit_log.c.at <= until).order_by(audit_log.c.at).limit(limit)
        return await self._database.execute(sa.delete(audit_log).where(audit_log.c.seq.in_(old)))


def _entry(row: Any) -> AuditEntry:  # noqa: ANN401 - a row of the table
    actor = Actor(ActorKind(row.actor_kind), row.actor_id, row.actor, row.address)
    about = (row.organization_id, row.project_id, row.project)
    return AuditEntry(row.seq, row.at, *about, actor, row.action, row.target, json.loads(row.details))
