"""A delete that fails on PostgreSQL promises the sweep's help only if the sweep will find the image."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from prshots.contract.errors import ExpireFailedError, RecordsError, RecordsFullError
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.database.postgresql import Timeouts, open_postgresql
from prshots.server.domain.images.expiry import expire_scheduled
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from support.engine_servers import PostgreSQL, running_postgresql
from support.stores_and_records import SqlRecords, a_project, an_image, empty_database, image_service

LOCK_SECONDS = 0.2


class InterruptedStore(DiskStore):
    """Runs something right before the bytes are deleted."""

    before_delete: Callable[[], object] = staticmethod(lambda: None)

    async def delete(self, keys: Collection[str]) -> set[str]:
        await asyncio.to_thread(self.before_delete)
        return await super().delete(keys)


class InterruptedRecords(SqlRecords):
    """Runs something right after an image was found."""

    after_look_up: Callable[[], object] = staticmethod(lambda: None)

    async def image(self, project_id: str, image_id: str) -> Image | None:
        found = await super().image(project_id, image_id)
        await asyncio.to_thread(self.after_look_up)
        return found


@dataclass
class Place:
    url: str
    records: InterruptedRecords
    store: InterruptedStore
    images: Images
    project: Project
    image: Image

    async def delete(self) -> None:
        await self.images.delete(self.project, self.image.id)

    async def is_marked(self) -> bool:
        found = await self.records.image(self.project.id, self.image.id)
        assert found is not None
        return found.scheduled_at is not None

    async def swept(self) -> int:
        """Do what the sweep does with scheduled images. Return how many it deleted."""
        scheduled = await self.records.next_scheduled("", 10)
        return (await expire_scheduled(self.records, self.store, scheduled)).expired

    async def has_bytes(self) -> bool:
        return await self.store.read(self.image.key) is not None


@contextlib.asynccontextmanager
async def place_on(server: PostgreSQL, folder: Path) -> AsyncIterator[Place]:
    url, store = empty_database(server), InterruptedStore(folder)
    records = InterruptedRecords(open_postgresql(url, Timeouts(lock=LOCK_SECONDS)))
    images = image_service(records, store)
    project = a_project()
    image = an_image(project)
    await records.add_project(project)
    await store.put(image.key, [b"x"])
    await records.add_image(image)
    yield Place(url, records, store, images, project, image)
    await records.close()
    store.close()


@pytest.fixture
async def place(postgresql: PostgreSQL, tmp_path: Path) -> AsyncIterator[Place]:
    async with place_on(postgresql, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgreSQL]:
    """Run a server for this module only: its tests kill it."""
    with running_postgresql(18) as started:
        yield started


@pytest.fixture
async def mortal_place(own_server: PostgreSQL, tmp_path: Path) -> AsyncIterator[Place]:
    async with place_on(own_server, tmp_path) as made:
        yield made


async def test_a_locked_image_is_a_database_error_and_keeps_its_bytes(place: Place) -> None:
    with psycopg.connect(place.url) as holding:
        holding.execute("SELECT 1 FROM images FOR UPDATE")
        with pytest.raises(RecordsError, match="lock timeout"):
            await place.delete()
    assert not await place.is_marked()
    assert await place.has_bytes()
    await place.delete()


async def test_a_locked_pull_request_leaves_the_marked_image_to_the_sweep(place: Place) -> None:
    """Removing the record locks its pull request. Marking it does not."""
    with psycopg.connect(place.url) as holding:
        holding.execute("SELECT 1 FROM pulls FOR UPDATE")
        with pytest.raises(ExpireFailedError, match=r"^expire failed, retry later$"):
            await place.delete()
    assert await place.is_marked()
    assert await place.swept() == 1


@pytest.mark.slow
async def test_a_database_killed_before_the_mark_is_a_database_error(
    mortal_place: Place, own_server: PostgreSQL
) -> None:
    mortal_place.records.after_look_up = own_server.kill
    with pytest.raises(RecordsError, match="did not answer"):
        await mortal_place.delete()
    own_server.start()
    mortal_place.records.after_look_up = lambda: None
    assert not await mortal_place.is_marked()
    assert await mortal_place.has_bytes()
    await mortal_place.delete()


@pytest.mark.slow
async def test_a_database_killed_after_the_mark_leaves_the_image_to_the_sweep(
    mortal_place: Place, own_server: PostgreSQL
) -> None:
    mortal_place.store.before_delete = own_server.kill
    with pytest.raises(ExpireFailedError):
        await mortal_place.delete()
    own_server.start()
    mortal_place.store.before_delete = lambda: None
    assert await mortal_place.is_marked()
    assert await mortal_place.swept() == 1


async def test_an_image_that_was_marked_before_needs_no_second_mark(place: Place) -> None:
    await place.records.schedule([place.image.id], 1)
    with psycopg.connect(place.url) as holding:
        holding.execute("SELECT 1 FROM images FOR UPDATE")
        with pytest.raises(ExpireFailedError):
            await place.delete()
    await place.delete()


async def test_on_a_full_disk_the_image_is_marked_once_its_bytes_made_room(place: Place) -> None:
    marks = place.records.schedule

    async def no_room(*_: object) -> None:
        place.records.schedule = marks  # type: ignore[method-assign]
        raise RecordsFullError("the disk of the database is full")

    place.records.schedule = no_room  # type: ignore[method-assign]
    with psycopg.connect(place.url) as holding:
        holding.execute("SELECT 1 FROM pulls FOR UPDATE")
        with pytest.raises(ExpireFailedError):
            await place.delete()
    assert await place.is_marked()
