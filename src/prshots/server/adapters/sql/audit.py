"""The audit log. Whatever writes records an act adds its entry here, in the same transaction."""

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
import structlog

from prshots.server.adapters.sql.database.database import Database, after_commit
from prshots.server.adapters.sql.database.schema import audit_log, projects
from prshots.server.domain.audit.models import (
    Action,
    Actor,
    ActorKind,
    AuditEntry,
    AuditFilter,
    current_actor,
)
from prshots.server.domain.people.allow_list import fold_case

_OF_PROJECT = sa.text("SELECT organization_id, name FROM projects WHERE id = :project_id")

_log = structlog.get_logger()


def record(
    connection: sa.Connection,
    action: Action,
    *,
    organization_id: str = "",
    project_id: str = "",
    pr_number: int = 0,
    target: str = "",
    details: Mapping[str, object] | None = None,
    shots: Sequence[Mapping[str, object]] = (),
) -> None:
    """Record what the current actor does, in the transaction that does it. After the commit, log it once.

    An act in a project belongs to the project's organization. One without either belongs to the installation.
    The target of an act on a pull request is its number, unless it is given. Only exports have the `shots`,
    because there can be too many for a page and the log.
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
        "target": target or (f"#{pr_number}" if pr_number else ""),
        "pr_number": pr_number or None,
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
    shots_json = json.dumps(shots, ensure_ascii=False) if shots else None
    row = entry | {"at": int(time.time()), "details": details_json, "shots": shots_json}
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
        columns = (column for column in log if which.with_shots or column is not log.shots)
        query = sa.select(*columns).where(*_matching(which))
        if organization_id is not None:
            query = query.where(log.organization_id == organization_id)
        if before is not None:
            query = query.where(log.seq < before)
        return [_entry(row) for row in await self._database.rows(query.order_by(log.seq.desc()).limit(limit))]

    async def discard_old(self, until: int, limit: int) -> int:
        old = sa.select(audit_log.c.seq).where(audit_log.c.at <= until).order_by(audit_log.c.at).limit(limit)
        return await self._database.execute(sa.delete(audit_log).where(audit_log.c.seq.in_(old)))


def _matching(which: AuditFilter) -> list[sa.ColumnElement[bool]]:
    log = audit_log.c
    lower = sa.func.lower  # only of ASCII letters, in both databases
    is_subject = log.action.startswith(f"{which.action}.", autoescape=True)
    has_name = sa.select(projects.c.id).where(projects.c.name == which.project)
    conditions = (
        (which.actor, lower(log.actor) == fold_case(which.actor)),
        (which.action, sa.or_(log.action == which.action, is_subject)),
        (which.target, lower(log.target) == fold_case(which.target)),
        (which.pr_number, log.pr_number == which.pr_number),
        (which.project_id, log.project_id == which.project_id),
        (which.project, sa.or_(log.project == which.project, log.project_id.in_(has_name))),
        (which.since, log.at >= (which.since or 0)),
        (which.until, log.at < (which.until or 0)),
    )
    return [condition for given, condition in conditions if given not in {None, ""}]


def _entry(row: Any) -> AuditEntry:  # noqa: ANN401 - a row of the table
    actor = Actor(ActorKind(row.actor_kind), row.actor_id, row.actor, row.address)
    about = (row.organization_id, row.project_id, row.project)
    details = json.loads(row.details)
    if shots := getattr(row, "shots", None):
        details["shots"] = json.loads(shots)
    return AuditEntry(row.seq, row.at, *about, actor, row.action, row.target, details, row.pr_number)
