"""The contract of every `PutUrlRecords` adapter."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from prshots.contract.errors import UnauthorizedError
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
from prshots.server.domain.images.models import BranchPlace, PutUrl
from prshots.server.domain.images.ports import PutUrlRecords
from prshots.server.domain.projects.models import Project, UploadToken
from support.port_watch import PortWatch
from support.stores_and_records import ENGINES, NOW, SqlRecords, a_project, a_token, an_image, opener

SECRET, OTHER, OF_BEFORE = "1" * 64, "2" * 64, "3" * 64
SOON, LATER = NOW + 1, NOW + 600


class Installation:
    """The records of one project."""

    def __init__(self, database: Database, project: Project, token: UploadToken) -> None:
        self.database, self.project, self.token = database, project, token
        self.records = SqlRecords(database)
        self.put_urls: PutUrlRecords = PortWatch().over(SqlPutUrls(database), PutUrlRecords)

    async def add(self, sha256: str = SECRET, **changes: object) -> PutUrl:
        about = ("cart", "0" * 40, "1x1", "dark", "image/png", LATER)
        plain = PutUrl(sha256, self.project.id, self.token.id, 7, BranchPlace("fix", "acme/shop"), *about)
        put_url = replace(plain, **changes)  # type: ignore[arg-type]
        await self.put_urls.add(put_url)
        return put_url

    async def scheduled(self) -> list[str]:
        return [image.id for image in await self.records.next_scheduled("", 100, self.project.id)]


@pytest.fixture(params=ENGINES)
async def here(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    database = opener(request, tmp_path)()
    project = a_project()
    token = a_token(project)
    await SqlRecords(database).add_project(project)
    await SqlRecords(database).add_token(token)
    yield Installation(database, project, token)
    await database.close()


async def test_url_is_found_by_its_secret_or_its_before_images_secret(here: Installation) -> None:
    put_url, _ = await here.add(before_sha256=OF_BEFORE), await here.add(OTHER)
    for sha256 in (SECRET, OF_BEFORE):
        assert await here.put_urls.find(sha256, SOON) == (put_url, here.project)
    assert await here.put_urls.find("4" * 64, SOON) is None


async def test_url_is_not_found_after_it_expires(here: Installation) -> None:
    await here.add()
    assert await here.put_urls.find(SECRET, LATER - 1)
    assert await here.put_urls.find(SECRET, LATER) is None


@pytest.mark.slow
async def test_url_ends_with_its_token(here: Installation) -> None:
    await here.add()
    await here.records.revoke_token(here.token.id, NOW)
    assert await here.put_urls.find(SECRET, SOON) is None


@pytest.mark.slow
async def test_url_ends_with_its_project(here: Installation) -> None:
    await here.add()
    assert await here.records.remove_project(here.project.id)
    assert await here.put_urls.find(SECRET, SOON) is None
    with pytest.raises(UnauthorizedError):
        await here.add()


async def test_only_one_of_concurrent_uses_succeeds(here: Installation) -> None:
    put_url = await here.add()
    images = [an_image(here.project) for _ in range(6)]
    used = await asyncio.gather(*(here.put_urls.use(put_url, image, None) for image in images))
    assert sorted(used) == [False] * 5 + [True]
    count, found = await here.records.images_of_pr(here.project.id, 7, 10)
    assert (count, found[0].id) == (1, images[used.index(True)].id)
    assert await here.put_urls.find(SECRET, SOON) is None


async def test_before_image_is_put_once(here: Installation) -> None:
    put_url = await here.add(before_sha256=OF_BEFORE)
    before, again = (an_image(here.project, kind="before") for _ in range(2))
    assert await here.put_urls.use_before(put_url, before)
    assert not await here.put_urls.use_before(put_url, again)
    found = await here.put_urls.find(SECRET, SOON)
    assert found
    assert found[0].before_id == before.id


async def test_expired_url_schedules_its_before_image(here: Installation) -> None:
    put_url = await here.add(before_sha256=OF_BEFORE)
    before = an_image(here.project, kind="before")
    await here.put_urls.use_before(put_url, before)
    assert await here.put_urls.discard_expired(LATER - 1, 10) == 0
    assert await here.scheduled() == []
    assert await here.put_urls.discard_expired(LATER, 10) == 1
    assert await here.scheduled() == [before.id]


@pytest.mark.slow
async def test_used_url_keeps_its_before_image(here: Installation) -> None:
    put_url = await here.add(before_sha256=OF_BEFORE)
    before = an_image(here.project, kind="before")
    await here.put_urls.use_before(put_url, before)
    assert await here.put_urls.use(put_url, an_image(here.project, before_id=before.id), None)
    assert await here.put_urls.discard_expired(LATER, 10) == 0
    assert await here.scheduled() == []
