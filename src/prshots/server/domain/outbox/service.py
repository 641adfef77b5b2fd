"""Sends statuses and comments to the forges of projects, soon after their causes and until they arrive.

A row of the outbox means that something may have changed. It doesn't contain the content. Whoever holds a
pull request's lease reads the newest state, sends it, and records that. A holder stops sending well before
its lease ends.
"""

import asyncio
import contextlib
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import structlog

from prshots.contract.errors import PrshotsError
from prshots.contract.gates import status_of
from prshots.contract.redaction import redact_briefly
from prshots.contract.replies import NOT_COMPARED
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.outbox.models import Attempt, Claim, Connection, DeliveryKind, Due
from prshots.server.domain.outbox.ports import ConnectionRecords, ForgeDelivery, OutboxRecords
from prshots.server.domain.review.service import Reviews

SEND_SECONDS = 15.0
"""How long a holder sends."""

LEASE_SECONDS = 30
"""How long a pull request is held. The time after `SEND_SECONDS` is for database calls and clock skew."""

POLL_SECONDS = 2.0
"""How long another process's cause may go unnoticed."""

COUNT_SECONDS = 30.0
AT_ONCE, OF_PROJECT = 6, 3
"""How many pull requests a process sends at once, in all and per project: a slow forge delays no others."""

LONGEST_PAUSE_SECONDS = 300
GIVE_UP_SECONDS = 24 * 3600
STOP_SECONDS = 3.0

_log = structlog.get_logger()


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
        on_sent: Callable[[DeliveryKind], None] = lambda _: None,
        on_failed: Callable[[DeliveryKind], None] = lambda _: None,
        on_waiting: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`woken` is set when this process has recorded a cause."""
        self._records = records
        self._connections = connections
        self._forges = forges
        self._reviews = reviews
        self._comments = comments
        self._woken = woken
        self._on_sent = on_sent
        self._on_failed = on_failed
        self._on_waiting = on_waiting
        self._clock = clock
        self._sending: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start sending, on the running event loop."""
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop. Attempts in progress get a few seconds. Another process repeats those that don't finish."""
        if self._running:
            self._running.cancel()
        if self._sending:
            await asyncio.wait(self._sending.values(), timeout=STOP_SECONDS)
        for task in self._sending.values():
            task.cancel()

    async def _run(self) -> None:
        counted_at = 0.0
        while True:
            self._woken.clear()
            try:
                await self._send_due()
                if time.monotonic() - counted_at > COUNT_SECONDS:
                    counted_at = time.monotonic()
                    self._on_waiting(await self._records.count_waiting())
            except PrshotsError:
                pass  # the database reports its outages
            except Exception:  # noqa: BLE001 - the next round may work
                _log.exception("outbox failed")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), POLL_SECONDS * random.uniform(0.75, 1.25))  # noqa: S311

    async def _send_due(self) -> None:
        """Start to send what is due."""
        count = Counter(project_id for project_id, _ in self._sending)
        busy = [project_id for project_id in count if count[project_id] == OF_PROJECT]
        for pull in await self._records.due(int(self._clock()), busy, limit=5 * AT_ONCE):
            is_free = pull not in self._sending and count[pull[0]] < OF_PROJECT
            if is_free and len(self._sending) < AT_ONCE:
                count[pull[0]] += 1
                sending = self._sending[pull] = asyncio.create_task(self._send(*pull))
                sending.add_done_callback(partial(self._forget, pull))

    def _forget(self, pull: tuple[str, int], sent: "asyncio.Task[None]") -> None:
        del self._sending[pull]
        if sent.cancelled():
            return
        error = sent.exception()
        if error is None:
            self._woken.set()  # there may be more
        elif not isinstance(error, PrshotsError):  # the database reports its outages
            _log.error("outbox failed", exc_info=error)

    async def _send(self, project_id: str, pr_number: int) -> None:
        """Send what is due for a pull request. If this fails, the lease ends by itself."""
        until, now, holder = time.monotonic() + SEND_SECONDS, int(self._clock()), secrets.token_hex(8)
        claim = await self._records.claim(project_id, pr_number, holder, now, now + LEASE_SECONDS)
        if claim is None:
            return
        connection = await self._connections.find(project_id)
        if connection is None:  # removed, with everything that was due
            return
        attempts = [await self._attempt(claim, due, connection, until) for due in claim.due]
        await self._records.finish(claim, attempts, int(self._clock()))

    # One attempt

    async def _attempt(self, claim: Claim, due: Due, connection: Connection, until: float) -> Attempt:
        send = self._send_status if due.kind is DeliveryKind.STATUS else self._send_comment
        try:
            sent = await send(claim, due, connection, until)
        except Exception as error:  # noqa: BLE001 - after any error, there is a next attempt
            self._on_failed(due.kind)
            return self._failed(due, error)
        self._on_sent(due.kind)
        return Attempt(due, sent)

    def _failed(self, due: Due, error: Exception) -> Attempt:
        if isinstance(error, PrshotsError):
            reason, asked = redact_briefly(str(error)), error.retry_after
        else:
            _log.error("sending failed", kind=due.kind, exc_info=error)
            reason, asked = "internal error", 0.0
        pause = min(2 ** (min(due.attempts, 20) - 1), LONGEST_PAUSE_SECONDS)
        next_at = int(self._clock() + min(max(pause, asked), GIVE_UP_SECONDS + 1))  # it may ask for infinity
        is_given_up = next_at > due.first_due_at + GIVE_UP_SECONDS
        return Attempt(due, error=reason, next_at=None if is_given_up else next_at)

    async def _send_status(self, claim: Claim, due: Due, connection: Connection, until: float) -> str:
        """Set the status of the newest commit, unless the forge has it. Return it in one line."""
        project, pr_number = claim.project, claim.pr_number
        comparison = await self._reviews.latest(project, pr_number, with_urls=())
        if comparison is None:  # deleted with its images, so the last status stays
            return due.sent
        commit_sha: str | None = comparison.commit_sha
        if comparison.gate == NOT_COMPARED:
            commit_sha = await self._records.newer_commit(project.id, pr_number)
        if commit_sha is None:  # it is being compared by now, which is another cause
            return due.sent
        status = status_of(comparison.gate, comparison.dashboard_url)
        sent = f"{commit_sha} {status.state} {status.description}"
        if sent != due.sent:
            left = until - time.monotonic()
            await self._forges.set_status(connection, pr_number, commit_sha, status, left)
        return sent

    async def _send_comment(self, claim: Claim, due: Due, connection: Connection, until: float) -> str:
        """Make the comment current. The forge has its text, so nothing is remembered."""
        del due
        write = partial(self._comments.write_sized, claim.project, claim.pr_number, view=None)
        await self._forges.keep_comment(connection, claim.pr_number, write, until - time.monotonic())
        return ""
