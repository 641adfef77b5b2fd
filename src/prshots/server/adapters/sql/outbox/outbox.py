"""What goes out to the forges of projects: leases, results, and what fails."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.gates import STATUS_NAME
from prshots.server.adapters.sql.columns import PROJECT, PROJECTS, given, project_from
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import connections, outbox, projects, pulls
from prshots.server.adapters.sql.review.decisions import NEWER_COMMIT
from prshots.server.domain.outbox.models import (
    NO_CHECK,
    Attempt,
    Check,
    Claim,
    DeliveryKind,
    Due,
    FailingDelivery,
)

_ROW = outbox.c
_OF_PULL = given(outbox, "project_id", "pr_number")
_DUE = (
    sa.select(_ROW.project_id, _ROW.pr_number)
    .where(
        _ROW.due_at <= sa.bindparam("now"),
        _ROW.lease_until <= sa.bindparam("now"),
        _ROW.project_id.not_in(sa.bindparam("busy", expanding=True)),
    )
    .order_by(_ROW.kind == DeliveryKind.COMMENT, _ROW.due_at)
    .limit(sa.bindparam("limit"))
)
_IS_HELD = sa.select(_ROW.kind).where(*_OF_PULL, _ROW.lease_until > sa.bindparam("now")).limit(1)
_CONNECTED_PROJECT = (
    sa.select(*PROJECT, pulls.c.closed_at)
    .select_from(PROJECTS.join(connections, connections.c.project_id == projects.c.id))
    .outerjoin(pulls, sa.and_(*given(pulls, "project_id", "pr_number")))
    .where(projects.c.id == sa.bindparam("project_id"))
)
# If we don't finish, it is due again when the lease ends. A holder that didn't finish may have sent anything.
_CLAIM = sa.text(
    "UPDATE outbox SET holder = :holder, lease_until = :until, due_at = :until, attempts = attempts + 1, "
    "sent = CASE WHEN holder = '' THEN sent ELSE '' END "
    "WHERE project_id = :project_id AND pr_number = :pr_number AND due_at <= :now "
    "AND (kind = 'status' OR NOT EXISTS (SELECT 1 FROM outbox AS other WHERE other.project_id = :project_id "
    "AND other.pr_number <> :pr_number AND other.kind = 'status' AND other.due_at <= :now)) "
    "RETURNING kind, version, attempts, first_due_at, sent"
)
_RECORD = sa.text(
    "UPDATE outbox SET holder = '', lease_until = 0, error = :error, "
    "sent = CASE WHEN version = :version THEN :sent ELSE '' END, "
    "due_at = CASE WHEN version = :version THEN :next_at ELSE due_at END "
    "WHERE project_id = :project_id AND pr_number = :pr_number AND kind = :kind AND holder = :holder"
)
_SEND_AGAIN = sa.text(
    "UPDATE outbox SET version = version + 1, sent = '', attempts = 0, due_at = :now "
    "WHERE project_id = :project_id AND pr_number = :pr_number"
)
_HAS_FAILED = _ROW.error != sa.literal_column("''")
_FAILING = sa.select(
    _ROW.pr_number, _ROW.kind, _ROW.error, _ROW.attempts, _ROW.first_due_at, _ROW.due_at
).where(_HAS_FAILED)
_OF_CONNECTED = (
    sa.select(*_FAILING.selected_columns, _ROW.sent, connections.c.forge)
    .select_from(outbox.join(connections, _ROW.project_id == connections.c.project_id))
    .where(*_OF_PULL)
    .order_by(_ROW.kind)
)
_IS_OPEN = sa.or_(_ROW.due_at.is_not(None), _HAS_FAILED)
"""Written exactly like the condition of an index."""


class SqlOutbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, now: int, busy: Collection[str], limit: int) -> list[tuple[str, int]]:
        rows = await self._database.rows(_DUE, now=now, busy=list(busy), limit=limit)
        return [(project_id, pr_number) for project_id, pr_number in rows]

    async def claim(self, project_id: str, pr_number: int, holder: str, now: int, until: int) -> Claim | None:
        of_pull = {"project_id": project_id, "pr_number": pr_number, "now": now}

        def lease(connection: sa.Connection) -> Claim | None:
            lock_pull(connection, project_id, pr_number)
            project = connection.execute(_CONNECTED_PROJECT, of_pull).first()
            if project is None:  # the cause was recorded while the connection was removed
                connection.execute(sa.delete(outbox).where(_ROW.project_id == project_id))
            if project is None or connection.execute(_IS_HELD, of_pull).first():
                return None
            rows = connection.execute(_CLAIM, of_pull | {"holder": holder, "until": until}).all()
            due = {row.kind: Due(*row)._replace(kind=DeliveryKind(row.kind)) for row in rows}
            in_order = [due[kind] for kind in DeliveryKind if kind in due]
            is_closed = project.closed_at is not None
            return Claim(project_from(project[:-1]), pr_number, holder, in_order, is_closed)

        return await self._database.write(lease)

    async def finish(self, claim: Claim, attempts: Sequence[Attempt], now: int) -> None:
        of_pull: dict[str, Any] = {"project_id": claim.project.id, "pr_number": claim.pr_number}
        rows = [
            of_pull
            | {"holder": claim.holder, "kind": each.due.kind, "version": each.due.version}
            | {"sent": each.sent, "error": each.error, "next_at": each.next_at}
            for each in attempts
        ]

        def record(connection: sa.Connection) -> None:
            lock_pull(connection, **of_pull)
            recorded = [connection.execute(_RECORD, row).rowcount for row in rows]
            if not all(recorded):
                connection.execute(_SEND_AGAIN, of_pull | {"now": now})

        await self._database.write(record)

    async def newer_commit(self, project_id: str, pr_number: int) -> str | None:
        row = await self._database.first(NEWER_COMMIT, project_id=project_id, pr_numbers=[pr_number])
        return row.commit_sha if row else None

    async def discard_old(self, until: int, limit: int) -> int:
        rests = (_ROW.due_at.is_(None), _ROW.first_due_at <= until)
        old = sa.select(*outbox.primary_key).where(*rests).order_by(_ROW.first_due_at).limit(limit)
        removing = sa.delete(outbox).where(sa.tuple_(*outbox.primary_key).in_(old), *rests)
        return await self._database.execute(removing)

    async def count_waiting(self) -> int:
        return await self._database.value(
            sa.select(sa.func.count()).select_from(outbox).where(_ROW.due_at.is_not(None))
        )

    async def failing(self, project_id: str, limit: int) -> tuple[list[FailingDelivery], int]:
        is_open = (_ROW.project_id == project_id, _IS_OPEN)
        failing = _FAILING.where(*is_open).order_by(_ROW.pr_number.desc()).limit(limit)
        waiting = sa.select(sa.func.count()).select_from(outbox).where(*is_open, _ROW.due_at.is_not(None))

        def read(connection: sa.Connection) -> tuple[list[FailingDelivery], int]:
            found = list(map(_read_failing, connection.execute(failing)))
            return found, connection.execute(waiting).scalar_one()

        return await self._database.read(read)

    async def of_pull(self, project_id: str, pr_number: int) -> tuple[Check, list[FailingDelivery]]:
        rows = await self._database.rows(_OF_CONNECTED, project_id=project_id, pr_number=pr_number)
        checks = [_read_check(row) for row in rows if row.kind == DeliveryKind.STATUS]
        failing = [_read_failing(row[:-2]) for row in rows if row.error]
        return checks[0] if checks else NO_CHECK, failing


def _read_check(row: Any) -> Check:  # noqa: ANN401 - a row of the table
    forge = ForgeKind(row.forge)
    if row.error or row.due_at is not None:
        return Check("failing" if row.error else "waiting", forge, row.error, "", "")
    posted = re.search(rf"^\S+ (\w+) {STATUS_NAME}: (.*)$", row.sent, re.MULTILINE)
    return Check("sent", forge, "", posted[1], posted[2]) if posted else NO_CHECK


def _read_failing(row: Any) -> FailingDelivery:  # noqa: ANN401 - a row of the table
    return FailingDelivery(*row)._replace(kind=DeliveryKind(row[1]))
