"""Delivery's copies of the most requested images, to save the store from sending their bytes again.

A deleted image must be gone everywhere at once, and replicas don't notify each other. So every request asks
the store, with the copy's ETag. Delivery sends the copy only if the store confirms that the object still
exists and is unchanged. Copies stay in memory, because delivery writes nothing.
"""

import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, NamedTuple

from obstore.exceptions import NotModifiedError

from prshots.server.adapters.objects.cloud import READING, CloudReader
from prshots.server.adapters.objects.cloud_client import RequestLimits
from prshots.server.links import ObjectStream
from prshots.server.observability.metrics import CACHED_READS

if TYPE_CHECKING:  # obstore has it for type checkers only
    from obstore import GetResult

MIN_COPIES = 8
"""Objects larger than the limit divided by this aren't kept, because they would displace too many others."""

_HITS, _MISSES = CACHED_READS.labels("hit"), CACHED_READS.labels("miss")


class Copy(NamedTuple):
    tag: str
    content: bytes


class HotCopies:
    """Copies by key. Including copies that are still arriving, they take up to `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._copies: dict[str, Copy] = {}  # the least recently used first
        self.bytes = 0

    def get(self, key: str) -> Copy | None:
        copy = self._copies.pop(key, None)
        if copy is not None:
            self._copies[key] = copy
        return copy

    def drop(self, key: str) -> None:
        copy = self._copies.pop(key, None)
        if copy is not None:
            self.bytes -= len(copy.content)

    def takes(self, size: int) -> bool:
        return size <= self._limit // MIN_COPIES

    def reserve(self, size: int) -> bool:
        """Reserve room for a copy. Return False if copies that are still arriving take all of it."""
        while self.bytes + size > self._limit and self._copies:
            self.drop(next(iter(self._copies)))
        if self.bytes + size > self._limit:
            return False
        self.bytes += size
        return True

    def release(self, size: int) -> None:
        self.bytes -= size

    def keep(self, key: str, copy: Copy) -> None:
        """Keep a copy whose size was reserved."""
        self.drop(key)
        self._copies[key] = copy


class HotReader(CloudReader):
    """A CloudReader that keeps copies."""

    def __init__(self, url: str, limit: int, limits: RequestLimits = READING) -> None:
        super().__init__(url, limits)
        self.copies = HotCopies(limit)

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        copy = self.copies.get(key)
        found = await (self._get(key, part) if copy is None else self._get_unless(copy, key, part))
        if isinstance(found, Copy):
            _HITS.inc()
            content = found.content if part is None else found.content[part.start : part.stop]
            return ObjectStream(len(found.content), _at_once(content))
        if copy is not None:
            self.copies.drop(key)  # deleted or replaced
        if found is None:
            return None
        _MISSES.inc()
        size, tag, chunks = found.meta["size"], found.meta["e_tag"], self._chunks(found)
        if part is None and tag and self.copies.takes(size):
            chunks = self._keep_copy(key, tag, size, chunks)
        return ObjectStream(size, chunks)

    async def _get_unless(self, copy: Copy, key: str, part: range | None) -> "GetResult | Copy | None":
        """Return the copy if the object is unchanged."""
        async with self._ask("get"):
            try:
                return await self._get_once(key, part, copy.tag)
            except NotModifiedError:
                return copy

    async def _keep_copy(
        self, key: str, tag: str, size: int, chunks: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Pass the chunks on, and keep a copy if all of them arrive."""
        async with contextlib.aclosing(chunks):
            if not self.copies.reserve(size):
                async for chunk in chunks:
                    yield chunk
                return
            taken: list[bytes] = []
            try:
                async for chunk in chunks:
                    taken.append(chunk)
                    yield chunk
            finally:
                content = b"".join(taken)
                if len(content) == size:
                    self.copies.keep(key, Copy(tag, content))
                else:
                    self.copies.release(size)


async def _at_once(content: bytes) -> AsyncGenerator[bytes, None]:
    yield content
