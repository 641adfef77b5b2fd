"""The origin store in a bucket: S3, Google Cloud Storage or Azure Blob Storage.

An object is written by one PUT, so it is there whole or not at all. A PUT that was given up may still arrive:
then it is bytes without a record, which the sweep takes away. Only a store that says in so many words that it
has no such object makes an object missing; whatever else it says, or does not say, is an error.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore
import structlog
from obstore.exceptions import AlreadyExistsError, BaseError

from prshots.contract.errors import StoreError, StoreFullError
from prshots.contract.object_names import ORIGIN_KEY, content_type_of
from prshots.server.adapters.objects.cloud_client import Limits, first_line, open_client
from prshots.server.adapters.objects.disk import OWNER_MARK
from prshots.server.domain.ports import ObjectStream
from prshots.server.observability.metrics import STORE_SECONDS, timed

if TYPE_CHECKING:  # they are there for the type checker only
    from obstore import GetOptions, GetResult, ObjectMeta

READING = Limits(silence_seconds=3, total_seconds=8)
"""For delivery. GitHub's image proxy gives up after 10 s, and a reply that says 503 beats none."""

WRITING = Limits(silence_seconds=10, total_seconds=25)
"""For everything else. Who uploads waits for 30 s or so."""

CHUNK_BYTES = 64 * 1024
"""What is read of an object at a time, at least. It is all that a slow reader of an image costs."""

PAGE = 1000
"""Names per page of a list; no cloud gives more."""

DELETES = {"s3": 1000, "gs": 1, "az": 1}
"""Objects deleted by one request. The other two may take several, but fail if one of them is not there."""

DELETES_AT_ONCE = 16

_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_NO_SUCH_OBJECT = {"NoSuchKey", "BlobNotFound"}
_FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "AccountQuotaExceeded"}
_FULL_STATUS = "507"
_FAILURES = (BaseError, OSError, ValueError, NotImplementedError)

_log = structlog.get_logger()


class CloudReader:
    """Reads objects under the prefix of the address; all that delivery gets to see."""

    def __init__(self, url: str, limits: Limits = READING) -> None:
        self._limits = limits
        self._client = open_client(url, limits)

    async def size(self, key: str) -> int | None:
        """Ask for the head alone; if that is missing, in full: it cannot tell that the bucket is missing."""
        with _asking("get"), contextlib.suppress(FileNotFoundError):
            async with asyncio.timeout(self._limits.total_seconds):
                return (await obstore.head_async(self._client, key))["size"]
        found = await self._get(key)
        return None if found is None else found.meta["size"]

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        found = await self._get(key, part)
        return None if found is None else ObjectStream(found.meta["size"], self._chunks(found))

    async def check(self) -> None:
        """Ask for the owner's mark: it need not be there, but the bucket has to say so."""
        await self._get(OWNER_MARK)

    async def _get(self, key: str, part: range | None = None) -> "GetResult | None":
        options: GetOptions = {"range": (part.start, part.stop)} if part else {}
        with _asking("get"):
            try:
                async with asyncio.timeout(self._limits.total_seconds):
                    return await obstore.get_async(self._client, key, options=options)
            except FileNotFoundError as error:
                if _code(error) not in _NO_SUCH_OBJECT:
                    raise
                return None

    async def _chunks(self, found: "GetResult") -> AsyncGenerator[bytes, None]:
        stream = found.stream(min_chunk_size=CHUNK_BYTES)
        while True:
            with _translating():
                try:
                    async with asyncio.timeout(self._limits.total_seconds):
                        chunk = await anext(stream)
                except StopAsyncIteration:
                    return
            yield bytes(chunk)


class CloudStore(CloudReader):
    def __init__(self, url: str, limits: Limits = WRITING) -> None:
        super().__init__(url, limits)
        self._deletes = DELETES[urlsplit(url).scheme]
        self._may_delete = asyncio.Semaphore(DELETES_AT_ONCE)

    def close(self) -> None:
        """Have nothing to close: connections go with the client."""

    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        with _asking("put"):
            async with asyncio.timeout(self._limits.total_seconds):
                await obstore.put_async(
                    self._client,
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

    async def delete(self, keys: Collection[str]) -> set[str]:
        listed = list(keys)
        batches = [listed[at : at + self._deletes] for at in range(0, len(listed), self._deletes)]
        failed = await asyncio.gather(*map(self._delete, batches))
        return set().union(*failed)

    async def owner(self, claimant: str) -> str:
        """Claim by a PUT that the store refuses if the mark is there: of many at once, one gets it."""
        mark = await self.read(OWNER_MARK)
        if mark is None:
            await self._claim(claimant)
            mark = await self.read(OWNER_MARK)
        if mark is None:
            raise StoreError("the mark of whose images these are is gone as soon as it is written")
        return mark.decode("utf-8", errors="replace")

    async def stored_before(self, cutoff: float) -> AsyncIterator[list[str]]:
        pages = obstore.list(self._client, chunk_size=PAGE)
        while True:
            with _asking("list"):
                try:
                    async with asyncio.timeout(self._limits.total_seconds):
                        page = await anext(pages)
                except StopAsyncIteration:
                    return
            yield [entry["path"] for entry in page if _is_ours(entry, cutoff)]

    async def discard_unfinished(self, cutoff: float) -> int:
        """Find nothing: what a PUT cut short has sent is thrown away by the store itself."""
        del cutoff
        return 0

    async def _claim(self, claimant: str) -> None:
        with _asking("put"):
            async with asyncio.timeout(self._limits.total_seconds):
                with contextlib.suppress(AlreadyExistsError):  # somebody was faster
                    await obstore.put_async(
                        self._client, OWNER_MARK, claimant.encode(), mode="create", use_multipart=False
                    )

    async def _delete(self, keys: list[str]) -> set[str]:
        """Delete some at once and return those that failed."""
        try:
            async with self._may_delete:
                await self._ask_to_delete(keys)
        except _SomeFailedError:  # it told of one of them, and there may be more
            middle = len(keys) // 2
            first, second = await asyncio.gather(self._delete(keys[:middle]), self._delete(keys[middle:]))
            return first | second
        except StoreError as error:
            _log.error("image bytes could not be deleted", objects=len(keys), reason=str(error))
            return set(keys)
        return set()

    async def _ask_to_delete(self, keys: list[str]) -> None:
        with _asking("delete"):
            try:
                async with asyncio.timeout(self._limits.total_seconds):
                    await obstore.delete_async(self._client, keys)
            except FileNotFoundError as error:
                if _code(error) not in _NO_SUCH_OBJECT:
                    raise
            except BaseError as error:
                if len(keys) > 1 and _is_of_one_object(error):
                    raise _SomeFailedError from None
                raise


class _SomeFailedError(StoreError):
    """Of several objects in one request, some could not be deleted."""


def _is_ours(entry: "ObjectMeta", cutoff: float) -> bool:
    return ORIGIN_KEY.fullmatch(entry["path"]) is not None and entry["last_modified"].timestamp() < cutoff


def _is_of_one_object(error: BaseException) -> bool:
    return "DeleteObjects request failed for key" in str(error)


@contextlib.contextmanager
def _asking(operation: str) -> Iterator[None]:
    with timed(STORE_SECONDS, operation, "store"), _translating():
        yield


@contextlib.contextmanager
def _translating() -> Iterator[None]:
    """Raise what a client raises as ours. Its own is not kept beside: its text may hold a signature."""
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
    """Return the error's name in the store's own words, if it gave any."""
    found = _CODE.search(str(error))
    return found[1] if found else ""
