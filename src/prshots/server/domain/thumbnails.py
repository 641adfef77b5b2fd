"""Thumbnails: created on first view, stored next to the original, deleted with it."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from prshots.contract.errors import RecordsError, StoreError, ThumbnailError
from prshots.server.domain.models import Image
from prshots.server.domain.ports import ObjectStore, Records, RenderThumbnail

_log = structlog.get_logger()


AT_ONCE = 2
"""One is rendered while the next one is read from the store, which may be remote."""


class Thumbnails:
    """Renders one thumbnail at a time in a thread. This limits memory and leaves a CPU to the uploads."""

    def __init__(self, *, records: Records, store: ObjectStore, render: RenderThumbnail) -> None:
        self._render_thumbnail = render
        self._records = records
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="thumbnails")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._is_closed = False
        self._in_progress: dict[str, asyncio.Task[bool | None]] = {}

    async def close(self) -> None:
        """Finish the started ones. The others are created at the next view."""
        self._is_closed = True
        await asyncio.gather(*self._in_progress.values(), return_exceptions=True)
        self._thread.shutdown()

    async def make(self, images: Sequence[Image]) -> dict[str, bool]:
        """Create missing thumbnails. Return by id whether each image has one; deleted images are left out.

        An image has none if it cannot be decoded, which is recorded, or if the store or database failed. The
        latter is retried at the next call.
        """
        missing = [image for image in images if image.thumbnail is None]
        # Shielded, because a caller may disconnect while others wait for the same thumbnail.
        outcomes = await asyncio.gather(*(asyncio.shield(self._making(image)) for image in missing))
        made = dict(zip((image.id for image in missing), outcomes, strict=True))
        known = {image.id: made.get(image.id, image.thumbnail == "made") for image in images}
        return {image_id: has_one for image_id, has_one in known.items() if has_one is not None}

    def _making(self, image: Image) -> "asyncio.Task[bool | None]":
        """Return the one task that creates this thumbnail for all callers."""
        task = self._in_progress.get(image.id)
        if task is None:
            task = self._in_progress[image.id] = asyncio.create_task(self._make_one(image))
            task.add_done_callback(lambda _: self._in_progress.pop(image.id))
        return task

    async def _make_one(self, image: Image) -> bool | None:
        """Return whether there is a thumbnail now; None if the image is deleted or about to be."""
        try:
            return await self._render_and_store(image)
        except (StoreError, RecordsError) as error:
            _log.error("thumbnail failed, retrying at the next view", image=image.id, reason=str(error))
            return False

    async def _render_and_store(self, image: Image) -> bool | None:
        try:
            thumbnail = await self._render(image)
        except ThumbnailError as error:
            _log.warning("image cannot be made into a thumbnail", image=image.id, reason=str(error))
            return False if await self._records.set_thumbnail(image.id, "impossible") else None
        return None if thumbnail is None else await self._store_thumbnail(image, thumbnail)

    async def _render(self, image: Image) -> bytes | None:
        """Return the thumbnail; None if the image is deleted."""
        async with self._slots:
            if self._is_closed:
                raise asyncio.CancelledError
            original = await self._store.read(image.key)
            if original is None:
                return None
            width, height = map(int, image.viewport.split("x"))
            render = partial(self._render_thumbnail, original, tallness=height / width)
            return await asyncio.get_running_loop().run_in_executor(self._thread, render)

    async def _store_thumbnail(self, image: Image, thumbnail: bytes) -> bool | None:
        """Store the bytes, then record them, unless the image is scheduled for expiry by then.

        Expiry schedules the image before it deletes its bytes, so it also deletes every recorded thumbnail.
        """
        await self._store.put(image.thumbnail_key, [thumbnail])
        recorded = False
        try:
            recorded = await self._records.set_thumbnail(image.id, "made")
        finally:
            if not recorded and await self._store.delete([image.thumbnail_key]):
                _log.error("thumbnail without an image left for the sweep", image=image.id)
        return recorded or None
