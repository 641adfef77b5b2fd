"""The origin store in a bucket: S3, Google Cloud Storage or Azure Blob Storage.

One PUT writes an object, so it exists completely or not at all. A PUT that timed out may still succeed later;
the sweep then deletes the file without a record. An object only counts as missing if the store explicitly
says so. Any other answer, or none, is an error.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore
import structlog
from obstore.exceptions import AlreadyExistsError, BaseError

from prshots.contract.errors import StoreError, StoreFullError
from prshots.contract.object_names import ORIGIN_KEY, OWNER_MARK, content_type_of
from prshots.server.adapters.deadlines import DELIVERY_SECONDS, STORE_SECONDS, for_bytes, for_objects
from prshots.server.adapters.objects.cloud_client import (
    STREAM_SECONDS,
    RequestLimits,
    first_line,
    open_client,
)
from prshots.server.adapters.objects.disk import store_outage
from prshots.server.links import ObjectStream
from prshots.server.observability import metrics

if TYPE_CHECKING:  # obstore has these for type checkers only
    from obstore import GetOptions, GetResult, ObjectMeta

READING = RequestLimits(silence_seconds=3, total_seconds=DELIVERY_SECONDS)
"""For delivery. It retries after 3 s of silence, because another node of the store may answer."""

WRITING = RequestLimits(silence_seconds=STREAM_SECONDS, total_seconds=STORE_SECONDS)
"""For everything else. The store is silent while it receives a large image, so only the deadline counts."""

CHUNK_BYTES = 64 * 1024
"""The minimum read size for a large image. A slow reader takes no more memory than this."""

AT_ONCE_BYTES = 256 * 1024
"""Up to this size, read an object at once, which is faster than in chunks. Most screenshots are smaller."""

PAGE = 1000
"""Names per page of a list: the maximum in every cloud."""

DELETES = {"s3": 1000, "gs": 1, "az": 1}
"""Objects per delete request. GCS and Azure accept several, but fail if one of them doesn't exist."""

DELETES_AT_ONCE = 16

CLOCK_OBJECT = ".clock"
"""An empty object that every sweep writes to read the store's time."""

_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_NO_SUCH_OBJECT = {"NoSuchKey", "BlobNotFound"}
_FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "AccountQuotaExceeded"}
_FULL_STATUS = "507"
_FAILURES = (BaseError, OSError, ValueError, NotImplementedError)

_log = structlog.get_logger()


class CloudReader:
    """Reads objects under the URL's prefix. Delivery has no other access."""

    def __init__(self, url: str, limits: RequestLimits = READING) -> None:
        self._limits = limits
        self._client = open_client(url, limits)
        self._outage = store_outage()

    async def size(self, key: str) -> int | None:
        """Return the size from a HEAD request.

        On 404, send a GET to tell a missing object from a missing bucket.
        """
        async with self._ask("get"):
            with contextlib.suppress(FileNotFoundError):
                return (await obstore.head_async(self._client, key))["size"]
            found = await self._get_once(key)
            return None if found is None else found.meta["size"]

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        found = await self._get(key, part)
        return None if found is None else ObjectStream(found.meta["size"], self._chunks(found))

    async def check(self) -> None:
        """Read the owner mark. It may be missing, but the bucket must answer."""
        await self._get(OWNER_MARK)

    async def _get(self, key: str, part: range | None = None) -> "GetResult | None":
        async with self._ask("get"):
            return await self._get_once(key, part)

    async def _get_once(
        self, key: str, part: range | None = None, unless_tag: str | None = None
    ) -> "GetResult | None":
        options: GetOptions = {"range": (part.start, part.stop)} if part else {}
        if unless_tag is not None:  # may raise NotModifiedError
            options["if_none_match"] = unless_tag
        try:
            return await obstore.get_async(self._client, key, options=options)
        except FileNotFoundError as error:
            if _code(error) not in _NO_SUCH_OBJECT:
                raise
            return None

    async def _chunks(self, found: "GetResult") -> AsyncGenerator[bytes, None]:
        start, end = found.range
        if end - start <= AT_ONCE_BYTES:
            with self._outage.watch("chunk"), _translate_errors():
                async with asyncio.timeout(self._limits.total_seconds):
                    content = await found.bytes_async()
            yield bytes(content)
            return
        stream = found.stream(min_chunk_size=CHUNK_BYTES)
        while True:
            with self._outage.watch("chunk"), _translate_errors():
                try:
                    async with asyncio.timeout(self._limits.total_seconds):
                        chunk = await anext(stream)
                except StopAsyncIteration:
                    return
            yield bytes(chunk)

    @contextlib.asynccontextmanager
    async def _ask(self, operation: str, seconds: float | None = None) -> AsyncIterator[None]:
        """Ask the store within `seconds`, by default those of the limits. Raises StoreError."""
        limit = self._limits.total_seconds if seconds is None else seconds
        with metrics.EngineTimer(metrics.STORE_SECONDS, operation, "store"):
            try:
                with _translate_errors():
                    async with asyncio.timeout(limit):
                        yield
            except _ObjectRefusedError:
                raise
            except StoreError as error:
                self._outage.note(operation, error)
                raise
            self._outage.note_success(operation)


class CloudStore(CloudReader):
    def __init__(self, url: str, limits: RequestLimits = WRITING) -> None:
        super().__init__(url, limits)
        # A PUT is sent once, and only the deadline ends it. If a retry succeeded and the image was then
        # deleted, the first PUT could still arrive and restore the image.
        self._putting = open_client(url, replace(limits, silence_seconds=limits.total_seconds * 2, retries=0))
        self._deletes = DELETES[urlsplit(url).scheme]
        self._may_delete = asyncio.Semaphore(DELETES_AT_ONCE)

    def close(self) -> None:
        """Do nothing: connections close with the client."""

    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        async with self._ask("put", for_bytes(sum(map(len, chunks)), self._limits.total_seconds)):
            await obstore.put_async(
                self._putting,
                key,
                list(chunks),
                attributes={"Content-Type": content_type_of(key)},
                use_multipart=False,
            )

    async def read(self, key: str) -> bytes | None:
        found = await self._get(key)
        if found is None:
            return None
        async with contextlib.aclosing(self._chunks(found)) as chunks:
            return b"".join([chunk async for chunk in chunks])

    async def exists(self, key: str) -> bool:
        return await self.size(key) is not None

    async def time(self) -> float | None:
        """Write an object and read its time, because no client library exposes a reply's `Date` header."""
        with contextlib.suppress(StoreFullError):
            async with self._ask("put"):
                await obstore.put_async(self._client, CLOCK_OBJECT, b"", use_multipart=False)
                return (await obstore.head_async(self._client, CLOCK_OBJECT))["last_modified"].timestamp()
        return None

    async def delete(self, keys: Collection[str]) -> set[str]:
        listed = list(keys)
        batches = [listed[at : at + self._deletes] for at in range(0, len(listed), self._deletes)]
        # One deadline for all batches, because most of them wait for others.
        until = asyncio.get_running_loop().time() + for_objects(len(listed), self._limits.total_seconds)
        return set().union(*await asyncio.gather(*(self._delete(batch, until) for batch in batches)))

    async def owner(self, claimant: str) -> str:
        """Claim the store with a PUT that fails if the mark exists: only one of concurrent claims wins."""
        mark = await self.read(OWNER_MARK)
        if mark is None:
            async with self._ask("put"):
                with contextlib.suppress(AlreadyExistsError):  # another process was faster
                    await obstore.put_async(
                        self._client, OWNER_MARK, claimant.encode(), mode="create", use_multipart=False
                    )
            mark = await self.read(OWNER_MARK)
        if mark is None:
            raise StoreError(f"the store has lost {OWNER_MARK} right after it was written")
        return mark.decode("utf-8", errors="replace")

    async def stored_before(
        self, cutoff: float, shards: Sequence[str] | None = None
    ) -> AsyncIterator[dict[str, int]]:
        for shard in [None] if shards is None else sorted(shards):
            async for page in self._list_pages(shard):
                yield {
                    entry["path"]: entry["size"]
                    for entry in page
                    if entry["last_modified"].timestamp() < cutoff
                }

    async def sizes(self, shard: str) -> dict[str, int]:
        return {entry["path"]: entry["size"] async for page in self._list_pages(shard) for entry in page}

    async def discard_unfinished(self, cutoff: float) -> int:
        """Do nothing: the store itself discards incomplete PUTs."""
        del cutoff
        return 0

    async def _list_pages(self, shard: str | None) -> "AsyncIterator[list[ObjectMeta]]":
        """Yield the images, thumbnails and difference images, page by page."""
        pages = obstore.list(self._client, prefix=shard, chunk_size=PAGE)
        while True:
            async with self._ask("list"):
                try:
                    page = await anext(pages)
                except StopAsyncIteration:
                    return
            yield [entry for entry in page if ORIGIN_KEY.fullmatch(entry["path"])]

    async def _delete(self, keys: list[str], until: float) -> set[str]:
        """Delete with one request if possible, and return the keys that failed."""
        try:
            await self._send_delete(keys, until)
        except _SomeFailedError:  # the error names only one of them
            middle = len(keys) // 2
            halves = (self._delete(half, until) for half in (keys[:middle], keys[middle:]))
            return set().union(*await asyncio.gather(*halves))
        except StoreError as error:
            if not error.count_request:
                _log.error("image bytes could not be deleted", objects=len(keys), reason=str(error))
            return set(keys)
        return set()

    async def _send_delete(self, keys: list[str], until: float) -> None:
        now = asyncio.get_running_loop().time
        async with self._ask("delete", until - now()):
            try:
                async with self._may_delete:
                    if now() >= until:  # the request before this one timed out a moment earlier
                        raise TimeoutError
                    await obstore.delete_async(self._client, keys)
            except FileNotFoundError as error:
                if _code(error) not in _NO_SUCH_OBJECT:
                    raise
            except BaseError as error:
                if "DeleteObjects request failed for key" not in str(error):  # not about an object
                    raise
                kind = _SomeFailedError if len(keys) > 1 else _ObjectRefusedError
                raise kind(first_line(error)) from None


class _ObjectRefusedError(StoreError):
    """A working store refused to delete an object."""


class _SomeFailedError(_ObjectRefusedError):
    """Some of the objects in one request couldn't be deleted."""


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the client's exceptions into ours. Drops the original, whose text may contain a signature."""
    try:
        yield
    except TimeoutError:
        raise StoreError("the store did not answer in time") from None
    except _FAILURES as error:
        code, status = _code(error), _STATUS.search(str(error))
        is_full = code in _FULL or (status is not None and status[1] == _FULL_STATUS)
        kind = StoreFullError if is_full else StoreError
        if status is None:
            raise kind(first_line(error)) from None
        raise kind(f"the store answered {status[1]} {code}".rstrip()) from None


def _code(error: BaseException) -> str:
    """Return the store's own error code, or ""."""
    found = _CODE.search(str(error))
    return found[1] if found else ""
