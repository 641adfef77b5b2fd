"""The ports for webhooks and their messages, with the errors that each call raises."""

from collections.abc import Collection, Mapping
from typing import Protocol

from prshots.server.domain.webhooks.models import (
    ClaimedMessage,
    Format,
    ListedDelivery,
    QueueKey,
    Receipt,
    Webhook,
    WebhookSecret,
)


class WebhookRecords(Protocol):
    """The webhooks of organizations, and their messages. Raises RecordsError.

    Writing also raises RecordsFullError, and NotFoundError if the webhook isn't there.
    """

    async def webhooks(self, organization_id: str) -> list[Webhook]:
        """Return an organization's webhooks, oldest first."""

    async def find(self, organization_id: str, webhook_id: str) -> Webhook: ...

    async def add(self, webhook: Webhook, most: int) -> None:
        """Add a webhook. Raises NotFoundError without its place, ConflictError if there are `most`."""

    async def change(self, webhook: Webhook) -> None:
        """Change the address, format and events, and enable the webhook."""

    async def rotate(self, webhook: Webhook, secret: WebhookSecret, old_until: int) -> None:
        """Replace the secret. The one before also signs until then."""

    async def remove(self, webhook: Webhook) -> None:
        """Remove a webhook and its messages."""

    async def deliveries(self, webhook_id: str, before: int | None, limit: int) -> list[ListedDelivery]:
        """Return messages, newest first, with a `seq` below `before`."""

    async def body(self, webhook_id: str, delivery_id: str) -> str:
        """Return a message's body, or "" if no attempt was made."""

    async def send_again(self, webhook: Webhook, delivery_id: str, now: int) -> None:
        """Make a message due now, with the same id and body. One that is being sent stays as it is."""

    async def send_test(self, webhook: Webhook, now: int) -> None:
        """Send a test message, or the one that waits again."""


class WebhookQueues(Protocol):
    """What webhooks have to send. Raises RecordsError. Causes add to it in their own transactions."""

    async def due(self, now: int, busy: Collection[str], limit: int) -> list[QueueKey]:
        """Return queues whose next message is due, longest due first.

        Leaves out the organizations and webhooks in `busy`, and queues whose next message someone holds.
        """

    async def claim(self, queue: QueueKey, holder: str, now: int, until: int) -> ClaimedMessage | None:
        """Lease the queue's next message to this holder, until then. It is due again if the lease ends.

        Return None if nothing is due, if someone else holds the queue, or if the webhook is disabled.
        """

    async def keep_body(self, claim: ClaimedMessage, body: str, gate: str) -> bool:
        """Record the body before it is sent, and the gate's state. Return False if the lease has ended."""

    async def discard(self, claim: ClaimedMessage) -> None:
        """Remove a message that has nothing to say."""

    async def finish(self, claim: ClaimedMessage, receipt: Receipt, next_at: int | None, now: int) -> None:
        """Record an attempt and end the lease. The queue continues at `next_at`, or now without one.

        If the lease has ended, change nothing: the message is due again. A receiver that is gone disables the
        webhook, unless it has another address by now: then the message is due there.
        """

    async def count_waiting(self) -> int: ...

    async def discard_old(self, until: int, limit: int) -> int:
        """Remove up to about `limit` messages from this time or earlier that don't wait. Return how many."""


class WebhookReceivers(Protocol):
    """The servers that receive messages, and what they are sent."""

    def new_secret(self, webhook_id: str) -> tuple[WebhookSecret, str]:
        """Return a new secret, encrypted and in plain text. Raises KeysError."""

    async def check(self, url: str) -> None:
        """Raise InvalidInputError if messages can't be sent to this address."""

    def write(self, wanted: Format, message: Mapping[str, object]) -> str:
        """Return the body for a message in this format."""

    async def send(self, webhook: Webhook, message_id: str, body: str, seconds: float) -> Receipt:
        """Send a signed message. Never sends anything after about `seconds`.

        Raises ForgeError for an address that isn't allowed, UnreachableError, KeysError.
        """
