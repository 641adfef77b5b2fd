"""Sends the messages of webhooks, in order per pull request, soon after their causes and until they arrive.

The first attempt writes the body, and every later one sends the same bytes under the same id. A receiver
may get a message twice, and drops the second one by its id.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

from prshots.contract.replies import ComparisonState, Gate
from prshots.server.domain.images.ports import Overview
from prshots.server.domain.outbox.delivery_loop import (
    LEASE_SECONDS,
    SEND_SECONDS,
    DeliveryLoop,
    next_attempt,
    reason_of,
)
from prshots.server.domain.review.service import Reviews
from prshots.server.domain.webhooks.models import ClaimedMessage, Event, QueueKey, Receipt
from prshots.server.domain.webhooks.ports import WebhookQueues, WebhookReceivers

AT_ONCE, OF_ORGANIZATION, OF_WEBHOOK = 12, 6, 2
"""How many messages a process sends at once, in all, per organization and per webhook: a slow receiver
delays no others."""


class WebhookSender:
    def __init__(
        self,
        *,
        queues: WebhookQueues,
        receivers: WebhookReceivers,
        reviews: Reviews,
        overview: Overview,
        web_url: str,
        woken: asyncio.Event,
        on_sent: Callable[[Event], None] = lambda _: None,
        on_failed: Callable[[Event], None] = lambda _: None,
        on_waiting: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._queues, self._receivers = queues, receivers
        self._reviews, self._overview, self._web_url = reviews, overview, web_url
        self._on_sent, self._on_failed = on_sent, on_failed
        loop = DeliveryLoop(
            due=queues.due,
            send=self._send,
            limits=lambda queue: {queue.organization_id: OF_ORGANIZATION, queue.webhook_id: OF_WEBHOOK},
            most=AT_ONCE,
            count_waiting=queues.count_waiting,
            on_waiting=on_waiting,
            woken=woken,
        )
        self.start, self.close, self.wake = loop.start, loop.close, woken.set

    async def _send(self, queue: QueueKey) -> None:
        """Send a queue's next message. If this fails, the lease ends by itself."""
        until, now, holder = time.monotonic() + SEND_SECONDS, int(time.time()), secrets.token_hex(8)
        claim = await self._queues.claim(queue, holder, now, now + LEASE_SECONDS)
        if claim is None:
            return
        message = claim.message
        body = message.body or await self._write(claim)
        if not body:
            return
        try:
            receipt = await self._receivers.send(claim.webhook, message.id, body, until - time.monotonic())
            asked = 0.0
        except Exception as error:  # noqa: BLE001 - after any error, there is a next attempt
            reason, asked = reason_of(error, message.event)
            receipt = Receipt(error=reason)
        (self._on_failed if receipt.error else self._on_sent)(message.event)
        ended = int(time.time())
        fails = receipt.error and not receipt.is_gone
        next_at = next_attempt(ended, message.attempts, message.first_due_at, asked) if fails else None
        await self._queues.finish(claim, receipt, next_at, ended)

    async def _write(self, claim: ClaimedMessage) -> str:
        """Write the body, and record it. Return "" if there is nothing to send, or the lease has ended."""
        gate = None
        if claim.project and claim.queue.pr_number:
            newest = await self._reviews.newest(claim.project, claim.queue.pr_number)
            gate = newest.gate if newest else None
        if claim.message.event is Event.GATE and not _is_news(gate, claim.sent_gate):
            await self._queues.discard(claim)
            return ""
        message = {
            "type": claim.message.event.value,
            "timestamp": datetime.fromtimestamp(claim.message.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "data": await self._data(claim, gate),
        }
        body = self._receivers.write(claim.webhook.format, message)
        return body if await self._queues.keep_body(claim, body, gate.state if gate else "") else ""

    async def _data(self, claim: ClaimedMessage, gate: Gate | None) -> dict[str, object]:
        project, number, organization_id = claim.project, claim.queue.pr_number, claim.queue.organization_id
        data: dict[str, object] = {"organization": {"id": organization_id, "name": claim.organization}}
        url = f"{self._web_url}/organizations/{organization_id}"
        if project:
            url = f"{self._web_url}/projects/{project.id}"
            data["project"] = {"id": project.id, "name": project.name, "url": url}
        if project and number:
            pull = await self._overview.pull(project.id, number)
            url = f"{url}/prs/{number}"
            data["pull_request"] = {"number": number, "title": pull.title if pull else "", "url": url}
        if gate:
            data["gate"] = {"state": gate.state.value, "open": gate.open, "reason": gate.reason}
        return {**data, "url": url, **claim.message.cause}


def _is_news(gate: Gate | None, sent: str) -> bool:
    """Return whether the gate has another state than the last one sent.

    While a comparison runs, nothing is: its end is another cause.
    """
    return gate is not None and gate.reason != ComparisonState.RUNNING and gate.state != sent
