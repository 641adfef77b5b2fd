"""Stores objects with their record: an image and its before image, a thumbnail, or a difference image."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from prshots.contract.errors import RecordsUnsureError
from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import ImageRecords, ObjectStore

Objects = Mapping[str, Sequence[bytes]]
"""The chunks of each object, by key."""

Recording = Callable[[], Awaitable[bool | None]]
"""Records objects whose bytes are stored. Returns False to refuse them."""


async def store_and_record(store: ObjectStore, objects: Objects, record: Recording) -> bool:
    """Store the bytes, then record them, or do neither. Return whether they were recorded.

    Expiry schedules an image before it deletes the bytes. `record` refuses objects of a scheduled image, so
    expiry deletes every recorded object. Raises StoreError, RecordsError.
    """
    # If the client disconnects or the caller is cancelled now, the bytes and the record must still agree.
    storing = asyncio.ensure_future(_store_and_record(store, objects, record))
    # If nobody waits for the result anymore, asyncio would log a failure. The engine has already logged it.
    storing.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(storing)


async def _store_and_record(store: ObjectStore, objects: Objects, record: Recording) -> bool:
    stored: list[str] = []
    may_be_recorded = False
    try:
        for key, chunks in objects.items():
            await store.put(key, chunks)
            stored.append(key)
        may_be_recorded = await record() is not False
    except RecordsUnsureError:
        may_be_recorded = True  # so keep the bytes; if they have no record, the sweep deletes them
        raise
    finally:
        if stored and not may_be_recorded:
            await store.delete(stored)  # if this fails, the store logs it, and the sweep deletes them
    return may_be_recorded


@dataclass(frozen=True, slots=True)
class ExpiryOutcome:
    expired: int
    failed: int
    freed_bytes: int


async def expire_scheduled(
    records: ImageRecords, store: ObjectStore, images: Sequence[Image], recorded_as: Action | None = None
) -> ExpiryOutcome:
    """Expire scheduled images and their before images. Images whose bytes can't be deleted stay scheduled.

    Images are marked before this call, so the next sweep can finish the job after a crash. Raises
    RecordsError.
    """
    absent = {image.before_id for image in images if image.before_id} - {image.id for image in images}
    scheduled = [*images, *(await records.before_images(absent) if absent else ())]
    failed_keys = await store.delete([key for image in scheduled for key in image.keys])
    failed = {image.id for image in scheduled if not failed_keys.isdisjoint(image.keys)}
    # Keep an image whose before image can't be deleted: only the image refers to it.
    deleted = [image for image in scheduled if failed.isdisjoint({image.id, image.before_id})]
    ids = [image.id for image in deleted]
    expired = await records.remove_images(ids, recorded_as) if ids else 0
    return ExpiryOutcome(expired, len(scheduled) - len(deleted), sum(image.size for image in deleted))
