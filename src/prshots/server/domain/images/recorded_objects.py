"""Stores objects with their record: an image and its before image, a thumbnail, or a difference image."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from prshots.contract.errors import RecordsUnsureError
from prshots.server.domain.images.ports import ObjectStore

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
    return await asyncio.shield(_store_and_record(store, objects, record))


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
