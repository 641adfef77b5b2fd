"""Sends statuses and comments through connections, in threads."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from prshots.contract.comments import MAX_COMMENT_BYTES
from prshots.contract.errors import ForgeError, UnreachableError
from prshots.server.domain.outbox.service import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from prshots.contract.gates import CommitStatus
    from prshots.contract.replies import SizedComment
    from prshots.forges import Forge
    from prshots.server.domain.outbox.models import Connection
    from prshots.server.domain.outbox.ports import WriteComment

JOB_ACCOUNTS = {"github-actions[bot]", "gitea-actions", "forgejo-actions"}
"""Accounts that only jobs of the repository can write as. Their sticky comment is ours, too."""

FULL_SHA = 40


class Deliveries:
    def __init__(self, open_forge: Callable[[Connection], Forge]) -> None:
        self._open = open_forge
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="outbox")

    async def set_status(
        self, connection: Connection, pr_number: int, commit_sha: str, status: CommitStatus, seconds: float
    ) -> None:
        def send(forge: Forge) -> None:
            forge.set_status(_complete_sha(forge, pr_number, commit_sha), status)

        await self._send(connection, seconds, send)

    async def keep_comment(
        self, connection: Connection, pr_number: int, write: WriteComment, seconds: float
    ) -> None:
        loop = asyncio.get_running_loop()

        def send(forge: Forge) -> None:
            limit = min(forge.max_characters, MAX_COMMENT_BYTES)

            def render() -> SizedComment:
                writing = write(limit, forge.marker_style)
                return asyncio.run_coroutine_threadsafe(writing, loop).result(seconds)

            _keep_comment(forge, pr_number, render)

        await self._send(connection, seconds, send)

    async def _send(self, connection: Connection, seconds: float, send: Callable[[Forge], None]) -> None:
        """Send in a thread. Waits for its end, even if it overruns: only then is its result known."""
        until = time.monotonic() + seconds

        def run() -> None:
            from prshots.forges.deadline import closing_at_deadline, deadline_after

            if (left := until - time.monotonic()) <= 0:
                raise UnreachableError("the service was too busy to send this: it tries again")
            with deadline_after(left), closing_at_deadline(self._open(connection)) as forge:
                send(forge)

        await asyncio.get_running_loop().run_in_executor(self._threads, run)


def _complete_sha(forge: Forge, pr_number: int, commit_sha: str) -> str:
    """Return the full SHA of a commit that may be abbreviated. Raises ForgeError."""
    if len(commit_sha) == FULL_SHA:
        return commit_sha
    head = forge.pull_request(pr_number).head_sha
    if len(head) == FULL_SHA and head.startswith(commit_sha.lower()):
        return head
    raise ForgeError(
        f"a status needs a full SHA, and {commit_sha} is not the head of pull request {pr_number}: "
        "upload and compare with the full SHA"
    )


def _keep_comment(forge: Forge, pr_number: int, render: Callable[[], SizedComment]) -> None:
    """Make our comment current, or the job's. Create one only if there are screenshots."""
    from prshots.forges.sticky_comment import keep_current

    written: list[SizedComment] = []

    def render_text() -> str:
        written.append(render())
        return written[-1].markdown

    def creates() -> bool:
        return not _update_comment_of_job(forge, pr_number, written[-1].markdown) and written[-1].count > 0

    keep_current(forge, pr_number, render_text, creating=creates)


def _update_comment_of_job(forge: Forge, pr_number: int, text: str) -> bool:
    """Update the comment that a job posted with its own token. Return False if there is none.

    If the notice rises, leave it to the next job, which can replace its comment by a new one.
    """
    from prshots.forges.sticky_comment import notice_in

    marker = forge.marker(pr_number)
    for comment in forge.comments(pr_number):
        if comment.author in JOB_ACCOUNTS and comment.body.startswith(marker):
            if notice_in(text) <= notice_in(comment.body):
                forge.update(pr_number, comment.id, text)
            return True
    return False
