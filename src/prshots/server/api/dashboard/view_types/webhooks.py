"""Webhooks and their messages."""

from collections.abc import Sequence
from typing import TypedDict

from prshots.server.domain.webhooks.models import Event, Format


class WebhookView(TypedDict):
    id: str
    project_id: str | None
    """Null for all projects of the organization."""
    project: str
    """The project's name, or empty."""
    url: str
    format: Format
    events: Sequence[Event]
    created_by: str
    created_at: int
    old_secret_until: int | None
    """Until then, messages are also signed with the secret before the last rotation."""
    sent_at: int | None
    """When a message last arrived."""
    failing_since: int | None
    disabled_at: int | None
    """When the receiver answered 410. A change enables the webhook again."""


class WebhookListView(TypedDict):
    webhooks: list[WebhookView]


class NewWebhookView(TypedDict):
    webhook: WebhookView
    secret: str
    """Shown once."""


class WebhookDeliveryView(TypedDict):
    id: str
    """The message's `webhook-id`."""
    event: Event
    project_id: str | None
    pr_number: int | None
    created_at: int
    next_at: int | None
    """When it is sent next. Null if it arrived or was given up."""
    attempts: int
    sent_at: int | None
    status: int | None
    """The HTTP status of the last reply."""
    reply: str
    """The beginning of the last reply."""
    error: str


class WebhookDeliveriesView(TypedDict):
    deliveries: list[WebhookDeliveryView]
    next: str | None


class WebhookPayloadView(TypedDict):
    payload: str
    """The body, or empty before the first attempt."""
