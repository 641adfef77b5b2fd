"""Objects that are made from an image and go with it: its thumbnail, and its difference to the base."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from prshots.contract.errors import RecordsUnsureError
from prshots.server.domain.ports import ObjectStore

_log = structlog.get_logger()


async def store_derived(
    store: ObjectStore, key: str, content: bytes, record: Callable[[], Awaitable[bool]]
) -> bool:
    """Store the bytes, then record them, unless the image is scheduled for expiry by then.

    Expiry schedules the image before it deletes its bytes, so it also deletes every recorded object. Return
    whether it was recorded. Raises StoreError, RecordsError.
    """
    # If the caller is cancelled now, bytes and record must still agree.
    return await asyncio.shield(_store(store, key, content, record))


async def _store(store: ObjectStore, key: str, content: bytes, record: Callable[[], Awaitable[bool]]) -> bool:
    await store.put(key, [content])
    may_be_recorded = False
    try:
        may_be_recorded = await record()
    except RecordsUnsureError:
        may_be_recorded = True  # so keep the bytes; if it is not, the sweep deletes them
        raise
    finally:
        if not may_be_recorded and await store.delete([key]):
            _log.error("object without an image left for the sweep", key=key)
    return may_be_recorded
