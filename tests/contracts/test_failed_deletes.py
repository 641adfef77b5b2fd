"""A delete that fails on PostgreSQL promises the sweep's help only if the sweep will find the image."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from prshots.contract.errors import ExpireFailedError, RecordsFullError
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.database.postgresql import Timeouts, open_postgresql
from prshots.server.domain.images.recorded_objects import expire_scheduled
from prshots.server.domain.projects.models import Access
from support.contract_stores import Stores
from support.engine_servers import PostgreSQL
from support.stores_and_records import empty_database, image_service

LOCK_SECONDS = 0.2


class Place(Stores):
    """A database whose locks time out soon, and a folder, with one image."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__("postgresql", lambda: open_postgresql(url, Timeouts(lock=LOCK_SECONDS)))
        self.url, self.store = url, DiskStore(folder)

    async def fill(self) -> None:
        await super().fill()
        self.shown = await self.add()
        await self.store.put(self.shown.key, [b"x"])

    async def delete(self) -> None:
        await image_service(self.records, self.store).delete(Access(self.project), self.shown.id)

    async def is_marked(self) -> bool:
        return (await self.image(self.shown.id)).scheduled_at is not None

    @contextlib.contextmanager
    def locked(self, table: str) -> Iterator[None]:
        with psycopg.connect(self.url) as holding:
            holding.execute(f"SELECT 1 FROM {table} FOR UPDATE")
            yield


@pytest.fixture
async def place(postgresql: PostgreSQL, tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(empty_database(postgresql), tmp_path)
    await made.fill()
    yield made
    await made.close()
    made.store.close()


async def test_a_locked_pull_request_leaves_the_marked_image_to_the_sweep(place: Place) -> None:
    """Removing the record locks its pull request. Marking it does not."""
    with place.locked("pulls"), pytest.raises(ExpireFailedError, match=r"^expire failed, retry later$"):
        await place.delete()
    assert await place.is_marked()
    swept = await expire_scheduled(place.records, place.store, await place.records.next_scheduled("", 10))
    assert swept.expired == 1


async def test_an_image_that_was_marked_before_needs_no_second_mark(place: Place) -> None:
    await place.records.schedule([place.shown.id], 1)
    with place.locked("images"), pytest.raises(ExpireFailedError):
        await place.delete()
    await place.delete()


async def test_on_a_full_disk_the_image_is_marked_once_its_bytes_made_room(place: Place) -> None:
    marks = place.records.schedule

    async def no_room(*_: object) -> None:
        place.records.schedule = marks
        raise RecordsFullError("the disk of the database is full")

    place.records.schedule = no_room
    with place.locked("pulls"), pytest.raises(ExpireFailedError):
        await place.delete()
    assert await place.is_marked()
