"""Making thumbnails on a real database and a real disk, with other changes at the same time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import PIL.Image
import pytest
import structlog

from prshots.contract.errors import PictureWorkerDiedError
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.recorded_objects import expire_scheduled
from prshots.server.domain.images.thumbnails import AT_ONCE, MAX_DEATHS, MAX_WAITING, Thumbnails
from prshots.server.domain.projects.models import Project
from support import places
from support.nasty_pictures import encoded
from support.stores_and_records import NOW, DiskStoreAt, a_project, filled_up, small_disk
from support.thumbnails_in_process import patient_thumbnails, rendered
from support.waiting import eventually

PICTURE = encoded(PIL.Image.new("RGB", (1280, 800), "red"))
BROKEN = PICTURE[: len(PICTURE) // 2]


class WatchedStore(DiskStoreAt):
    """The real store. It records its calls, and lets a test act between two of them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked_for: list[str] = []
        self.after_put: Callable[[], object] = lambda: None
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def read(self, key: str) -> bytes | None:
        self.asked_for.append(key)
        await self.may_read.wait()
        return await super().read(key)

    async def put(self, key: str, chunks: object) -> None:
        await super().put(key, chunks)  # type: ignore[arg-type]
        pending = self.after_put()
        if asyncio.iscoroutine(pending):
            await pending


class Place(places.Place):
    store: WatchedStore

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, WatchedStore(folder / "images"))
        self.thumbnails = patient_thumbnails(self.records, self.store)

    async def picture(self, data: bytes = PICTURE, project: Project | None = None) -> Image:
        image = await self.image(project)
        self.path(image).write_bytes(data)
        return image

    async def now(self, image: Image) -> Image:
        """Return the image as it is recorded now."""
        recorded = await self.records.image(self.project.id, image.id)
        assert recorded is not None
        return recorded

    async def expire(self, image: Image) -> None:
        await self.records.schedule([image.id], NOW)
        await expire_scheduled(self.records, self.store, [image])

    async def close(self) -> None:
        await self.thumbnails.close()
        await super().close()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    await made.add_project(made.project)
    yield made
    await made.close()


async def test_an_image_is_read_once_even_if_it_is_broken(place: Place) -> None:
    fine, broken = await place.picture(), await place.picture(BROKEN)
    expected = {broken.id: "damaged", fine.id: "made"}
    with structlog.testing.capture_logs() as logs:
        assert await place.thumbnails.make([broken, fine]) == expected
    assert [(entry["event"], entry["image"]) for entry in logs] == [
        ("image cannot be made into a thumbnail", broken.id)
    ]
    assert place.files() == {broken.key, fine.key, fine.thumbnail_key}
    noted = [await place.now(image) for image in (broken, fine)]
    assert {image.id: image.thumbnail for image in noted} == expected
    place.store.asked_for.clear()
    assert await place.thumbnails.make(noted) == expected
    assert place.store.asked_for == []


async def test_an_unreadable_image_is_retried_at_the_next_view(place: Place) -> None:
    stuck, fine = await place.picture(), await place.picture()
    path = place.store.root / stuck.key
    path.rename(path.with_suffix(".aside"))
    path.mkdir()  # a folder in its place: it exists, but cannot be read
    with structlog.testing.capture_logs() as logs:
        assert await place.thumbnails.make([stuck, fine]) == {stuck.id: "later", fine.id: "made"}
    assert "storage unavailable" in [entry["event"] for entry in logs]
    unmarked = await place.now(stuck)
    assert unmarked.thumbnail is None
    path.rmdir()
    path.with_suffix(".aside").rename(path)
    assert await place.thumbnails.make([unmarked]) == {stuck.id: "made"}


async def test_concurrent_requests_share_one_rendering(place: Place) -> None:
    image, other = await place.picture(), await place.picture()
    made = await asyncio.gather(
        place.thumbnails.make([image]),
        place.thumbnails.make([image, other]),
        place.thumbnails.make([image, image]),
    )
    assert made == [{image.id: "made"}, {image.id: "made", other.id: "made"}, {image.id: "made"}]
    assert sorted(place.store.asked_for) == sorted([image.key, other.key])


async def test_a_cancelled_request_does_not_cancel_the_others(place: Place) -> None:
    image = await place.picture()
    place.store.may_read.clear()
    impatient = asyncio.create_task(place.thumbnails.make([image]))
    patient = asyncio.create_task(place.thumbnails.make([image]))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    place.store.may_read.set()
    assert await patient == {image.id: "made"}
    assert place.store.asked_for == [image.key]


async def test_an_image_that_expires_during_rendering_leaves_no_files(place: Place) -> None:
    image = await place.picture()
    place.store.after_put = lambda: place.expire(image)  # thumbnail stored, not yet recorded
    assert await place.thumbnails.make([image]) == {}
    assert place.files() == set()
    assert await place.records.image(place.project.id, image.id) is None


async def test_an_image_scheduled_during_rendering_gets_no_thumbnail(place: Place) -> None:
    """The image's bytes may be deleted at any moment. A thumbnail stored now could outlive that delete."""
    image = await place.picture()
    place.store.after_put = lambda: place.records.schedule([image.id], NOW)
    assert await place.thumbnails.make([image]) == {}
    assert place.files() == {image.key}


async def test_two_replicas_can_make_the_same_thumbnails_concurrently(place: Place, tmp_path: Path) -> None:
    images = [await place.picture() for _ in range(8)]
    other = Place(tmp_path)
    made = await asyncio.gather(place.thumbnails.make(images), other.thumbnails.make(images))
    await other.close()
    assert made == [{image.id: "made" for image in images}] * 2
    assert place.files() == {key for image in images for key in (image.key, image.thumbnail_key)}


async def test_thumbnail_is_retried_later_if_the_disk_is_full(place: Place) -> None:
    with small_disk(place.store.root, "512k") as disk:
        image = await place.picture()
        with filled_up(disk), structlog.testing.capture_logs() as logs:
            assert await place.thumbnails.make([image]) == {image.id: "later"}
        assert [entry["event"] for entry in logs] == ["storage unavailable"]
        assert place.files() == {image.key}
        assert await place.thumbnails.make([image]) == {image.id: "made"}  # the disk has space again


async def test_a_thumbnail_that_cannot_be_recorded_is_not_kept(place: Place) -> None:
    image = await place.picture()
    database = place.records._database
    place.store.after_put = lambda: database.write(
        lambda connection: connection.exec_driver_sql("DROP TABLE images")
    )
    with structlog.testing.capture_logs() as logs:
        assert await place.thumbnails.make([image]) == {image.id: "later"}
    assert [entry["event"] for entry in logs] == ["database unavailable"]
    assert place.files() == {image.key}


async def test_closing_finishes_running_work_and_cancels_the_rest(place: Place) -> None:
    projects = [place.project, *[await place.add_project(a_project()) for _ in range(AT_ONCE)]]
    images = [await place.picture(project=project) for project in projects]
    place.store.may_read.clear()
    asked = [asyncio.create_task(place.thumbnails.make([image])) for image in images]
    await eventually(lambda: len(place.store.asked_for) == AT_ONCE, "the first ones to be read")
    closing = asyncio.create_task(place.thumbnails.close())
    await asyncio.sleep(0)  # lets the close begin
    place.store.may_read.set()
    await closing
    assert await asyncio.gather(*asked) == [
        *({image.id: "made"} for image in images[:AT_ONCE]),
        *({image.id: "later"} for image in images[AT_ONCE:]),
    ]
    assert place.files() == {image.key for image in images} | {
        image.thumbnail_key for image in images[:AT_ONCE]
    }


async def test_a_slow_image_does_not_hold_up_other_projects(place: Place) -> None:
    other = await place.add_project(a_project())
    slow = [await place.picture() for _ in range(AT_ONCE + 1)]
    quick = [await place.picture(project=other) for _ in range(3)]
    may_go_on = asyncio.Event()
    begun = 0

    async def render(data: bytes, tallness: float) -> bytes:
        nonlocal begun
        begun += 1
        if begun == 1:
            await may_go_on.wait()
        return await rendered(data, tallness)

    thumbnails = patient_thumbnails(place.records, place.store, render)
    waiting = asyncio.create_task(thumbnails.make(slow))
    await eventually(lambda: begun == 1, "the slow one to be rendered")
    assert await thumbnails.make(quick) == {image.id: "made" for image in quick}
    assert not waiting.done()
    may_go_on.set()
    assert await waiting == {image.id: "made" for image in slow}
    await thumbnails.close()


async def test_a_caller_does_not_wait_for_a_slow_image_forever(place: Place) -> None:
    image = await place.picture()
    place.store.may_read.clear()
    thumbnails = Thumbnails(records=place.records, store=place.store, render=rendered, patience_seconds=0.01)
    assert await thumbnails.make([image]) == {image.id: "later"}
    place.store.may_read.set()
    await thumbnails.close()  # finishes it
    assert (await place.now(image)).thumbnail == "made"


async def test_an_image_that_kills_its_worker_again_is_not_decoded_any_more(place: Place) -> None:
    image, calls = await place.picture(), 0

    async def render(data: bytes, tallness: float) -> bytes:  # noqa: ARG001
        nonlocal calls
        calls += 1
        raise PictureWorkerDiedError("the process that decoded it died with exit code -11")

    thumbnails = patient_thumbnails(place.records, place.store, render)
    assert [await thumbnails.make([image]) for _ in range(MAX_DEATHS)] == [
        *[{image.id: "later"}] * (MAX_DEATHS - 1),
        {image.id: "too_large"},
    ]
    noted = await place.now(image)
    assert await thumbnails.make([noted]) == {image.id: "too_large"}
    assert calls == MAX_DEATHS


async def test_a_project_with_too_many_waiting_images_is_asked_to_come_back(place: Place) -> None:
    images = [await place.picture() for _ in range(3)]
    crowd = [images[0]._replace(id=f"{number:032x}") for number in range(MAX_WAITING)]
    place.store.may_read.clear()
    waiting = asyncio.create_task(place.thumbnails.make(crowd))
    await eventually(lambda: place.store.asked_for, "the first one to be read")
    assert await place.thumbnails.make(images) == {image.id: "later" for image in images}
    place.store.may_read.set()
    assert await waiting == {}  # the crowd does not exist
    assert await place.thumbnails.make(images) == {image.id: "made" for image in images}
