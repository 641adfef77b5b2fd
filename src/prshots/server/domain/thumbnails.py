"""Thumbnails: made when somebody first looks, kept beside the original, and gone with it."""

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
"""One is rendered while the next is read, from a store that may be far away."""


class Thumbnails:
    """Renders one at a time, in a thread: that bounds the memory, and leaves a processor to the uploads."""

    def __init__(self, *, records: Records, store: ObjectStore, render: RenderThumbnail) -> None:
        self._render_thumbnail = render
        self._records = records
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="thumbnails")
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._is_closed = False
        self._under_way: dict[str, asyncio.Task[bool | None]] = {}

    async def close(self) -> None:
        """Finish those whose turn it is; the others are made when somebody looks again."""
        self._is_closed = True
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        self._thread.shutdown()

    async def make(self, images: Sequence[Image]) -> dict[str, bool]:
        """Make what is missing, and say for each image whether it has a thumbnail; those gone are left out.

        Without one is an image that cannot be decoded, which is noted; and one whose bytes could not be read
        or written just now, which is tried again the next time.
        """
        missing = [image for image in images if image.thumbnail is None]
        # Whoever asks may hang up; what was begun is finished, and others may be waiting for it.
        outcomes = await asyncio.gather(*(asyncio.shield(self._making(image)) for image in missing))
        made = dict(zip((image.id for image in missing), outcomes, strict=True))
        known = {image.id: made.get(image.id, image.thumbnail == "made") for image in images}
        return {image_id: has_one for image_id, has_one in known.items() if has_one is not None}

    def _making(self, image: Image) -> "asyncio.Task[bool | None]":
        """Return the one task that makes this thumbnail, however many ask for it."""
        task = self._under_way.get(image.id)
        if task is None:
            task = self._under_way[image.id] = asyncio.create_task(self._make_one(image))
            task.add_done_callback(lambda _: self._under_way.pop(image.id))
        return task

    async def _make_one(self, image: Image) -> bool | None:
        """Return whether there is a thumbnail now; None when the image has gone, or is about to."""
        try:
            return await self._render_and_keep(image)
        except (StoreError, RecordsError) as error:
            _log.error("a thumbnail could not be made now", image=image.id, reason=str(error))
            return False

    async def _render_and_keep(self, image: Image) -> bool | None:
        try:
            thumbnail = await self._render(image)
        except ThumbnailError as error:
            _log.warning("no thumbnail can be made of an image", image=image.id, reason=str(error))
            return False if await self._records.set_thumbnail(image.id, "impossible") else None
        return None if thumbnail is None else await self._keep(image, thumbnail)

    async def _render(self, image: Image) -> bytes | None:
        """Return the thumbnail; None when the image has gone."""
        async with self._turns:
            if self._is_closed:
                raise asyncio.CancelledError
            original = await self._store.read(image.key)
            if original is None:
                return None
            width, height = map(int, image.viewport.split("x"))
            render = partial(self._render_thumbnail, original, tallness=height / width)
            return await asyncio.get_running_loop().run_in_executor(self._thread, render)

    async def _keep(self, image: Image, thumbnail: bytes) -> bool | None:
        """Store, then note. Expiry marks, then deletes: what is noted before the mark, it deletes too."""
        await self._store.put(image.thumbnail_key, [thumbnail])
        noted = False
        try:
            noted = await self._records.set_thumbnail(image.id, "made")
        finally:
            if not noted and await self._store.delete([image.thumbnail_key]):
                _log.error("a thumbnail without an image left for the sweep", image=image.id)
        return noted or None
