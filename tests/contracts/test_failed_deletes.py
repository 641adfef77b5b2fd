"""A delete that fails on PostgreSQL promises the sweep's help only if the sweep will find the image."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from prshots.contract.errors import ExpireFailedError, RecordsError, RecordsFullError
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.database.postgresql import Timeouts, open_postgresql
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.recorded_objects import expire_scheduled
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from support.engine_servers import PostgreSQL
from support.stores_and_records import SqlRecords, a_project, an_image, empty_database, image_service

LOCK_SECONDS = 0.2


@dataclass
class Place:
    url: str
    records: SqlRecords
    store: DiskStore
    images: Images
    project: Project
    image: Image

    async def delete(self) -> None:
        await self.images.delete(self.project, self.image.id)

    async def is_marked(self) -> bool:
        found = await self.records.image(self.project.id, self.image.id)
        assert found is not None
        return found.scheduled_at is not None

    @contextlib.contextmanager
    def locked(self, table: str) -> Iterator[None]:
        with psycopg.connect(self.url) as holding:
            holding.execute(f"SELECT 1 FROM {table} FOR UPDATE")  # type: ignore[call-overload]
            yield


@pytest.fixture
async def place(postgresql: PostgreSQL, tmp_path: Path) -> AsyncIterator[Place]:
    url, store = empty_database(postgresql), DiskStore(tmp_path)
    records = SqlRecords(open_postgresql(url, Timeouts(lock=LOCK_SECONDS)))
    project = a_project()
    image = an_image(project)
    await records.add_project(project)
    await store.put(image.key, [b"x"])
    await records.add_image(image)
    yield Place(url, records, store, image_service(records, store), project, image)
    await records.close()
    store.close()


async def test_a_locked_image_is_a_database_error_and_keeps_its_bytes(place: Place) -> None:
    with place.locked("images"), pytest.raises(RecordsError, match="lock timeout"):
        await place.delete()
    assert not await place.is_marked()
    assert await place.store.read(place.image.key) is not None
    await place.delete()


async def test_a_locked_pull_request_leaves_the_marked_image_to_the_sweep(place: Place) -> None:
    """Removing the record locks its pull request. Marking it does not."""
    with place.locked("pulls"), pytest.raises(ExpireFailedError, match=r"^expire failed, retry later$"):
        await place.delete()
    assert await place.is_marked()
    swept = await expire_scheduled(place.records, place.store, await place.records.next_scheduled("", 10))
    assert swept.expired == 1


async def test_an_image_that_was_marked_before_needs_no_second_mark(place: Place) -> None:
    await place.records.schedule([place.image.id], 1)
    with place.locked("images"), pytest.raises(ExpireFailedError):
        await place.delete()
    await place.delete()


async def test_on_a_full_disk_the_image_is_marked_once_its_bytes_made_room(place: Place) -> None:
    marks = place.records.schedule

    async def no_room(*_: object) -> None:
        place.records.schedule = marks  # type: ignore[method-assign]
        raise RecordsFullError("the disk of the database is full")

    place.records.schedule = no_room  # type: ignore[method-assign]
    with place.locked("pulls"), pytest.raises(ExpireFailedError):
        await place.delete()
    assert await place.is_marked()
