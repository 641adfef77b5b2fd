"""An image that is uploaded with its before image: stored whole or not at all, and deleted whole."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from prshots.contract.errors import ExpireFailedError, StoreFullError
from prshots.server.domain.images.checks import UploadedFile, UploadFields, check_files
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from prshots.server.domain.upkeep.sweep import sweep
from support.service import PNG, SHA
from support.stores_and_records import (
    NOW,
    DiskStoreAt,
    SqlRecords,
    a_project,
    engines_of,
    image_service,
    open_records,
)

FIELDS = UploadFields("cart", SHA, "1x1", theme="")


class FailingStore(DiskStoreAt):
    """A disk that fails at its `n`th put, or does not delete some files."""

    puts = 0
    fail_at = 0
    undeletable: Collection[str] = ()

    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        self.puts += 1
        if self.puts == self.fail_at:
            raise StoreFullError("the disk is full")
        await super().put(key, chunks)

    async def delete(self, keys: Collection[str]) -> set[str]:
        may_go = [key for key in keys if key not in self.undeletable]
        return (await super().delete(may_go)) | (set(keys) - set(may_go))


@dataclass
class Place:
    records: SqlRecords
    store: FailingStore
    service: Images
    project: Project

    async def upload(self) -> tuple[Image, Image]:
        files = [UploadedFile("image/png", [PNG + tail], len(PNG) + len(tail)) for tail in (b"after", b"b")]
        checked = check_files(FIELDS, *files, max_image_bytes=9999)
        uploaded = await self.service.store_upload(self.project, 7, checked)
        after = await self.records.image(self.project.id, uploaded.id)
        assert after is not None
        assert after.before_id is not None
        (before,) = await self.records.before_images([after.before_id])
        return after, before

    def files(self) -> set[str]:
        found = (path for path in self.store.root.rglob("*.*") if path.is_file())
        return {str(path.relative_to(self.store.root)) for path in found if path.name != ".installation"}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    records = open_records(tmp_path)
    store, project = FailingStore(tmp_path / "images"), a_project()
    await records.add_project(project)
    yield Place(records, store, image_service(records, store), project)
    await records.close()


@pytest.mark.parametrize("at", [1, 2])
async def test_a_store_that_fails_leaves_nothing_of_a_pair(place: Place, at: int) -> None:
    place.store.fail_at = at
    with pytest.raises(StoreFullError):
        await place.upload()
    assert place.files() == set()
    assert (await place.records.images_of_pr(place.project.id, 7, 10))[0] == 0


@pytest.mark.parametrize("stays", ["after", "before"])
async def test_the_sweep_deletes_an_image_of_a_pair_that_could_not_be_deleted_before(
    place: Place, stays: str
) -> None:
    after, before = await place.upload()
    place.store.undeletable = {after.key if stays == "after" else before.key}
    with pytest.raises(ExpireFailedError):
        await place.service.delete(place.project, after.id)
    assert (await place.records.images_of_pr(place.project.id, 7, 10))[0] == 0
    place.store.undeletable = ()
    await sweep(engines_of(place.records, place.store), clock=lambda: NOW)
    assert place.files() == set()
    assert await place.records.known_ids([after.id, before.id]) == set()
