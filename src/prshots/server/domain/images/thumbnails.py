"""Thumbnails: created on first view, stored next to the original, deleted with it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import structlog

from prshots.contract import errors
from prshots.server.bounded_cache import BoundedCache
from prshots.server.domain.images.models import Image, ThumbnailState
from prshots.server.domain.images.ports import ImageRecords, ObjectStore, RenderThumbnail
from prshots.server.domain.images.recorded_objects import store_and_record

_log = structlog.get_logger()

ThumbnailAnswer = ThumbnailState | Literal["later"]
"""`later` means that the thumbnail isn't ready yet, or that a later call may succeed."""

AT_ONCE = 3
"""Two are being rendered while the next is being read from the store, which may be remote."""

MAX_WAITING = 240
"""The limit for each project. It takes ten open gallery pages to request this many thumbnails."""

PATIENCE_SECONDS = 10.0
"""How long a caller waits, because proxies close slow requests. Rendering continues after that."""

MAX_DEATHS = 2
"""After this many worker deaths while decoding an image, the image isn't decoded again."""

_REMEMBERED_DEATHS = 1000


class Thumbnails:
    """Renders each project's thumbnails one at a time, so no project has to wait for another."""

    def __init__(
        self,
        *,
        records: ImageRecords,
        store: ObjectStore,
        render: RenderThumbnail,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._render_thumbnail = render
        self._records = records
        self._store = store
        self._patience_seconds = patience_seconds
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._turns: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()
        self._deaths: BoundedCache[str, int] = BoundedCache(_REMEMBERED_DEATHS)
        self._is_closed = False
        self._in_progress: dict[str, asyncio.Task[ThumbnailAnswer | None]] = {}

    async def close(self) -> None:
        """Finish the thumbnails in progress. The next view creates the others."""
        self._is_closed = True
        await asyncio.gather(*self._in_progress.values(), return_exceptions=True)

    async def make(self, images: Sequence[Image]) -> dict[str, ThumbnailAnswer]:
        """Create missing thumbnails. Return the outcome by image id, without deleted images."""
        tasks = {image.id: self._begin(image) for image in images if image.thumbnail is None}
        if tasks:  # not cancelled with this caller: others may wait for the same thumbnails
            await asyncio.wait(tasks.values(), timeout=self._patience_seconds)
        answers = {image.id: image.thumbnail or _answer(tasks[image.id]) for image in images}
        return {image_id: answer for image_id, answer in answers.items() if answer is not None}

    def _begin(self, image: Image) -> "asyncio.Task[ThumbnailAnswer | None]":
        """Return the task that creates this thumbnail. All callers share it."""
        task = self._in_progress.get(image.id)
        if task is None:
            task = self._in_progress[image.id] = asyncio.create_task(self._make_one(image))
            task.add_done_callback(lambda _: self._in_progress.pop(image.id))
        return task

    async def _make_one(self, image: Image) -> ThumbnailAnswer | None:
        """Return the thumbnail's outcome, or None if the image is deleted or scheduled for expiry."""
        if self._waiting[image.project_id] >= MAX_WAITING:
            return "later"
        self._waiting[image.project_id] += 1
        try:
            return await self._render_and_store(image)
        except (errors.StoreError, errors.RecordsError, errors.PictureWorkerError) as error:
            if isinstance(error, errors.PictureWorkerError) or not error.count_request:
                _log.error("thumbnail failed, retrying on the next view", image=image.id, reason=str(error))
            return "later"
        finally:
            self._waiting[image.project_id] -= 1
            if not self._waiting[image.project_id]:
                del self._waiting[image.project_id]
                self._turns.pop(image.project_id, None)

    async def _render_and_store(self, image: Image) -> ThumbnailAnswer | None:
        try:
            thumbnail = await self._render(image)
        except errors.PictureError as error:
            return await self._record_refusal(image, error.reason, str(error))
        except errors.PictureWorkerDiedError as error:
            deaths = (self._deaths.get(image.id) or 0) + 1
            self._deaths.put(image.id, deaths)
            if deaths < MAX_DEATHS:
                raise
            return await self._record_refusal(image, "too_large", str(error))
        is_stored = thumbnail is not None and await store_and_record(
            self._store,
            {image.thumbnail_key: [thumbnail]},
            lambda: self._records.set_thumbnail(image.id, "made"),
        )
        return "made" if is_stored else None

    async def _record_refusal(
        self, image: Image, state: ThumbnailState, reason: str
    ) -> ThumbnailState | None:
        """Record the refusal, so the image isn't decoded again."""
        _log.warning("image cannot be made into a thumbnail", image=image.id, reason=reason)
        return state if await self._records.set_thumbnail(image.id, state) else None

    async def _render(self, image: Image) -> bytes | None:
        """Return the thumbnail, or None if the image is deleted."""
        turn = self._turns.setdefault(image.project_id, asyncio.Lock())
        async with turn, self._slots:
            if self._is_closed:
                raise asyncio.CancelledError
            original = await self._store.read(image.key)
            if original is None:
                return None
            width, height = map(int, image.viewport.split("x"))
            return await self._render_thumbnail(original, tallness=height / width)


def _answer(task: "asyncio.Task[ThumbnailAnswer | None]") -> ThumbnailAnswer | None:
    return task.result() if task.done() and not task.cancelled() else "later"
