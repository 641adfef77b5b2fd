"""Objects that are made from an image and go with it: its thumbnail, and its difference to the base."""

from collections.abc import Awaitable, Callable

import structlog

from prshots.server.domain.ports import ObjectStore

_log = structlog.get_logger()


async def store_derived(
    store: ObjectStore, key: str, content: bytes, record: Callable[[], Awaitable[bool]]
) -> bool:
    """Store the bytes, then record them, unless the image is scheduled for expiry by then.

    Expiry schedules the image before it deletes its bytes, so it also deletes every recorded object. Return
    whether it was recorded. Raises StoreError, RecordsError.
    """
    await store.put(key, [content])
    recorded = False
    try:
        recorded = await record()
    finally:
        if not recorded and await store.delete([key]):
            _log.error("object without an image left for the sweep", key=key)
    return recorded
