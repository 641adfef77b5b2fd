"""The contract of every `ShareLinkRecords` adapter."""

import asyncio
import hashlib
import secrets
from dataclasses import replace

import pytest
import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.sql.database.schema import audit_log, pulls, share_links
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.review.models import ShareLink
from support.contract_stores import Stores
from support.stores_and_records import NOW

WEEK = 7 * SECONDS_PER_DAY


def a_link(stores: Stores, **changes: object) -> ShareLink:
    unique = secrets.token_hex(6)
    sha256 = hashlib.sha256(unique.encode()).hexdigest()
    made = ShareLink(unique, stores.project.id, 7, sha256, "ann", NOW, NOW + WEEK)
    return replace(made, **changes)  # type: ignore[arg-type]


async def add(stores: Stores, **changes: object) -> ShareLink:
    link = a_link(stores, **changes)
    await stores.share_links.add(link, 50)
    return link


async def is_active(stores: Stores, link: ShareLink, now: int = NOW) -> bool:
    return await stores.share_links.find(link.sha256, now) is not None


async def test_a_link_is_found_until_it_expires_or_is_revoked(stores: Stores) -> None:
    await stores.add()
    link, other = await add(stores), await add(stores, created_at=NOW + 1)
    found = await stores.share_links.find(link.sha256, NOW)
    assert found
    assert (found.project, found.pr_number, found.title) == (stores.project, 7, "")
    assert found.expires_at == link.expires_at
    assert await is_active(stores, link, link.expires_at - 1)
    assert not await is_active(stores, link, link.expires_at)
    assert await stores.share_links.find("0" * 64, NOW) is None
    of_link = (stores.project.id, 7, link.id, "bob", NOW)
    assert await stores.share_links.revoke("0" * 16, *of_link[1:]) is False
    assert await stores.share_links.revoke(stores.project.id, 8, *of_link[2:]) is False
    assert await stores.share_links.revoke(*of_link) is True
    assert await stores.share_links.revoke(*of_link) is False
    assert not await is_active(stores, link)
    assert await is_active(stores, other)
    listed = await stores.share_links.of_pull(stores.project.id, 7, NOW, 10)
    assert listed == [other, replace(link, ended_at=NOW, ended_by="bob")]
    query = sa.select(audit_log.c.action).where(audit_log.c.project_id == stores.project.id)
    acts = [row.action for row in await stores.database.rows(query) if row.action.startswith("share_link")]
    assert acts == ["share_link.created", "share_link.created", "share_link.revoked"]


@pytest.mark.parametrize("deleted_by", ["", "ann"])
async def test_closing_or_deleting_ends_the_links_of_that_pull_request_for_good(
    stores: Stores, deleted_by: str
) -> None:
    await stores.add()
    await stores.add(pr_number=8)
    link, other = await add(stores), await add(stores, pr_number=8)
    expired = await add(stores, created_at=NOW - 2 * WEEK, expires_at=NOW - WEEK)
    await stores.records.close_pr(stores.project.id, 7, NOW, schedule=bool(deleted_by), deleted_by=deleted_by)
    await stores.add()
    assert not await is_active(stores, link)
    assert await is_active(stores, other)
    listed = await stores.share_links.of_pull(stores.project.id, 7, NOW, 10)
    assert {each.id: each.ended_at for each in listed} == {link.id: NOW, expired.id: None}


async def test_a_closed_or_unknown_pull_request_gets_no_link(stores: Stores) -> None:
    with pytest.raises(NotFoundError):
        await add(stores)
    await stores.add()
    await stores.records.close_pr(stores.project.id, 7, NOW, schedule=False)
    with pytest.raises(ConflictError, match="closed"):
        await add(stores)


async def test_concurrent_calls_add_no_more_links_than_allowed(stores: Stores) -> None:
    await stores.add()
    await add(stores, created_at=NOW - 2 * WEEK, expires_at=NOW - WEEK)  # doesn't count
    adding = [stores.share_links.add(a_link(stores), 3) for _ in range(8)]
    results = await asyncio.gather(*adding, return_exceptions=True)
    assert (
        sorted(str(result) for result in results)
        == ["3 share links of this pull request are active: revoke one first"] * 5 + ["None"] * 3
    )


async def test_a_link_and_a_close_at_once_leave_no_active_link(stores: Stores) -> None:
    """Whichever comes first. An upload reopens the pull request afterwards."""
    for _ in range(10):
        await stores.add()
        links = [a_link(stores) for _ in range(3)]
        closing = stores.records.close_pr(stores.project.id, 7, NOW, schedule=False)
        adding = [stores.share_links.add(link, 50) for link in links]
        await asyncio.gather(adding[0], closing, *adding[1:], return_exceptions=True)
        await stores.add()
        assert [await is_active(stores, link) for link in links] == [False] * 3


async def test_a_link_of_a_pull_request_that_an_older_version_closes_ends_with_the_sweep(
    stores: Stores,
) -> None:
    await stores.add()
    link = await add(stores)
    closed = sa.update(pulls).where(pulls.c.project_id == stores.project.id)
    await stores.database.execute(closed.values(closed_at=NOW))
    assert not await is_active(stores, link)
    assert await stores.share_links.discard_old(NOW - WEEK, NOW, 10) == 0
    await stores.database.execute(closed.values(closed_at=None))
    assert not await is_active(stores, link)


async def test_old_links_are_removed_some_time_after_their_end(stores: Stores) -> None:
    await stores.add()
    expired, revoked = await add(stores, expires_at=NOW + 10), await add(stores)
    await stores.share_links.revoke(stores.project.id, 7, revoked.id, "ann", NOW + 10)
    active = await add(stores, created_at=NOW + 1)
    assert await stores.share_links.discard_old(NOW + 9, NOW, 10) == 0
    assert await stores.share_links.discard_old(NOW + 10, NOW, 1) == 1
    assert await stores.share_links.discard_old(NOW + 10, NOW, 10) == 1
    assert await stores.share_links.discard_old(NOW + 10, NOW, 10) == 0
    listed = await stores.share_links.of_pull(stores.project.id, 7, NOW, 10)
    assert [each.id for each in listed] == [active.id]
    assert expired.id != active.id
    remaining = sa.select(share_links.c.id).where(share_links.c.project_id == stores.project.id)
    assert len(await stores.database.rows(remaining)) == 1
