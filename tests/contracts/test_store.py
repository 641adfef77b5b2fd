"""What every origin store behind the `ObjectStore` port promises."""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prshots.models import THUMBNAIL_EXT, origin_key
from prshots.ports import ObjectReader, ObjectStore
from prshots.stores.disk import DiskReader, DiskStore

LATER, EARLIER = 60, -60


@pytest.fixture(params=["disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    """Open an empty store. The place to add an adapter."""
    adapters: dict[str, Callable[[], DiskStore]] = {"disk": lambda: DiskStore(tmp_path / "images")}
    opened = adapters[request.param]()
    yield opened
    opened.close()


@pytest.fixture(params=["disk"])
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectReader:
    """Another process's view of the same objects, which can only read them."""
    adapters: dict[str, Callable[[], ObjectReader]] = {"disk": lambda: DiskReader(tmp_path / "images")}
    return adapters[request.param]()


def a_key() -> str:
    return origin_key(secrets.token_hex(16), "png")


def content(reader: ObjectReader, key: str) -> bytes | None:
    opened = reader.open(key)
    if opened is None:
        return None
    try:
        read = os.pread(opened.fd, opened.size + 1, 0)
        assert len(read) == opened.size
        return read
    finally:
        os.close(opened.fd)


async def listed(store: ObjectStore, seconds_from_now: float) -> set[str]:
    return {key async for batch in store.stored_before(time.time() + seconds_from_now) for key in batch}


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"one piece"], id="one"),
        pytest.param([b"several", b"", b" ", b"pieces"], id="several"),
        pytest.param([bytes([number % 256]) for number in range(5000)], id="5000"),
        pytest.param([secrets.token_bytes(1024**2) for _ in range(5)], id="large"),
        pytest.param([], id="none"),
    ],
)
async def test_what_was_put_is_there_whole(
    store: ObjectStore, reader: ObjectReader, chunks: list[bytes]
) -> None:
    key = a_key()
    await store.put(key, chunks)
    assert content(store, key) == b"".join(chunks)
    assert content(reader, key) == b"".join(chunks)


async def test_what_was_not_put_is_not_there(store: ObjectStore, reader: ObjectReader) -> None:
    assert store.open(a_key()) is None
    await store.put("00/" + "0" * 32 + ".png", [b"x"])
    assert reader.open("00/" + "0" * 31 + "1.png") is None


async def test_the_same_put_by_many_at_once_is_one_of_them_whole(
    store: ObjectStore, reader: ObjectReader
) -> None:
    key = a_key()
    versions = [bytes([number]) * 100_000 for number in range(32)]
    await asyncio.gather(*(store.put(key, [data]) for data in versions))
    assert content(reader, key) in versions
    assert await listed(store, LATER) == {key}
    assert await store.discard_unfinished(time.time() + LATER) == 0


async def test_many_at_once(store: ObjectStore, reader: ObjectReader) -> None:
    objects = {a_key(): secrets.token_bytes(1000) for _ in range(100)}
    await asyncio.gather(*(store.put(key, [data]) for key, data in objects.items()))
    assert {key: content(reader, key) for key in objects} == objects


async def test_a_deleted_one_is_gone_for_everybody_and_the_others_stay(
    store: ObjectStore, reader: ObjectReader
) -> None:
    keys = [a_key() for _ in range(10)]
    for key in keys:
        await store.put(key, [b"x"])
    assert await store.delete(keys[:5]) == set()
    assert [reader.open(key) for key in keys[:5]] == [None] * 5
    assert [content(reader, key) for key in keys[5:]] == [b"x"] * 5


async def test_deleting_what_is_not_there_counts_as_done(store: ObjectStore) -> None:
    key = a_key()
    assert await store.delete([key, a_key()]) == set()
    await store.put(key, [b"x"])
    assert await store.delete([key]) == set()
    assert await store.delete([key]) == set()
    assert await store.delete([]) == set()


async def test_lists_what_was_written_before_a_time(store: ObjectStore) -> None:
    assert await listed(store, LATER) == set()
    ids = [secrets.token_hex(16) for _ in range(20)]
    keys = {origin_key(image_id, ext) for image_id in ids for ext in ("png", "jpg", "webp", THUMBNAIL_EXT)}
    await asyncio.gather(*(store.put(key, [b"x"]) for key in keys))
    assert await listed(store, LATER) == keys
    assert await listed(store, EARLIER) == set()


async def test_finished_writes_are_nothing_to_discard(store: ObjectStore) -> None:
    key = a_key()
    await store.put(key, [b"x"])
    assert await store.discard_unfinished(time.time() + LATER) == 0
    assert content(store, key) == b"x"


async def test_belongs_to_whoever_claims_it_first(store: ObjectStore) -> None:
    first, second = secrets.token_hex(16), secrets.token_hex(16)
    assert await store.owner(first) == first
    assert await store.owner(second) == first
    assert await listed(store, LATER) == set()


async def test_claims_at_once_agree_on_one_owner(store: ObjectStore) -> None:
    claimants = [secrets.token_hex(16) for _ in range(16)]
    owners = await asyncio.gather(*(store.owner(claimant) for claimant in claimants))
    assert len(set(owners)) == 1
    assert owners[0] in claimants
