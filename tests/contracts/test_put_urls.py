"""The contract of every `PutUrlRecords` adapter."""

import asyncio
from dataclasses import replace

import pytest

from prshots.contract.errors import UnauthorizedError
from prshots.server.domain.images.models import BranchPlace, Image, PutUrl
from support.contract_stores import Stores
from support.stores_and_records import NOW, a_token, an_image

SECRET, OTHER, OF_BEFORE = "1" * 64, "2" * 64, "3" * 64
SOON, LATER = NOW + 1, NOW + 600
TOKEN = "ci-token"


@pytest.fixture
async def here(stores: Stores) -> Stores:
    await stores.records.add_token(a_token(stores.project, id=TOKEN))
    return stores


async def add(here: Stores, sha256: str = SECRET, **changes: object) -> PutUrl:
    about = ("cart", "0" * 40, "1x1", "dark", "image/png", LATER)
    plain = PutUrl(sha256, here.project.id, TOKEN, 7, BranchPlace("fix", "acme/shop"), *about)
    put_url = replace(plain, **changes)
    await here.put_urls.add(put_url)
    return put_url


async def add_with_before(here: Stores) -> tuple[PutUrl, Image]:
    """Add a URL whose before image was put."""
    put_url = await add(here, before_sha256=OF_BEFORE)
    before = an_image(here.project, kind="before")
    assert await here.put_urls.use_before(put_url, before)
    return put_url, before


async def test_url_is_found_by_either_of_its_secrets_until_it_expires(here: Stores) -> None:
    put_url, _ = await add(here, before_sha256=OF_BEFORE), await add(here, OTHER)
    for sha256 in (SECRET, OF_BEFORE):
        assert await here.put_urls.find(sha256, LATER - 1) == (put_url, here.project)
        assert await here.put_urls.find(sha256, LATER) is None
    assert await here.put_urls.find("4" * 64, SOON) is None


@pytest.mark.slow
async def test_url_ends_with_its_token(here: Stores) -> None:
    await add(here)
    await here.records.revoke_token(TOKEN, NOW)
    assert await here.put_urls.find(SECRET, SOON) is None


@pytest.mark.slow
async def test_url_ends_with_its_project(here: Stores) -> None:
    await add(here)
    assert await here.records.remove_project(here.project.id)
    assert await here.put_urls.find(SECRET, SOON) is None
    with pytest.raises(UnauthorizedError):
        await add(here)


async def test_only_one_of_concurrent_uses_succeeds(here: Stores) -> None:
    put_url = await add(here)
    images = [an_image(here.project) for _ in range(6)]
    used = await asyncio.gather(*(here.put_urls.use(put_url, image, None) for image in images))
    assert sorted(used) == [False] * 5 + [True]
    assert await here.of_pull() == [images[used.index(True)].id]
    assert await here.put_urls.find(SECRET, SOON) is None


async def test_before_image_is_put_once(here: Stores) -> None:
    put_url, before = await add_with_before(here)
    assert not await here.put_urls.use_before(put_url, an_image(here.project, kind="before"))
    found = await here.put_urls.find(SECRET, SOON)
    assert found
    assert found[0].before_id == before.id


async def test_expired_url_schedules_its_before_image(here: Stores) -> None:
    _, before = await add_with_before(here)
    assert await here.put_urls.discard_expired(LATER - 1, 10) == 0
    assert await here.scheduled() == []
    assert await here.put_urls.discard_expired(LATER, 10) == 1
    assert await here.scheduled() == [before.id]


@pytest.mark.slow
async def test_used_url_keeps_its_before_image(here: Stores) -> None:
    put_url, before = await add_with_before(here)
    assert await here.put_urls.use(put_url, an_image(here.project, before_id=before.id), None)
    assert await here.put_urls.discard_expired(LATER, 10) == 0
    assert await here.scheduled() == []
