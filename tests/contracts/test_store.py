"""The contract of every `ObjectStore` adapter."""

import asyncio
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server.adapters.objects.cloud import CloudReader, CloudStore
from prshots.server.adapters.objects.cloud_client import RequestLimits
from prshots.server.adapters.objects.disk import DiskReader, DiskStore
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.links import FileReader, RemoteReader
from support.engine_servers import SeaweedFS
from support.port_watch import PortWatch

LATER, EARLIER = 3600, -3600
PATIENT = RequestLimits(silence_seconds=3600, total_seconds=3600)
"""For a busy machine, which may be slow. Timeouts are tested in test_cloud.py."""


@dataclass
class Origin:
    """An empty store, and another process's read-only view of its objects."""

    store: ObjectStore
    reader: FileReader | RemoteReader


@pytest.fixture(params=["disk", pytest.param("s3", marks=pytest.mark.slow)])
def origin(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Origin]:
    """Open a store. Add new adapters here."""
    if request.param == "disk":
        opened = Origin(DiskStore(tmp_path / "images"), DiskReader(tmp_path / "images"))
    else:
        server: SeaweedFS = request.getfixturevalue("seaweedfs")
        url = server.new_store_url()
        for name, value in server.credentials.items():
            monkeypatch.setenv(name, value)
        opened = Origin(CloudStore(url, PATIENT), CloudReader(url, PATIENT))
    watch = PortWatch()
    watch.over(opened.store, ObjectStore)
    watch.over(opened.reader, FileReader if request.param == "disk" else RemoteReader)
    yield opened
    opened.store.close()


@pytest.fixture
def store(origin: Origin) -> ObjectStore:
    return origin.store


@pytest.fixture
def reader(origin: Origin) -> FileReader | RemoteReader:
    return origin.reader


def a_key() -> str:
    return origin_key(secrets.token_hex(16), "png")


async def content(reader: FileReader | RemoteReader, key: str, part: range | None = None) -> bytes | None:
    """Read as delivery does."""
    if isinstance(reader, FileReader):
        opened = reader.open(key)
        if opened is None:
            return None
        with os.fdopen(opened.fd, "rb") as file:
            read = file.read()
        assert len(read) == opened.size
        return read if part is None else read[part.start : part.stop]
    stream = await reader.stream(key, part)
    if stream is None:
        assert await reader.size(key) is None
        return None
    read = b"".join([chunk async for chunk in stream.chunks])
    assert stream.size == await reader.size(key)
    assert len(read) == (stream.size if part is None else len(part))
    return read


async def listed(store: ObjectStore, seconds_from_now: float) -> set[str]:
    return {key async for batch in store.stored_before(time.time() + seconds_from_now) for key in batch}


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"one piece"], id="one-chunk"),
        pytest.param([b"several", b"", b" ", b"pieces"], id="several-chunks"),
        pytest.param([bytes([number % 256]) for number in range(5000)], id="5000-chunks"),
        pytest.param([secrets.token_bytes(1024**2) for _ in range(5)], id="5-MB"),
        pytest.param([], id="no-chunks"),
    ],
)
async def test_a_stored_object_is_read_back_unchanged(
    store: ObjectStore, reader: FileReader | RemoteReader, chunks: list[bytes]
) -> None:
    key = a_key()
    await store.put(key, chunks)
    assert await store.read(key) == b"".join(chunks)
    assert await content(reader, key) == b"".join(chunks)


async def test_a_missing_object_is_not_found(store: ObjectStore, reader: FileReader | RemoteReader) -> None:
    assert await store.read(a_key()) is None
    await store.put("00/" + "0" * 32 + ".png", [b"x"])
    assert await content(reader, "00/" + "0" * 31 + "1.png") is None


async def test_a_byte_range_can_be_read(store: ObjectStore, reader: FileReader | RemoteReader) -> None:
    key, data = a_key(), secrets.token_bytes(300_000)
    await store.put(key, [data])
    for part in (range(1), range(5, 10), range(100_000, 300_000), range(299_999, 300_000), range(300_000)):
        assert await content(reader, key, part) == data[part.start : part.stop]


async def test_concurrent_puts_of_one_key_store_one_complete_version(
    store: ObjectStore, reader: FileReader | RemoteReader
) -> None:
    key = a_key()
    versions = [bytes([number]) * 100_000 for number in range(32)]
    await asyncio.gather(*(store.put(key, [data]) for data in versions))
    assert await store.discard_unfinished(time.time() + LATER) == 0
    assert await content(reader, key) in versions
    assert await listed(store, LATER) == {key}


async def test_a_delete_removes_the_given_objects_and_ignores_missing_ones(
    store: ObjectStore, reader: FileReader | RemoteReader
) -> None:
    keys = [a_key() for _ in range(10)]
    for key in keys:
        await store.put(key, [b"x"])
    assert await store.delete([]) == set()
    assert await store.delete([*keys[:5], a_key()]) == set()
    assert await store.delete(keys[:1]) == set()  # a second time
    assert [await content(reader, key) for key in keys[:5]] == [None] * 5
    assert [await store.exists(key) for key in keys] == [False] * 5 + [True] * 5
    assert [await content(reader, key) for key in keys[5:]] == [b"x"] * 5


async def test_the_store_tells_its_own_time(store: ObjectStore) -> None:
    await store.put(a_key(), [b"x"])
    before = time.time()
    theirs = await store.time()
    assert theirs is not None
    assert before - 2 <= theirs <= time.time() + 2  # the same machine's clock, in whole seconds
    assert len(await listed(store, LATER)) == 1


async def test_objects_stored_before_the_cutoff_are_listed_in_order(store: ObjectStore) -> None:
    assert await listed(store, LATER) == set()
    ids = [secrets.token_hex(16) for _ in range(20)]
    extensions = ("png", "jpg", "webp", THUMBNAIL_EXT)
    keys = [origin_key(image_id, ext) for image_id in ids for ext in extensions]
    await asyncio.gather(*(store.put(key, [b"x"]) for key in keys))
    batches = [batch async for batch in store.stored_before(time.time() + LATER)]
    assert [key for batch in batches for key in batch] == sorted(keys)
    assert await listed(store, EARLIER) == set()
    some = sorted({image_id[:2] for image_id in ids})[::2]
    batches = [batch async for batch in store.stored_before(time.time() + LATER, [*some[::-1], "no"])]
    assert [key for batch in batches for key in batch] == sorted(key for key in keys if key[:2] in some)


async def test_sizes_are_those_of_a_shard(store: ObjectStore) -> None:
    ids = [f"ab{secrets.token_hex(15)}" for _ in range(3)] + [f"ac{secrets.token_hex(15)}"]
    sizes = {origin_key(image_id, "png"): size for size, image_id in enumerate(ids)}
    await asyncio.gather(*(store.put(key, [b"x" * size]) for key, size in sizes.items()))
    assert await store.sizes("ab") == {key: size for key, size in sizes.items() if key.startswith("ab")}
    assert await store.sizes("00") == {}


async def test_the_first_of_concurrent_claims_owns_the_store(store: ObjectStore) -> None:
    claimants = [secrets.token_hex(16) for _ in range(4)]
    owners = await asyncio.gather(*(store.owner(claimant) for claimant in claimants))
    assert len(set(owners)) == 1
    assert owners[0] in claimants
    assert await store.owner(secrets.token_hex(16)) == owners[0]
    assert await listed(store, LATER) == set()


async def test_the_check_succeeds_before_and_after_the_first_object(
    store: ObjectStore, reader: FileReader | RemoteReader
) -> None:
    for _ in range(2):
        await store.check()
        if isinstance(reader, FileReader):
            reader.check()
        else:
            await reader.check()
        await store.put(a_key(), [b"x"])
