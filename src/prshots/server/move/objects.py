"""Make the images of two stores equal, shard by shard.

The code compares listings of both stores and keeps no state. After a kill, the next move lists again and
copies the rest.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from prshots.contract.errors import MoveError, StoreError, StoreFullError
from prshots.contract.object_names import CLOSEUP_EXTS, DIFF_EXT, THUMBNAIL_EXT, origin_key, origin_keys
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.move import MoveReport

AT_ONCE = 48
"""How many objects to copy at a time. A distant store is slow for each object but handles many at once."""

BYTES_AT_ONCE = 64 * 1024**2
"""The maximum number of bytes in memory, unless a single object is larger."""

ATTEMPTS = 5
"""Attempts per object, with a pause that doubles. A short outage must not end a long copy."""

Wanted = dict[str, str | None]
"""The keys of the objects that the target should have, with their recorded SHA-256 if there is one."""

T = TypeVar("T")


def wanted_objects(images: Sequence[Sequence[Any]]) -> Wanted:
    """Return the objects of images, given as (id, ext, sha256, thumbnail, diff_base, source_id).

    Includes the most close-ups that an image can have. Not all of them may exist.
    """
    wanted: Wanted = {}
    for image_id, ext, sha256, thumbnail, diff_base, source_id in images:
        if source_id is None:
            wanted[origin_key(image_id, ext)] = sha256
        if thumbnail == "made":
            wanted[origin_key(image_id, THUMBNAIL_EXT)] = None
        if diff_base is not None:
            wanted |= {origin_key(image_id, each): None for each in (DIFF_EXT, *CLOSEUP_EXTS)}
    return wanted


class ObjectCopies:
    """Copies objects, and counts them in the report. Raises StoreError when it gives up."""

    def __init__(
        self,
        source: ObjectStore,
        target: ObjectStore,
        report: MoveReport,
        is_active: Callable[[str], bool],
    ) -> None:
        """Prepare to copy. `is_active` returns whether a key's image is neither deleted nor about to be."""
        self._source, self.target = source, target
        self._report = report
        self._is_active = is_active
        self._room = _Room(BYTES_AT_ONCE)
        self.compared: set[str] = set()
        """The shards that this run has compared. Comparing the others will reveal their changes."""

    async def compare(
        self, shards: Sequence[str], wanted: Wanted, progress: Callable[[int], None] = lambda _: None
    ) -> None:
        """Make the target's shards equal to the wanted objects. Read `wanted` before the call."""
        there = await self._sizes(self._source, shards)
        copied = await self._sizes(self.target, shards)
        wanted = {key: wanted[key] for key in wanted if key in there or not key.endswith(CLOSEUP_EXTS)}
        surplus = copied.keys() - wanted.keys()
        await self._delete(surplus)
        # Also try objects missing from the source's list: they may be newer than the list.
        lacking = [key for key in wanted if key not in copied or copied[key] != there.get(key)]
        progress(len(wanted) - len(lacking))

        async def copy(key: str) -> None:
            await self._copy(key, wanted[key], there.get(key, 0))
            progress(1)

        await run_all(copy, lacking)
        self.compared.update(shards)
        self._report.files += len(wanted)

    async def verify(self, wanted: Wanted) -> None:
        """Read these objects back, and compare them with the recorded hash or the original."""

        async def verify(key: str) -> None:
            sha256 = wanted[key]
            if sha256 is None or key in self._report.damaged:
                original = await self._read(self._source, key)
                sha256 = None if original is None else hashlib.sha256(original).hexdigest()
            copy = await self._read(self.target, key)
            found = None if copy is None else hashlib.sha256(copy).hexdigest()
            if found != sha256 and self._is_active(key):
                raise MoveError(f"the copy of {key} differs: delete it from the target, and move again")

        await run_all(verify, [key for key in wanted if key not in self._report.missing])

    async def follow(self, changed: Mapping[str, str], wanted: Wanted) -> None:
        """Update the objects of changed images. `changed` maps their ids to their extensions.

        A thumbnail or a difference image may have new bytes, so this deletes their old copies first.
        """
        main = {origin_key(image_id, ext) for image_id, ext in changed.items()}
        all_keys = {key for image_id, ext in changed.items() for key in origin_keys(image_id, ext)}
        await self._delete(all_keys - (main & wanted.keys()))
        ours = [key for key in wanted if key[:2] in self.compared]

        async def copy(key: str) -> None:
            if key not in main or not await self._retry(lambda: self.target.exists(key)):
                await self._copy(key, wanted[key], 0)

        await run_all(copy, ours)

    async def _copy(self, key: str, sha256: str | None, size: int) -> None:
        async with self._room.for_bytes(size):
            data = await self._read(self._source, key)
            if data is None:
                # An expiry marks the record before it deletes the bytes.
                if self._is_active(key) and not key.endswith(CLOSEUP_EXTS):
                    self._report.missing[key] = None
                return
            if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
                self._report.damaged[key] = None
            await self._retry(lambda: self.target.put(key, [data]))
        self._report.objects += 1
        self._report.bytes += len(data)

    async def _read(self, store: ObjectStore, key: str) -> bytes | None:
        return await self._retry(lambda: store.read(key))

    async def _sizes(self, store: ObjectStore, shards: Sequence[str]) -> dict[str, int]:
        found = await asyncio.gather(*(self._retry(partial(store.sizes, shard)) for shard in shards))
        return {key: size for sizes in found for key, size in sizes.items()}

    async def _delete(self, keys: Collection[str]) -> None:
        async def delete() -> None:
            if failed := await self.target.delete(keys):
                raise StoreError(f"{len(failed)} objects could not be deleted from the target")

        if keys:
            await self._retry(delete)

    async def _retry(self, work: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(1, ATTEMPTS):
            try:
                return await work()
            except StoreFullError:
                raise
            except StoreError:
                await asyncio.sleep(0.25 * 2**attempt)
        return await work()


class _Room:
    """Limits the bytes in memory. An object larger than the limit is copied alone."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def for_bytes(self, count: int) -> AsyncIterator[None]:
        count = min(count, self._size)
        async with self._changed:
            await self._changed.wait_for(lambda: self._left >= count)
            self._left -= count
        try:
            yield
        finally:
            async with self._changed:
                self._left += count
                self._changed.notify_all()


async def run_all(work: Callable[[str], Any], keys: Sequence[str]) -> None:
    """Run the work for all keys, with limited concurrency. The first error cancels the rest."""
    left = iter(keys)

    async def worker() -> None:
        for key in left:
            await work(key)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(AT_ONCE, len(keys))):
                tasks.create_task(worker())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
