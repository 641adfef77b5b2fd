"""One way to store an object and its record: an image, its thumbnail, its difference to the base."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from prshots.contract.errors import RecordsUnsureError
from prshots.server.domain.images.ports import ObjectStore

Recording = Callable[[], Awaitable[bool | None]]
"""Records an object whose bytes are stored. Returns False to refuse it."""


async def store_and_record(store: ObjectStore, key: str, chunks: Sequence[bytes], record: Recording) -> bool:
    """Store the bytes, then record them, or do neither. Return whether they were recorded.

    Expiry schedules an image before it deletes its bytes. `record` refuses what belongs to such an image, so
    expiry deletes all that is recorded. Raises StoreError, RecordsError.
    """
    # If the client disconnects or the caller is cancelled now, bytes and record must still agree.
    return await asyncio.shield(_store_and_record(store, key, chunks, record))


async def _store_and_record(store: ObjectStore, key: str, chunks: Sequence[bytes], record: Recording) -> bool:
    await store.put(key, chunks)
    may_be_recorded = False
    try:
        may_be_recorded = await record() is not False
    except RecordsUnsureError:
        may_be_recorded = True  # so keep the bytes; if it is not, the sweep deletes them
        raise
    finally:
        if not may_be_recorded:
            await store.delete([key])  # if that fails, which the store logs, the sweep deletes them
    return may_be_recorded
