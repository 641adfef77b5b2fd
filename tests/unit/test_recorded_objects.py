"""An object and its record agree, even if writing them fails or is cancelled."""

import asyncio
import gc
from pathlib import Path

import pytest

from prshots.contract.errors import RecordsError, RecordsUnsureError, StoreError
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.domain.images.recorded_objects import store_and_record

KEY = "ab/abcdef.diff.jpg"
OBJECTS = {"ab/abcdef.png": [b"before"], KEY: [b"marked"]}


@pytest.fixture
def store(tmp_path: Path) -> DiskStore:
    return DiskStore(tmp_path)


@pytest.mark.parametrize(("error", "is_kept"), [(RecordsError, False), (RecordsUnsureError, True)])
async def test_bytes_that_may_be_recorded_stay(
    store: DiskStore, error: type[RecordsError], is_kept: bool
) -> None:
    async def record() -> bool:
        raise error("the database is gone")

    with pytest.raises(error):
        await store_and_record(store, OBJECTS, record)
    assert [await store.read(key) is not None for key in OBJECTS] == [is_kept] * 2


@pytest.mark.parametrize("key", OBJECTS)
async def test_a_store_that_fails_leaves_nothing_and_no_record(store: DiskStore, key: str) -> None:
    async def record() -> bool:
        pytest.fail("it was recorded")

    (store.root / key / "in the way").mkdir(parents=True)
    with pytest.raises(StoreError):
        await store_and_record(store, OBJECTS, record)
    assert [path for path in store.root.rglob("*") if path.is_file()] == []


async def test_a_caller_that_is_cancelled_does_not_separate_them(store: DiskStore) -> None:
    recording, may_commit, committed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def record() -> bool:
        recording.set()
        await may_commit.wait()
        committed.set()
        return True

    storing = asyncio.create_task(store_and_record(store, OBJECTS, record))
    await recording.wait()
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    may_commit.set()
    await committed.wait()
    assert await store.read(KEY) == b"marked"


async def test_a_failure_after_the_caller_is_cancelled_is_not_left_to_asyncio(store: DiskStore) -> None:
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    recording, may_fail, failed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def record() -> bool:
        recording.set()
        await may_fail.wait()
        failed.set()
        raise RecordsUnsureError("the database is gone")

    storing = asyncio.create_task(store_and_record(store, OBJECTS, record))
    await recording.wait()
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    may_fail.set()
    await failed.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert unhandled == []
