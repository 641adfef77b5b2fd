"""Quotas: uploads never exceed them, even from several replicas at the same time."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from sqlalchemy import text

from prshots.contract.errors import QuotaReachedError
from prshots.server.domain.images.models import BranchPlace, PutUrl, StagedImage
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION
from prshots.server.domain.storage.models import Limit, Limits, QuotaHolder, Scope
from support.contract_stores import Stores
from support.stores_and_records import NOW, SqlRecords, a_pair, a_project, an_image


def limits(stores: Stores, *, organization: int = 0, project: int = 0) -> Limits:
    both = (
        Limit("project", stores.project.id, project),
        Limit("organization", LOCAL_ORGANIZATION, organization),
    )
    return [limit for limit in both if limit.bytes]


async def outcome(upload: Awaitable[object]) -> bool:
    """Return whether an upload fit."""
    try:
        await upload
    except QuotaReachedError:
        return False
    return True


def put_url(stores: Stores) -> PutUrl:
    about = ("cart", "0" * 40, "1x1", "", "image/png", NOW + 60, "1" * 64)
    return PutUrl("0" * 64, stores.project.id, "token", 7, BranchPlace("", ""), *about)


WAYS: dict[str, Callable[[Stores, Limits], Awaitable[object]]] = {
    "image": lambda here, limit: here.records.add_image(an_image(here.project), limits=limit),
    "before image": lambda here, limit: here.records.add_image(
        *swapped(a_pair(here.project, size=500)), limits=limit
    ),
    "baseline": lambda here, limit: here.records.add_image(
        an_image(here.project, kind="baseline"), "main", limits=limit
    ),
    "staged": lambda here, limit: here.staged.add(
        StagedImage(an_image(here.project, kind="staged"), BranchPlace("fix", ""), NOW + 60), limits=limit
    ),
    "one-time URL": lambda here, limit: here.put_urls.use(put_url(here), an_image(here.project), None, limit),
    "before image of a one-time URL": lambda here, limit: here.put_urls.use_before(
        put_url(here), an_image(here.project, kind="before"), limit
    ),
    "adopted": lambda here, limit: here.baselines.adopt(
        an_image(here.project, kind="baseline"), "main", limit
    ),
}


def swapped(pair: tuple[Any, Any]) -> tuple[Any, str, Any]:
    return pair[0], "", pair[1]


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_takes_exactly_the_quota(stores: Stores, way: str) -> None:
    await stores.put_urls.add(put_url(stores))
    await stores.add(size=500)
    before = await stores.totals()
    assert not await outcome(WAYS[way](stores, limits(stores, project=1499)))
    assert not await outcome(WAYS[way](stores, limits(stores, organization=1499)))
    assert await stores.totals() == before
    assert await stores.wrong_totals() == []
    assert await outcome(WAYS[way](stores, limits(stores, organization=1500, project=1500)))
    assert (await stores.totals())[1] == 1500


@pytest.mark.parametrize("scope", ["organization", "project"])
async def test_concurrent_uploads_never_exceed_a_quota(stores: Stores, scope: Scope) -> None:
    """Of uploads to three replicas, exactly as many fit as the quota has room for. Deletes make room."""
    chance = random.Random(7)
    replicas: list[SqlRecords] = [stores.records, stores.open_again(), stores.open_again()]
    projects = [stores.project]
    if scope == "organization":
        projects += [await stores.add_project() for _ in range(2)]

    async def upload(number: int) -> bool:
        project = chance.choice(projects)
        holder_id = LOCAL_ORGANIZATION if scope == "organization" else project.id
        limit = [Limit(scope, holder_id, 10_500)]
        image = an_image(project, pr_number=1 + number % 3)
        return await outcome(replicas[number % 3].add_image(image, limits=limit))

    async def fill() -> list[bool]:
        return await asyncio.gather(*map(upload, range(40)))

    assert sum(await fill()) == 10
    assert sum(await fill()) == 0
    total = await stores.quotas.total(LOCAL_ORGANIZATION)
    assert total == (10, 10_000)
    doomed = await stores.database.rows(text("SELECT id FROM images WHERE project_id <> 'neighbor' LIMIT 4"))
    removing: Coroutine[Any, Any, int] = stores.records.remove_images([row.id for row in doomed])
    await asyncio.gather(removing, *map(upload, range(40)))
    await fill()
    assert await stores.quotas.total(LOCAL_ORGANIZATION) == (10, 10_000)
    assert await stores.wrong_totals() == []


async def test_an_upload_that_fits_succeeds_beside_larger_ones(stores: Stores) -> None:
    """They share a commit, and a refusal undoes only its own upload."""
    limit = limits(stores, project=5000)
    small = [stores.records.add_image(an_image(stores.project, size=10), limits=limit) for _ in range(20)]
    large = [stores.records.add_image(an_image(stores.project, size=9000), limits=limit) for _ in range(20)]
    mixed = [each for pair in zip(large, small, strict=True) for each in pair]
    assert await asyncio.gather(*map(outcome, mixed)) == [False, True] * 20
    assert (await stores.totals())[:2] == (20, 200)


async def test_uploads_in_one_commit_keep_their_own_quotas(stores: Stores) -> None:
    """The operator lowers a quota while uploads are in progress."""
    for smaller in (500, 501, 502, 503):  # a set has them in different orders
        quotas = [limits(stores, project=100_000), limits(stores, project=smaller)] * 4
        adding = [stores.records.add_image(an_image(stores.project), limits=limit) for limit in quotas]
        assert await asyncio.gather(*map(outcome, adding)) == [True, False] * 4


async def test_moving_staged_images_and_references_need_no_room(stores: Stores) -> None:
    place = BranchPlace("fix", "")
    image = an_image(stores.project, kind="staged", sha256="a" * 64)
    await stores.staged.add(StagedImage(image, place, NOW + 60), limits=limits(stores, project=1000))
    assert await stores.staged.move(stores.project.id, place, 8, NOW, 10) == 1
    shots = [(image.shot, "a" * 64)]
    assert await stores.records.add_references(stores.project.id, 8, "b" * 40, shots, NOW) == [True]
    assert (await stores.totals())[1] == 1000


async def test_the_operator_sets_quotas_and_each_change_is_recorded(stores: Stores) -> None:
    quotas, project = stores.quotas, stores.project
    await stores.add(size=500)
    assert await quotas.set_quota("project", project.id, 700)
    assert await quotas.set_quota("project", project.id, 700)  # changes nothing
    assert await quotas.set_quota("organization", LOCAL_ORGANIZATION, 0)
    assert not await quotas.set_quota("organization", "unknown", 1)
    assert not await quotas.set_quota("project", "unknown", 1)
    found = await stores.records.project(project.name, LOCAL_ORGANIZATION)
    assert found
    assert (found.quota_bytes, found.organization_quota_bytes) == (700, 0)
    both = limits(stores, organization=1, project=1)
    assert [await quotas.stored(limit) for limit in both] == [500, 500]
    (holder,) = await quotas.projects(LOCAL_ORGANIZATION, None, 10)
    assert holder == QuotaHolder(project.id, project.name, 1, 500, 700)
    query = text("SELECT target, details FROM audit_log WHERE action = 'quota.changed' ORDER BY seq")
    assert [tuple(row) for row in await stores.database.rows(query)] == [
        (project.name, '{"from": null, "to": 700}'),
        ("local", '{"from": null, "to": 0}'),
    ]


async def test_lists_page_through_all_holders_largest_first(stores: Stores) -> None:
    for _ in range(4):
        await stores.add(await stores.add_project(a_project()), size=100)
    await stores.add(size=500)
    seen: list[QuotaHolder] = []
    after = None
    while page := await stores.quotas.projects(LOCAL_ORGANIZATION, after, 2):
        seen += page
        after = page[-1].bytes, page[-1].id
    assert [each.bytes for each in seen] == [500, 100, 100, 100, 100]
    assert len({each.id for each in seen}) == 5
    everyone = await stores.quotas.organizations(None, 100)
    assert LOCAL_ORGANIZATION in {each.id for each in everyone}


async def test_reaching_80_percent_causes_one_event_in_the_transaction(stores: Stores) -> None:
    key = {"id": "w", "organization_id": LOCAL_ORGANIZATION, "url": "https://hook.example"}
    adding = text(
        "INSERT INTO webhooks (id, organization_id, project_id, url, format, events, kid, secret, created_by, "
        "created_at) VALUES (:id, :organization_id, '', :url, 'standard', 'quota', '', '', '', 0)"
    )
    await stores.database.write(lambda connection: connection.execute(adding, key).close())

    async def events() -> list[tuple[str, str]]:
        query = text("SELECT project_id, cause FROM webhook_deliveries WHERE webhook_id = 'w' ORDER BY seq")
        return [tuple(row) for row in await stores.database.rows(query)]

    async def upload(size: int) -> None:
        limit = limits(stores, organization=1000, project=500)
        await outcome(stores.records.add_image(an_image(stores.project, size=size), limits=limit))

    await upload(399)
    assert await events() == []
    await upload(1)
    of_project = (stores.project.id, '{"limit_bytes": 500, "stored_bytes": 400}')
    assert await events() == [of_project]
    await upload(50)
    await upload(5000)  # is refused
    assert await events() == [of_project]
    await stores.quotas.set_quota("organization", LOCAL_ORGANIZATION, 600)
    assert await events() == [of_project]
    await stores.quotas.set_quota("organization", LOCAL_ORGANIZATION, 550)
    await stores.quotas.set_quota("organization", LOCAL_ORGANIZATION, 540)  # it was nearly full before
    assert await events() == [of_project, ("", '{"limit_bytes": 550, "stored_bytes": 450}')]
