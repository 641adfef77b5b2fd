"""What goes out to the forges of projects: leases, results, and what fails."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import PROJECT, PROJECTS, equal, given, project_from
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import connections, outbox, projects
from prshots.server.adapters.sql.review.decisions import NEWER_COMMIT
from prshots.server.domain.outbox.models import Attempt, Claim, DeliveryKind, Due, FailingDelivery

_ROW = outbox.c
_OF_PULL = given(outbox, "project_id", "pr_number")
_DUE = (
    sa.select(_ROW.project_id, _ROW.pr_number)
    .where(
        _ROW.due_at <= sa.bindparam("now"),
        _ROW.lease_until <= sa.bindparam("now"),
        _ROW.project_id.not_in(sa.bindparam("busy", expanding=True)),
    )
    .order_by(_ROW.due_at)
    .limit(sa.bindparam("limit"))
)
_IS_HELD = sa.select(_ROW.kind).where(*_OF_PULL, _ROW.lease_until > sa.bindparam("now")).limit(1)
_CONNECTED_PROJECT = (
    sa.select(*PROJECT)
    .select_from(PROJECTS.join(connections, connections.c.project_id == projects.c.id))
    .where(projects.c.id == sa.bindparam("project_id"))
)
# If we don't finish, it is due again when the lease ends. A holder that didn't finish may have sent anything.
_CLAIM = sa.text(
    "UPDATE outbox SET holder = :holder, lease_until = :until, due_at = :until, attempts = attempts + 1, "
    "sent = CASE WHEN holder = '' THEN sent ELSE '' END "
    "WHERE project_id = :project_id AND pr_number = :pr_number AND due_at <= :now "
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
            project = connection.execute(_CONNECTED_PROJECT, {"project_id": project_id}).first()
            if project is None:  # the cause was recorded while the connection was removed
                connection.execute(sa.delete(outbox).where(_ROW.project_id == project_id))
            if project is None or connection.execute(_IS_HELD, of_pull).first():
                return None
            rows = connection.execute(_CLAIM, of_pull | {"holder": holder, "until": until}).all()
            due = {row.kind: Due(*row)._replace(kind=DeliveryKind(row.kind)) for row in rows}
            in_order = [due[kind] for kind in DeliveryKind if kind in due]
            return Claim(project_from(project), pr_number, holder, in_order)

        return await self._database.write(lease)

    async def finish(self, claim: Claim, attempts: Sequence[Attempt], now: int) -> None:
        of_pull = {"project_id": claim.project.id, "pr_number": claim.pr_number}
        rows = [
            of_pull
            | {"holder": claim.holder, "kind": each.due.kind, "version": each.due.version}
            | {"sent": each.sent, "error": each.error, "next_at": each.next_at}
            for each in attempts
        ]

        def record(connection: sa.Connection) -> None:
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

    async def failing_of_pull(self, project_id: str, pr_number: int) -> list[FailingDelivery]:
        of_pull = equal(outbox, project_id=project_id, pr_number=pr_number)
        rows = await self._database.rows(_FAILING.where(*of_pull).order_by(_ROW.kind))
        return list(map(_read_failing, rows))


def _read_failing(row: Any) -> FailingDelivery:  # noqa: ANN401 - a row of the table
    return FailingDelivery(*row)._replace(kind=DeliveryKind(row.kind))
