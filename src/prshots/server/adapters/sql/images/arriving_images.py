"""Commit images that arrive at about the same time together: they share a transaction and its fsync.

1. `ArrivingImages.add` puts an image into the queue and waits for its result.
2. A task commits batch after batch until the queue is empty.
3. When it is its turn to write, a batch takes everything from the queue in the writing thread. It therefore
   includes images that arrive while another process writes.
4. If the database refuses a batch, or it doesn't fit into a quota, its images are committed one by one.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import asdict
from typing import NamedTuple

from sqlalchemy import Connection, select, text

from prshots.contract.errors import RecordsError, RecordsUnsureError
from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.comparison.dependent_rows import point_baselines, pointer
from prshots.server.adapters.sql.database.database import Database, is_refusal
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import upload_keys
from prshots.server.adapters.sql.images.totals import add_images
from prshots.server.domain.images.models import KEPT_REPLY_SECONDS, Image, KeptReply
from prshots.server.domain.storage.models import Limit, Limits

FIND_REPLY = Prepared(
    select(upload_keys.c.reply, upload_keys.c.created_at).where(*given(upload_keys, "project_id", "key"))
)
# The same SQL for SQLite and PostgreSQL, where SQLAlchemy has two different constructs. It waits for another
# transaction that is adding the same key. An old reply, which the sweep hasn't removed yet, is replaced.
_KEEP_REPLY = text(
    "INSERT INTO upload_keys (project_id, key, reply, created_at) "
    "VALUES (:project_id, :key, :reply, :created_at) ON CONFLICT (project_id, key) DO UPDATE SET "
    "reply = excluded.reply, created_at = excluded.created_at WHERE upload_keys.created_at <= :too_old"
)


class _Arriving(NamedTuple):
    """An image waiting to be committed. If it has a branch, it becomes its shot's baseline there."""

    image: Image
    branch: str
    before: Image | None
    kept: KeptReply | None
    limits: Limits
    done: asyncio.Future[bool]

    def finish(self, error: Exception | None = None, *, is_new: bool = True) -> None:
        if self.done.cancelled():
            return
        if error:
            self.done.set_exception(error)
        else:
            self.done.set_result(is_new)


class _Queue:
    """The images waiting to be committed. The event loop adds them, and the writing thread takes them."""

    def __init__(self) -> None:
        self._arriving: list[_Arriving] = []
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._arriving)

    def add(self, arriving: _Arriving) -> None:
        with self._lock:
            self._arriving.append(arriving)

    def withdraw(self, arriving: _Arriving) -> bool:
        """Remove an image. Return False if it is too late because a batch has taken it."""
        with self._lock:
            is_here = arriving in self._arriving
            if is_here:
                self._arriving.remove(arriving)
            return is_here

    def take_all(self) -> list[_Arriving]:
        with self._lock:
            all_of_them, self._arriving = self._arriving, []
            return all_of_them


class _Batch:
    """The images of one commit: the given ones, or everything in the queue when it is our turn to write."""

    def __init__(self, queue: _Queue, given: list[_Arriving] | None = None) -> None:
        self._queue, self._members = queue, given
        self._lock = threading.Lock()

    def members(self) -> list[_Arriving]:
        """Take the images from the queue, but only once.

        Work that runs again, or still runs after a timeout, must not take other images.
        """
        with self._lock:
            if self._members is None:
                self._members = self._queue.take_all()
            return self._members

    def write(self, connection: Connection) -> list[KeptReply]:
        """Add the images. Return the replies of repeated uploads, whose images aren't added."""
        repeated = keep_replies(connection, [one.kept for one in self.members() if one.kept])
        members = [one for one in self.members() if one.kept not in repeated]
        before_images = [arriving.before for arriving in members if arriving.before]
        arrived = before_images + [arriving.image for arriving in members]
        if arrived:
            limits: dict[str, list[Limit]] = {}
            for one in members:  # if a quota changed between them, both apply to the batch
                known = limits.setdefault(one.image.project_id, [])
                known += [limit for limit in one.limits if limit not in known]
            add_images(connection, arrived, limits)
            point_baselines(connection, [pointer(one.image, one.branch) for one in members if one.branch])
        return repeated


class ArrivingImages:
    def __init__(
        self, database: Database, known_ids: Callable[[Collection[str]], Awaitable[set[str]]]
    ) -> None:
        self._database, self._known_ids = database, known_ids
        self._queue = _Queue()
        self._committing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._committing:
            await self._committing

    async def add(
        self,
        image: Image,
        branch: str,
        before: Image | None,
        kept: KeptReply | None,
        limits: Limits,
    ) -> bool:
        """Add the image and return once it is committed.

        Raises RecordsError, RecordsUnsureError, QuotaReachedError.

        Return False without adding it if the key of `kept` already has a reply.
        """
        arriving = _Arriving(image, branch, before, kept, limits, asyncio.get_running_loop().create_future())
        self._queue.add(arriving)
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        try:
            async with asyncio.timeout(self._database.call_seconds):
                return await arriving.done
        except TimeoutError:
            if self._queue.withdraw(arriving):
                raise RecordsError("the database did not answer: an earlier commit has not ended") from None
            raise RecordsUnsureError("the database did not answer: it may still commit the record") from None

    async def _commit_all(self) -> None:
        try:
            while self._queue:
                await self._commit(_Batch(self._queue))
        finally:
            self._committing = None

    async def _commit(self, batch: _Batch) -> None:
        """Commit a batch, and set the result of every image in it."""
        try:
            repeated = await self._database.write(batch.write)
        except Exception as error:  # noqa: BLE001 - every waiting upload must get a result
            is_outage = isinstance(error, RecordsError) and not is_refusal(error)
            if len(batch.members()) > 1 and not is_outage:  # one bad record must not fail the others
                for alone in batch.members():
                    await self._commit(_Batch(self._queue, [alone]))
            else:
                await self._report_failure(batch, error)
        else:
            for arriving in batch.members():
                arriving.finish(is_new=arriving.kept not in repeated)

    async def _report_failure(self, batch: _Batch, error: Exception) -> None:
        committed: set[str] = set()
        if isinstance(error, RecordsUnsureError):  # some may be committed, and others may still appear later
            with contextlib.suppress(RecordsError):
                committed = await self._known_ids([arriving.image.id for arriving in batch.members()])
        for arriving in batch.members():
            arriving.finish(None if arriving.image.id in committed else error)


def keep_replies(connection: Connection, replies: Iterable[KeptReply]) -> list[KeptReply]:
    """Keep these replies for repeated uploads. Return those whose `Idempotency-Key` already has one.

    Locks the keys in their order, before any other row.
    """
    in_order = sorted(replies, key=lambda kept: (kept.project_id, kept.key))
    return [kept for kept in in_order if not connection.execute(_KEEP_REPLY, _reply_row(kept)).rowcount]


def _reply_row(kept: KeptReply) -> dict[str, object]:
    reply = {name: value for name, value in asdict(kept.reply).items() if value is not None}
    return {
        "project_id": kept.project_id,
        "key": kept.key,
        "reply": json.dumps(reply),
        "created_at": kept.created_at,
        # A minute less than a day: a reply that is too young to replace can still be found afterwards.
        "too_old": kept.created_at - KEPT_REPLY_SECONDS + 60,
    }
