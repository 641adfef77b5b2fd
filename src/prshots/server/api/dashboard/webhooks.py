"""The webhooks of an organization and of its projects, for its owners. A secret is shown once."""

import secrets
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.server.api.dashboard import fields, view_types
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.domain.projects.models import Organization, Role
from prshots.server.domain.webhooks.models import CHOICES, Event, Format, ListedDelivery, Webhook

PAGE = 30
MAX_WEBHOOKS = 20
OVERLAP_SECONDS = 24 * 3600
"""How long the secret before a rotation also signs."""

_PATH = "/organizations/{organization_id}/webhooks"
_WEBHOOK = f"{_PATH}/{{webhook_id}}"
_DELIVERY = f"{_WEBHOOK}/deliveries/{{delivery_id}}"


async def list_webhooks(call: Call) -> view_types.WebhookListView:
    organization = await _organization(call)
    return {"webhooks": [_view(each) for each in await call.services.webhooks.webhooks(organization.id)]}


async def create(call: Call) -> view_types.NewWebhookView:
    organization, body = await _organization(call), await call.body()
    project_id = "" if body.get("project_id") is None else fields.text(body, "project_id")
    if project_id:
        project = await call.services.organizations.project(call.user, project_id, Role.OWNER)
        if project.organization_id != organization.id:
            raise NotFoundError("not found")
    webhook_id = secrets.token_hex(8)
    secret, plain = call.services.receivers.new_secret(webhook_id)
    by, now = call.user.login, call.services.now()
    empty = Webhook(webhook_id, organization.id, project_id, "", Format.STANDARD, (), (secret,), by, now)
    webhook = await _with_settings(call, empty, body)
    await call.services.webhooks.add(webhook, MAX_WEBHOOKS)
    return {"webhook": _view(await call.services.webhooks.find(organization.id, webhook_id)), "secret": plain}


async def change(call: Call) -> view_types.WebhookView:
    webhook = await _with_settings(call, await _webhook(call), await call.body())
    await call.services.webhooks.change(webhook)
    return _view(await _webhook(call))


async def remove(call: Call) -> view_types.DoneView:
    await call.services.webhooks.remove(await _webhook(call))
    return {"ok": True}


async def rotate(call: Call) -> view_types.NewWebhookView:
    webhook, until = await _webhook(call), call.services.now() + OVERLAP_SECONDS
    secret, plain = call.services.receivers.new_secret(webhook.id)
    await call.services.webhooks.rotate(webhook, secret, until)
    return {"webhook": _view(await _webhook(call)), "secret": plain}


async def send_test(call: Call) -> view_types.DoneView:
    await call.services.webhooks.send_test(await _webhook(call), call.services.now())
    call.services.wake_webhooks()
    return {"ok": True}


async def list_deliveries(call: Call) -> view_types.WebhookDeliveriesView:
    webhook, after = await _webhook(call), call.after(int)
    found = await call.services.webhooks.deliveries(webhook.id, after[0] if after else None, PAGE)
    return {
        "deliveries": [_delivery_view(each) for each in found],
        "next": next_cursor(found, PAGE, lambda each: (each.seq,)),
    }


async def show_payload(call: Call) -> view_types.WebhookPayloadView:
    webhook = await _webhook(call)
    return {"payload": await call.services.webhooks.body(webhook.id, call.path("delivery_id"))}


async def send_again(call: Call) -> view_types.DoneView:
    webhook = await _webhook(call)
    await call.services.webhooks.send_again(webhook.id, call.path("delivery_id"), call.services.now())
    call.services.wake_webhooks()
    return {"ok": True}


async def _organization(call: Call) -> Organization:
    organization_id = call.path("organization_id")
    return await call.services.organizations.find_for(call.user, organization_id, Role.OWNER)


async def _webhook(call: Call) -> Webhook:
    organization = await _organization(call)
    return await call.services.webhooks.find(organization.id, call.path("webhook_id"))


async def _with_settings(call: Call, webhook: Webhook, body: dict[str, Any]) -> Webhook:
    """Return the webhook with the body's settings. Raises InvalidInputError."""
    wanted = fields.choice(Format, body.get("format"), "format")
    events = _events(fields.texts(body, "events"))
    url = fields.text(body, "url").strip()
    await call.services.receivers.check(url)
    await _organization(call)  # the check takes seconds: somebody who is no longer an owner gets a 403 or 404
    return replace(webhook, url=url, format=wanted, events=events)


def _events(names: list[str]) -> list[Event]:
    if not names or not set(names) <= set(CHOICES):
        raise InvalidInputError(f"events must be a list of at least one of {', '.join(CHOICES)}")
    return [event for event in CHOICES if event in names]


def _view(webhook: Webhook) -> view_types.WebhookView:
    return {
        "id": webhook.id,
        "project_id": webhook.project_id or None,
        "project": webhook.project,
        "url": webhook.url,
        "format": webhook.format,
        "events": webhook.events,
        "created_by": webhook.created_by,
        "created_at": webhook.created_at,
        "old_secret_until": webhook.old_until or None,
        "sent_at": webhook.sent_at,
        "failing_since": webhook.failing_since,
        "disabled_at": webhook.disabled_at,
    }


def _delivery_view(delivery: ListedDelivery) -> view_types.WebhookDeliveryView:
    return {
        "id": delivery.id,
        "event": delivery.event,
        "project_id": delivery.project_id or None,
        "pr_number": delivery.pr_number or None,
        "created_at": delivery.created_at,
        "next_at": delivery.due_at,
        "attempts": delivery.attempts,
        "sent_at": delivery.sent_at,
        "status": delivery.status or None,
        "reply": delivery.reply,
        "error": delivery.error,
    }


ROUTES = (
    DashboardRoute("GET", _PATH, list_webhooks),
    DashboardRoute("POST", _PATH, create, HTTPStatus.CREATED),
    DashboardRoute("PUT", _WEBHOOK, change),
    DashboardRoute("DELETE", _WEBHOOK, remove),
    DashboardRoute("POST", f"{_WEBHOOK}/secret", rotate),
    DashboardRoute("POST", f"{_WEBHOOK}/test", send_test),
    DashboardRoute("GET", f"{_WEBHOOK}/deliveries", list_deliveries),
    DashboardRoute("GET", _DELIVERY, show_payload),
    DashboardRoute("POST", _DELIVERY, send_again),
)
