"""Sends statuses and comments through connections, in threads."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from prshots.contract import validate
from prshots.contract.comments import MAX_COMMENT_BYTES
from prshots.contract.errors import ForgeError, UnreachableError
from prshots.server.domain.outbox.service import AT_ONCE
from prshots.server.used_time import UsedTime

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from prshots.contract.gates import CommitStatus
    from prshots.contract.replies import SizedComment
    from prshots.forges import Forge
    from prshots.server.adapters.forges.forge_opener import ForgeOpener
    from prshots.server.domain.outbox.models import Connection
    from prshots.server.domain.outbox.ports import WriteComment

JOB_ACCOUNTS = {"github-actions[bot]", "gitea-actions", "forgejo-actions"}
"""Accounts that only the repository's jobs can write as. Their sticky comment is also ours."""


REQUESTS_PER_HOUR = 1_000
"""How many a process sends through a connection. GitHub allows 5,000 per token, which jobs also use."""


class Deliveries:
    def __init__(self, forges: ForgeOpener) -> None:
        self._forges = forges
        self._requests = UsedTime(half_life=3600 * math.log(2))  # decays by as many an hour as are allowed
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="outbox")

    def exhausted(self) -> Collection[str]:
        return self._requests.above(REQUESTS_PER_HOUR)

    async def set_status(
        self, connection: Connection, pr_number: int, commit_sha: str, status: CommitStatus, seconds: float
    ) -> None:
        def send(forge: Forge) -> None:
            forge.set_status(_complete_sha(forge, pr_number, commit_sha), status)

        await self._send(connection, seconds, send)

    async def keep_comment(
        self, connection: Connection, pr_number: int, write: WriteComment, seconds: float
    ) -> None:
        """Update our comment, or the job's. Create one only if there are screenshots."""
        from prshots.forges.sticky_comment import PostOutcome, keep_current

        loop = asyncio.get_running_loop()
        written: list[SizedComment] = []

        def send(forge: Forge) -> None:
            def render() -> str:
                writing = write(min(forge.max_characters, MAX_COMMENT_BYTES), forge.marker_style)
                written.append(asyncio.run_coroutine_threadsafe(writing, loop).result(seconds))
                return written[-1].markdown

            def creates() -> bool:
                last = written[-1]
                return not _update_comment_of_job(forge, pr_number, last) and last.count > 0

            posted = keep_current(
                forge, pr_number, render, creating=creates, is_alone=lambda: not written[-1].siblings
            )
            if posted.outcome is PostOutcome.KEPT:
                _update_comment_of_job(forge, pr_number, written[-1])

        await self._send(connection, seconds, send)

    async def _send(self, connection: Connection, seconds: float, send: Callable[[Forge], None]) -> None:
        """Send in a thread. Waits for its end, even if it overruns: only then is its result known."""
        until, loop = time.monotonic() + seconds, asyncio.get_running_loop()

        def run() -> None:
            if (left := until - time.monotonic()) <= 0:
                raise UnreachableError("the service was too busy to send this: it will retry")
            with self._forges.open(connection, left) as forge:
                try:
                    send(forge)
                finally:
                    loop.call_soon_threadsafe(self._requests.add, connection.project_id, forge.requests)

        await loop.run_in_executor(self._threads, run)


def _complete_sha(forge: Forge, pr_number: int, commit_sha: str) -> str:
    """Return the full SHA of a commit that may be abbreviated. Raises ForgeError."""
    if validate.full_commit(commit_sha):
        return commit_sha
    head = validate.full_commit(forge.pull_request(pr_number).head_sha)
    if head.startswith(commit_sha.lower()):
        return head
    raise ForgeError(
        f"a status needs a full SHA, and {commit_sha} is not the head of pull request {pr_number}: "
        "upload and compare with the full SHA"
    )


def _update_comment_of_job(forge: Forge, pr_number: int, current: SizedComment) -> bool:
    """Update the project's comment that a job posted with its own token. Return False if there is none.

    If the notice rises, leave it to the next job, which can replace its comment with a new one.
    """
    from prshots.forges.sticky_comment import has_marker, is_of_project, notice_in

    marker, text = forge.marker(pr_number), current.markdown
    for comment in forge.comments(pr_number):
        if (
            comment.author in JOB_ACCOUNTS
            and has_marker(comment, marker)
            and is_of_project(comment, text, is_alone=not current.siblings)
        ):
            if notice_in(text) <= notice_in(comment.body):
                forge.update(pr_number, comment.id, text)
            return True
    return False
