"""What webhooks have to send: leases, bodies and results.

A queue has the messages of a webhook about one pull request. Only its oldest waiting message can be leased.
"""

import json
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import PROJECT, PROJECTS, discard_oldest, equal, given, project_from
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.schema import organizations, projects, webhook_deliveries, webhooks
from prshots.server.adapters.sql.outbox.webhooks import webhook_from
from prshots.server.domain.projects.models import Project
from prshots.server.domain.webhooks.models import ClaimedMessage, Event, Message, QueueKey, Receipt

_ROW = webhook_deliveries.c
_QUEUE = ("webhook_id", "project_id", "pr_number")
_WAITS = _ROW.due_at.is_not(None)
_earlier = webhook_deliveries.alias()
_is_not_next = (
    sa.select(_earlier.c.seq)
    .where(*(_earlier.c[name] == _ROW[name] for name in _QUEUE))
    .where(_earlier.c.due_at.is_not(None), _earlier.c.seq < _ROW.seq)
    .exists()
)
_NOT_BUSY = [
    _ROW[name].not_in(sa.bindparam("busy", expanding=True)) for name in ("organization_id", "webhook_id")
]
_DUE = (
    sa.select(*(_ROW[name] for name in QueueKey._fields))
    .where(_ROW.due_at <= sa.bindparam("now"), *_NOT_BUSY, ~_is_not_next)
    .order_by(_ROW.due_at)
    .limit(sa.bindparam("limit"))
)
_OF_QUEUE = given(webhook_deliveries, *_QUEUE)
_IS_HELD = sa.select(_ROW.seq).where(*_OF_QUEUE, _WAITS, _ROW.lease_until > sa.bindparam("now")).limit(1)
_NEXT = sa.select(webhook_deliveries).where(*_OF_QUEUE, _WAITS).order_by(_ROW.seq).limit(1)
_SENT_GATE = (
    sa.select(_ROW.cause)
    .where(*_OF_QUEUE, _ROW.event == Event.GATE.value, _ROW.sent_at.is_not(None))
    .order_by(_ROW.seq.desc())
    .limit(1)
)
_WEBHOOK = sa.select(webhooks).where(webhooks.c.id == sa.bindparam("webhook_id")).with_for_update()


class SqlWebhookQueues:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, now: int, busy: Collection[str], limit: int) -> list[QueueKey]:
        rows = await self._database.rows(_DUE, now=now, busy=list(busy), limit=limit)
        return [QueueKey(*row) for row in rows]

    async def claim(self, queue: QueueKey, holder: str, now: int, until: int) -> ClaimedMessage | None:
        given = queue._asdict() | {"now": now}

        def lease(connection: sa.Connection) -> ClaimedMessage | None:
            webhook = connection.execute(_WEBHOOK, given).first()  # one claim at a time
            if webhook is None or webhook.disabled_at is not None:
                _stop(connection, queue, is_removed=webhook is None)
                return None
            project = _project(connection, queue.project_id)
            if queue.project_id and project is None:  # deleted while the cause was recorded
                connection.execute(sa.delete(webhook_deliveries).where(*_in(queue)))
                return None
            found = connection.execute(_NEXT, given).first()
            if found is None or found.due_at > now or connection.execute(_IS_HELD, given).first():
                return None
            held = {"holder": holder, "lease_until": until, "due_at": until, "attempts": found.attempts + 1}
            connection.execute(sa.update(webhook_deliveries).where(_ROW.seq == found.seq).values(held))
            named = sa.select(organizations.c.name).where(organizations.c.id == queue.organization_id)
            organization = connection.execute(named).scalar() or ""
            sent = connection.execute(_SENT_GATE, given).scalar()
            sent_gate = str(json.loads(sent).get("state", "")) if sent else ""
            about = (queue, webhook_from(webhook), organization, project, holder)
            return ClaimedMessage(*about, _message(found), sent_gate)

        return await self._database.write(lease)

    async def keep_body(self, claim: ClaimedMessage, body: str, gate: str) -> bool:
        values = {"payload": body}
        if claim.message.event is Event.GATE:
            values["cause"] = json.dumps({"state": gate})
        keeping = sa.update(webhook_deliveries).where(*_held(claim), _ROW.payload == "").values(values)
        return await self._database.execute(keeping) > 0

    async def discard(self, claim: ClaimedMessage) -> None:
        await self._database.execute(sa.delete(webhook_deliveries).where(*_held(claim)))

    async def finish(self, claim: ClaimedMessage, receipt: Receipt, next_at: int | None, now: int) -> None:
        queue = claim.queue
        result: dict[str, Any] = {"status": receipt.status, "reply": receipt.reply, "error": receipt.error}
        result |= {"holder": "", "lease_until": 0, "due_at": next_at}
        state: dict[str, Any] = {"failing_since": sa.func.coalesce(webhooks.c.failing_since, now)}
        if not receipt.error:
            result["sent_at"] = now
            state = {"failing_since": None, "sent_at": now}
        if receipt.is_gone:
            state["disabled_at"] = now
        recording = sa.update(webhook_deliveries).where(*_held(claim)).values(result)
        # The others wait for this one. If they were due earlier, every poll would find them.
        moving = sa.update(webhook_deliveries).where(*_in(queue), _WAITS, _ROW.id != claim.message.id)

        def record(connection: sa.Connection) -> None:
            connection.execute(_WEBHOOK, {"webhook_id": queue.webhook_id})  # before messages, as in `claim`
            if not connection.execute(recording).rowcount:
                return
            is_wrong = _ROW.due_at < next_at if next_at else _ROW.due_at > now
            connection.execute(moving.where(is_wrong).values(due_at=next_at or now))
            connection.execute(sa.update(webhooks).where(webhooks.c.id == queue.webhook_id).values(state))
            if receipt.is_gone:
                _stop(connection, queue, is_removed=False)

        await self._database.write(record)

    async def count_waiting(self) -> int:
        return await self._database.value(
            sa.select(sa.func.count()).select_from(webhook_deliveries).where(_WAITS)
        )

    async def discard_old(self, until: int, limit: int) -> int:
        return await self._database.write(
            lambda connection: discard_oldest(
                connection, webhook_deliveries, until, limit, _ROW.due_at.is_(None)
            )
        )


def _in(queue: QueueKey) -> list[sa.ColumnElement[bool]]:
    return equal(webhook_deliveries, **{name: getattr(queue, name) for name in _QUEUE})


def _held(claim: ClaimedMessage) -> list[sa.ColumnElement[bool]]:
    return equal(webhook_deliveries, id=claim.message.id, holder=claim.holder)


def _stop(connection: sa.Connection, queue: QueueKey, *, is_removed: bool) -> None:
    """Send nothing more of a webhook that is disabled, or was removed while a cause was recorded."""
    of_webhook = _ROW.webhook_id == queue.webhook_id
    if is_removed:
        connection.execute(sa.delete(webhook_deliveries).where(of_webhook))
    else:
        connection.execute(sa.update(webhook_deliveries).where(of_webhook, _WAITS).values(due_at=None))


def _project(connection: sa.Connection, project_id: str) -> Project | None:
    query = sa.select(*PROJECT).select_from(PROJECTS).where(projects.c.id == project_id)
    row = connection.execute(query).first()
    return project_from(row) if row else None


def _message(row: Any) -> Message:  # noqa: ANN401 - a row of the table
    about = (row.id, Event(row.event), json.loads(row.cause), row.payload)
    return Message(*about, row.created_at, row.attempts + 1, row.first_due_at)
