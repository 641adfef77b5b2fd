"""Sends statuses and comments to the forges of projects, soon after their causes and until they arrive.

A row of the outbox says that something may have changed, not what to send. Whoever holds a pull request's
lease reads the newest state, sends it, and records that. A holder stops sending well before its lease ends.
"""

import asyncio
import contextlib
import random
import secrets
import time
from collections.abc import Callable
from functools import partial

import structlog

from prshots.contract.errors import PrshotsError
from prshots.contract.gates import status_of
from prshots.contract.redaction import redact_briefly
from prshots.contract.replies import NOT_COMPARED
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.outbox.models import Attempt, Claim, Connection, DeliveryKind, Due, FailingDelivery
from prshots.server.domain.outbox.ports import ConnectionRecords, ForgeDelivery, OutboxRecords
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.service import Reviews

SEND_SECONDS = 15.0
"""How long a holder sends."""

LEASE_SECONDS = 30
"""How long a pull request is held. The rest is for database calls, and for clocks that differ."""

POLL_SECONDS = 2.0
"""How long another process's cause may go unnoticed."""

COUNT_SECONDS = 30.0
AT_ONCE = 4
"""How many pull requests a process sends at once, each of another project: a slow forge delays no others."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1, 300
GIVE_UP_SECONDS = 24 * 3600
STOP_SECONDS = 3.0
SHOWN_FAILING = 100

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
        on_attempt: Callable[[DeliveryKind, bool], None] = lambda _, __: None,
        on_waiting: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`woken` is set when this process has recorded a cause.

        `on_attempt` is called with the kind and whether it was sent.
        """
        self._records = records
        self._connections = connections
        self._forges = forges
        self._reviews = reviews
        self._comments = comments
        self._woken = woken
        self._on_attempt = on_attempt
        self._on_waiting = on_waiting
        self._clock = clock
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._running: asyncio.Task[None] | None = None

    async def failing(self, project: Project) -> tuple[list[FailingDelivery], int]:
        """Return what fails in a project, and how much waits."""
        return await self._records.failing(project.id, SHOWN_FAILING)

    async def failing_of_pull(self, project: Project, pr_number: int) -> list[FailingDelivery]:
        return await self._records.failing_of_pull(project.id, pr_number)

    # Running

    def start(self) -> None:
        """Start sending, on the running event loop."""
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop. Lets attempts end that are about to. Another process repeats the others."""
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
        """Start to send what is due, one pull request of each project."""
        if len(self._sending) == AT_ONCE:
            return
        now = int(self._clock())
        for project_id, pr_number in await self._records.due(now, self._sending, limit=5 * AT_ONCE):
            if project_id not in self._sending and len(self._sending) < AT_ONCE:
                sending = asyncio.create_task(self._send(project_id, pr_number))
                self._sending[project_id] = sending
                sending.add_done_callback(partial(self._forget, project_id))

    def _forget(self, project_id: str, sent: "asyncio.Task[None]") -> None:
        del self._sending[project_id]
        if sent.cancelled():
            return
        error = sent.exception()
        if error is None:
            self._woken.set()  # the project may have more
        elif not isinstance(error, PrshotsError):  # the database reports its outages
            _log.error("outbox failed", exc_info=error)

    async def _send(self, project_id: str, pr_number: int) -> None:
        """Send what is due for a pull request. If this fails, the lease ends by itself."""
        until, now, holder = time.monotonic() + SEND_SECONDS, int(self._clock()), secrets.token_hex(8)
        claim = await self._records.claim(project_id, pr_number, holder, now, now + LEASE_SECONDS)
        if claim is None:
            return
        connection = await self._connections.find(project_id)
        if connection is None:
            await self._records.discard(project_id)
            return
        attempts = [await self._attempt(claim, due, connection, until) for due in claim.due]
        await self._records.finish(claim, attempts, int(self._clock()))

    # One attempt

    async def _attempt(self, claim: Claim, due: Due, connection: Connection, until: float) -> Attempt:
        send = self._send_status if due.kind is DeliveryKind.STATUS else self._send_comment
        try:
            sent = await send(claim, due, connection, until)
        except Exception as error:  # noqa: BLE001 - an attempt must end, or its successor would fail the same way
            self._on_attempt(due.kind, False)
            return self._failed(due, error)
        self._on_attempt(due.kind, True)
        return Attempt(due, sent)

    def _failed(self, due: Due, error: Exception) -> Attempt:
        is_expected = isinstance(error, PrshotsError)
        if not is_expected:
            _log.error("sending failed", kind=due.kind, exc_info=error)
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (min(due.attempts, 20) - 1), LONGEST_PAUSE_SECONDS)
        now, asked = int(self._clock()), getattr(error, "retry_after", 0.0)
        next_at = now + max(pause, int(asked) + 1 if asked else 0)
        reason = redact_briefly(str(error)) if is_expected else "internal error"
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
        """Make the comment current. The forge knows best what it says, so nothing is remembered."""
        del due
        write = partial(self._comments.write_sized, claim.project, claim.pr_number, view=None)
        await self._forges.keep_comment(connection, claim.pr_number, write, until - time.monotonic())
        return ""
