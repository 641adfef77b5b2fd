"""Sends statuses and comments to the forges of projects, soon after their causes and until they arrive.

A row of the outbox means that something may have changed. It doesn't contain the content. Whoever holds a
pull request's lease reads the newest state, sends it, and records that. A holder stops sending well before
its lease ends.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from functools import partial

from prshots.contract.errors import PrshotsError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import NOT_COMPARED
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.outbox.delivery_loop import (
    LEASE_SECONDS,
    SEND_SECONDS,
    DeliveryLoop,
    next_attempt,
    reason_of,
)
from prshots.server.domain.outbox.models import Attempt, Claim, Connection, DeliveryKind, Due
from prshots.server.domain.outbox.ports import ConnectionRecords, ForgeDelivery, OutboxRecords
from prshots.server.domain.review.service import Reviews

AT_ONCE, OF_PROJECT = 6, 3
"""How many pull requests a process sends at once, in all and per project: a slow forge delays no others."""


class Outbox:
    def __init__(
        self,
        *,
        records: OutboxRecords,
        connections: ConnectionRecords,
        forges: ForgeDelivery,
        reviews: Reviews,
        comments: Comments,
        woken: asyncio.Event,
        on_sent: Callable[[DeliveryKind, ForgeKind], None] = lambda *_: None,
        on_failed: Callable[[DeliveryKind, ForgeKind], None] = lambda *_: None,
        on_waiting: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`woken` is set when this process has recorded a cause."""
        self._records = records
        self._connections = connections
        self._forges = forges
        self._reviews = reviews
        self._comments = comments
        self._on_sent = on_sent
        self._on_failed = on_failed
        self._loop = DeliveryLoop(
            due=lambda now, busy, limit: records.due(now, {*busy, *forges.exhausted()}, limit),
            send=lambda pull: self._send(*pull),
            limits=lambda pull: {pull[0]: OF_PROJECT},
            most=AT_ONCE,
            count_waiting=records.count_waiting,
            on_waiting=on_waiting,
            woken=woken,
        )
        self.start, self.close = self._loop.start, self._loop.close

    async def _send(self, project_id: str, pr_number: int) -> None:
        """Send what is due for a pull request. If this fails, the lease ends by itself."""
        until, now, holder = time.monotonic() + SEND_SECONDS, int(time.time()), secrets.token_hex(8)
        claim = await self._records.claim(project_id, pr_number, holder, now, now + LEASE_SECONDS)
        if claim is None:
            return
        connection = await self._connections.find(project_id)
        if connection is None:  # removed, with everything that was due
            return
        attempts = [await self._attempt(claim, due, connection, until) for due in claim.due]
        await self._records.finish(claim, attempts, int(time.time()))

    # One attempt

    async def _attempt(self, claim: Claim, due: Due, connection: Connection, until: float) -> Attempt:
        send = self._send_status if due.kind is DeliveryKind.STATUS else self._send_comment
        try:
            sent = await send(claim, due, connection, until)
        except Exception as error:  # noqa: BLE001 - after any error, there is a next attempt
            self._on_failed(due.kind, connection.forge)
            return Attempt(due) if claim.is_closed else self._failed(due, error)
        self._on_sent(due.kind, connection.forge)
        return Attempt(due, sent)

    def _failed(self, due: Due, error: Exception) -> Attempt:
        reason, asked = reason_of(error, due.kind)
        if isinstance(error, PrshotsError) and error.is_final:
            return Attempt(due, error=reason)
        next_at = next_attempt(time.time(), due.attempts, due.first_due_at, asked)
        return Attempt(due, error=reason, next_at=next_at)

    async def _send_status(self, claim: Claim, due: Due, connection: Connection, until: float) -> str:
        """Post the gate's statuses that the forge doesn't have. Return all of them, one per line.

        A sibling's connection may post the same status. A later cause makes both due again, so the newest
        state is always posted last.
        """
        commit_sha, statuses = await self._statuses(claim)
        if not commit_sha:  # deleted with its images, so the last statuses stay
            return due.sent
        lines = {f"{commit_sha} {of.state} {of.context}: {of.description}": of for of in statuses}
        for line, status in lines.items():
            if line not in due.sent.split("\n"):
                left = until - time.monotonic()
                await self._forges.set_status(connection, claim.pr_number, commit_sha, status, left)
        return "\n".join(lines)

    async def _statuses(self, claim: Claim) -> tuple[str, list[CommitStatus]]:
        """Return the newest commit and its statuses. Without a comparison, the commit is empty."""
        project, pr_number = claim.project, claim.pr_number
        gate = await self._reviews.gate(project, pr_number)
        if gate.commit_sha and gate.reason == NOT_COMPARED.reason:
            newer = await self._records.newer_commit(project.id, pr_number)
            # Without one, it is being compared by now, which is another cause.
            gate = await self._reviews.gate(project, pr_number, newer_commit=newer or "")
        page = gate.dashboard_url
        statuses = [CommitStatus(of.state, of.description, page, of.context) for of in gate.statuses]
        return gate.commit_sha, statuses

    async def _send_comment(self, claim: Claim, due: Due, connection: Connection, until: float) -> str:
        """Make the comment current. The forge has its text, so nothing is remembered."""
        del due
        write = partial(self._comments.write_sized, claim.project, claim.pr_number, view=None)
        await self._forges.keep_comment(connection, claim.pr_number, write, until - time.monotonic())
        return ""
