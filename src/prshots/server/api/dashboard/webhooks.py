"""The webhooks of an organization and of its projects, for its owners. A secret is shown once."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Answer, Call, DashboardRoute, Method, organization_route
from prshots.server.domain.projects.models import Organization, Role
from prshots.server.domain.webhooks.models import CHOICES, Event, Format, Webhook

PAGE = 30
MAX_WEBHOOKS = 20
OVERLAP_SECONDS = 24 * 3600
"""How long the secret before a rotation also signs."""

_PATH, _DELIVERY = "/webhooks", "/deliveries/{delivery_id}"


async def list_webhooks(call: Call, organization: Organization) -> view_types.WebhookListView:
    found = await call.services.webhooks.webhooks(organization.id)
    return {"webhooks": [views.webhook_view(each) for each in found]}


async def create(call: Call, organization: Organization) -> view_types.NewWebhookView:
    body = await call.body()
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
    return {"webhook": await _stored(call, webhook), "secret": plain}


async def change(call: Call, webhook: Webhook) -> view_types.WebhookView:
    await call.services.webhooks.change(await _with_settings(call, webhook, await call.body()))
    return await _stored(call, webhook)


async def remove(call: Call, webhook: Webhook) -> view_types.DoneView:
    await call.services.webhooks.remove(webhook)
    return {"ok": True}


async def rotate(call: Call, webhook: Webhook) -> view_types.NewWebhookView:
    secret, plain = call.services.receivers.new_secret(webhook.id)
    await call.services.webhooks.rotate(webhook, secret, call.services.now() + OVERLAP_SECONDS)
    return {"webhook": await _stored(call, webhook), "secret": plain}


async def send_test(call: Call, webhook: Webhook) -> view_types.DoneView:
    await call.services.webhooks.send_test(webhook, call.services.now())
    call.services.wake_webhooks()
    return {"ok": True}


async def list_deliveries(call: Call, webhook: Webhook) -> view_types.WebhookDeliveriesView:
    after = call.after(int)
    found = await call.services.webhooks.deliveries(webhook.id, after[0] if after else None, PAGE)
    return {
        "deliveries": [views.delivery_view(each) for each in found],
        "next": next_cursor(found, PAGE, lambda each: (each.seq,)),
    }


async def show_payload(call: Call, webhook: Webhook) -> view_types.WebhookPayloadView:
    return {"payload": await call.services.webhooks.body(webhook.id, call.path("delivery_id"))}


async def send_again(call: Call, webhook: Webhook) -> view_types.DoneView:
    await call.services.webhooks.send_again(webhook, call.path("delivery_id"), call.services.now())
    call.services.wake_webhooks()
    return {"ok": True}


async def _with_settings(call: Call, webhook: Webhook, body: dict[str, Any]) -> Webhook:
    """Return the webhook with the body's settings. Raises InvalidInputError."""
    wanted = fields.choice(Format, body.get("format"), "format")
    events = _events(fields.texts(body, "events"))
    url = fields.text(body, "url").strip()
    await call.services.receivers.check(url)
    # The check takes seconds. Someone who stopped being an owner in the meantime gets a 403 or 404.
    await call.services.organizations.find_for(call.user, webhook.organization_id, Role.OWNER)
    return replace(webhook, url=url, format=wanted, events=events)


def _events(names: list[str]) -> list[Event]:
    if not names or not set(names) <= set(CHOICES):
        raise InvalidInputError(f"events must be a list of at least one of {', '.join(CHOICES)}")
    return [event for event in CHOICES if event in names]


async def _stored(call: Call, webhook: Webhook) -> view_types.WebhookView:
    return views.webhook_view(await call.services.webhooks.find(webhook.organization_id, webhook.id))


def _webhook_route(
    method: Method, path: str, handler: Callable[[Call, Webhook], Awaitable[Answer]]
) -> DashboardRoute:
    async def with_webhook(call: Call, organization: Organization) -> Answer:
        return await handler(
            call, await call.services.webhooks.find(organization.id, call.path("webhook_id"))
        )

    return organization_route(method, f"{_PATH}/{{webhook_id}}{path}", with_webhook)


ROUTES = (
    organization_route("GET", _PATH, list_webhooks),
    organization_route("POST", _PATH, create, HTTPStatus.CREATED),
    _webhook_route("PUT", "", change),
    _webhook_route("DELETE", "", remove),
    _webhook_route("POST", "/secret", rotate),
    _webhook_route("POST", "/test", send_test),
    _webhook_route("GET", "/deliveries", list_deliveries),
    _webhook_route("GET", _DELIVERY, show_payload),
    _webhook_route("POST", _DELIVERY, send_again),
)
