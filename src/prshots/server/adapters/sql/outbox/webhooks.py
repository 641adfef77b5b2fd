"""The webhooks of organizations, with their secrets and the list of their messages."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import equal
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import require_row
from prshots.server.adapters.sql.database.schema import (
    organizations,
    projects,
    webhook_deliveries,
    webhooks,
)
from prshots.server.adapters.sql.outbox.causes import note_test
from prshots.server.domain.audit.models import Action
from prshots.server.domain.webhooks.models import Event, Format, ListedDelivery, Webhook, WebhookSecret

_ROW = webhook_deliveries.c
_DELIVERY = [_ROW[name] for name in ListedDelivery._fields]


_WEBHOOKS = sa.select(webhooks, projects.c.name.label("project")).select_from(
    webhooks.outerjoin(projects, projects.c.id == webhooks.c.project_id)
)


class SqlWebhooks:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def webhooks(self, organization_id: str) -> list[Webhook]:
        query = _WEBHOOKS.where(webhooks.c.organization_id == organization_id)
        rows = await self._database.rows(query.order_by(webhooks.c.created_at, webhooks.c.id))
        return list(map(webhook_from, rows))

    async def find(self, organization_id: str, webhook_id: str) -> Webhook:
        this = equal(webhooks, id=webhook_id, organization_id=organization_id)
        return webhook_from(_found(await self._database.first(_WEBHOOKS.where(*this))))

    async def add(self, webhook: Webhook, most: int) -> None:
        of_organization = webhooks.c.organization_id == webhook.organization_id
        count = sa.select(sa.func.count()).select_from(webhooks).where(of_organization)
        (secret,) = webhook.secrets
        row = {
            "id": webhook.id,
            "organization_id": webhook.organization_id,
            "project_id": webhook.project_id,
            **_settings(webhook),
            "kid": secret.kid,
            "secret": secret.secret,
            "created_by": webhook.created_by,
            "created_at": webhook.created_at,
        }

        def add(connection: sa.Connection) -> None:
            # Locks against a concurrent deletion, and counts concurrent additions.
            require_row(connection, organizations, webhook.organization_id)
            if webhook.project_id:
                require_row(connection, projects, webhook.project_id)
            if connection.execute(count).scalar_one() >= most:
                raise ConflictError(f"the organization has {most} webhooks: delete one first")
            connection.execute(sa.insert(webhooks).values(row))
            _record(connection, Action.WEBHOOK_CREATED, webhook, **_shown(webhook))

        await self._database.write(add)

    async def change(self, webhook: Webhook) -> None:
        enabled = {"disabled_at": None, "failing_since": None}
        await self._update(webhook, _settings(webhook) | enabled, Action.WEBHOOK_CHANGED, **_shown(webhook))

    async def rotate(self, webhook: Webhook, secret: WebhookSecret, old_until: int) -> None:
        replaced = {"old_kid": webhooks.c.kid, "old_secret": webhooks.c.secret, "old_until": old_until}
        new = {"kid": secret.kid, "secret": secret.secret}
        await self._update(webhook, replaced | new, Action.WEBHOOK_SECRET_ROTATED)

    async def _update(
        self, webhook: Webhook, values: dict[str, Any], action: Action, **details: object
    ) -> None:
        updating = sa.update(webhooks).where(webhooks.c.id == webhook.id).values(values)

        def update(connection: sa.Connection) -> None:
            if not connection.execute(updating).rowcount:
                raise NotFoundError("not found")
            _record(connection, action, webhook, **details)

        await self._database.write(update)

    async def remove(self, webhook: Webhook) -> None:
        def remove(connection: sa.Connection) -> None:
            if not connection.execute(sa.delete(webhooks).where(webhooks.c.id == webhook.id)).rowcount:
                raise NotFoundError("not found")
            connection.execute(sa.delete(webhook_deliveries).where(_ROW.webhook_id == webhook.id))
            _record(connection, Action.WEBHOOK_DELETED, webhook)

        await self._database.write(remove)

    # Secrets

    async def secrets(self) -> Sequence[WebhookSecret]:
        rows = await self._database.rows(sa.select(webhooks).order_by(webhooks.c.id))
        return [secret for row in rows for secret in webhook_from(row).secrets]

    async def replace_secret(self, before: WebhookSecret, after: WebhookSecret) -> bool:
        prefix = "old_" if before.is_old else ""
        unchanged = {"id": before.webhook_id, f"{prefix}kid": before.kid, f"{prefix}secret": before.secret}
        values = {f"{prefix}kid": after.kid, f"{prefix}secret": after.secret}
        replacing = sa.update(webhooks).where(*equal(webhooks, **unchanged)).values(values)
        return await self._database.execute(replacing) > 0

    # Messages

    async def deliveries(self, webhook_id: str, before: int | None, limit: int) -> list[ListedDelivery]:
        query = sa.select(*_DELIVERY).where(_ROW.webhook_id == webhook_id)
        if before is not None:
            query = query.where(_ROW.seq < before)
        rows = await self._database.rows(query.order_by(_ROW.seq.desc()).limit(limit))
        return [ListedDelivery(*row)._replace(event=Event(row.event)) for row in rows]

    async def body(self, webhook_id: str, delivery_id: str) -> str:
        this = equal(webhook_deliveries, webhook_id=webhook_id, id=delivery_id)
        return str(_found(await self._database.first(sa.select(_ROW.payload).where(*this))).payload)

    async def send_again(self, webhook: Webhook, delivery_id: str, now: int) -> None:
        this = equal(webhook_deliveries, webhook_id=webhook.id, id=delivery_id)
        sending = _sending_again(now).where(*this)

        def send(connection: sa.Connection) -> None:
            if connection.execute(sending).rowcount:
                _record(connection, Action.WEBHOOK_REDELIVERED, webhook, message=delivery_id)
            else:
                _found(connection.execute(sa.select(_ROW.id).where(*this)).first())

        await self._database.write(send)

    async def send_test(self, webhook: Webhook, now: int) -> None:
        waiting = equal(webhook_deliveries, webhook_id=webhook.id, event=Event.TEST.value)
        waiting.append(_ROW.due_at.is_not(None))

        def send(connection: sa.Connection) -> None:
            require_row(connection, webhooks, webhook.id)
            if connection.execute(sa.select(_ROW.id).where(*waiting)).first():
                connection.execute(_sending_again(now).where(*waiting))
            else:
                note_test(connection, webhook)
            _record(connection, Action.WEBHOOK_TESTED, webhook)

        await self._database.write(send)


def _sending_again(now: int) -> sa.Update:
    """Return a statement that makes messages due, unless somebody is sending them."""
    again = {"due_at": now, "first_due_at": now, "attempts": 0, "holder": "", "lease_until": 0}
    return sa.update(webhook_deliveries).where(_ROW.lease_until <= now).values(again)


def webhook_from(row: Any) -> Webhook:  # noqa: ANN401 - a row of the table
    secrets = [WebhookSecret(row.id, False, row.kid, row.secret)]
    if row.old_secret:
        secrets.append(WebhookSecret(row.id, True, row.old_kid, row.old_secret))
    return Webhook(
        row.id,
        row.organization_id,
        row.project_id,
        row.url,
        Format(row.format),
        tuple(map(Event, row.events.split(","))),
        tuple(secrets),
        row.created_by,
        row.created_at,
        row.old_until,
        row.sent_at,
        row.failing_since,
        row.disabled_at,
        getattr(row, "project", None) or "",
    )


def _settings(webhook: Webhook) -> dict[str, Any]:
    events = ",".join(event.value for event in webhook.events)
    return {"url": webhook.url, "format": webhook.format.value, "events": events}


def _shown(webhook: Webhook) -> dict[str, object]:
    return {"format": webhook.format.value, "events": [event.value for event in webhook.events]}


def _record(connection: sa.Connection, action: Action, webhook: Webhook, **details: object) -> None:
    place: dict[str, Any] = {"project_id": webhook.project_id, "organization_id": webhook.organization_id}
    # A path may be a secret, such as that of Slack's addresses. So only the beginning is recorded.
    parts = urlsplit(webhook.url)
    target = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    record(connection, action, **place, target=target, details={"id": webhook.id, **details})


def _found(row: Any) -> Any:  # noqa: ANN401 - a row
    if row is None:
        raise NotFoundError("not found")
    return row
