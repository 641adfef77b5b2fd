"""The contract of the records of images, projects and tokens."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest

from prshots.contract.errors import ConflictError, RecordsError
from prshots.contract.limits import Policy
from prshots.server.adapters.sql.images import images
from prshots.server.domain.images.models import Description, ListedImage
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION
from support import neighbor
from support.contract_stores import Stores, ids
from support.stores_and_records import DAY, NOW, SqlRecords, a_project, a_token, an_image


async def test_describing_a_pull_request_keeps_values_the_client_omits(stores: Stores) -> None:
    await stores.add()
    known = Description(7, "", "/pull/7", "Fix the cart", "fix", "ann")
    assert await stores.records.describe_pull(stores.project.id, known)
    assert await stores.records.describe_pull(stores.project.id, Description(7, title="New"))
    assert not await stores.records.describe_pull(stores.project.id, replace(known, pr_number=8))
    pull = await stores.pull()
    assert (pull.title, pull.source_branch, pull.author, pull.path) == ("New", "fix", "ann", "/pull/7")


async def test_the_first_repository_stays(stores: Stores) -> None:
    for address in ("https://forge.example/acme/shop", "https://forge.example/fork/shop"):
        await stores.records.set_repository(stores.project.id, address)
    stored = await stores.records.project(stores.project.name, LOCAL_ORGANIZATION)
    assert stored
    assert stored.repository == "https://forge.example/acme/shop"


class TestAddingAndFinding:
    async def test_an_added_image_is_read_back_unchanged_by_every_process(self, stores: Stores) -> None:
        image = await stores.add(name="a 'quoted' näme\n😀", pr_number=2_147_483_647, size=5 * 1024**2 - 1)
        for records in (stores.records, stores.open_again()):
            found = await records.image(stores.project.id, image.id)
            assert found
            assert found.seq > 0
            assert found._replace(seq=0) == image
        other = await stores.add_project()
        assert await stores.records.image(other.id, image.id) is None
        assert await stores.records.image(stores.project.id, "0" * 32) is None

    async def test_among_concurrent_uploads_only_the_invalid_one_fails(self, stores: Stores) -> None:
        images = [an_image(stores.project) for _ in range(200)]
        twice = images[100]._replace(name="the same id again")
        adding = (stores.records.add_image(image) for image in [*images, twice])
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes if outcome is not True] == [RecordsError]
        assert sorted(await stores.of_pull()) == sorted(ids(images))
        assert await stores.wrong_totals() == []

    async def test_a_cancelled_upload_does_not_cancel_the_others(self, stores: Stores) -> None:
        waiting = [asyncio.create_task(stores.add()) for _ in range(20)]
        await asyncio.sleep(0)
        for task in waiting[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert not any(isinstance(outcome, BaseException) for outcome in outcomes[1::2])
        await stores.add()

    async def test_known_ids_returns_only_stored_ids(self, stores: Stores) -> None:
        images = await stores.add_some(2)
        assert await stores.records.known_ids([*ids(images), "0" * 32]) == set(ids(images))
        assert await stores.records.known_ids([]) == set()

    async def test_images_are_counted_by_signing_key(self, stores: Stores) -> None:
        await stores.add_some(2, kid="k1")
        await stores.add(kid="k2")
        assert [await stores.records.count_signed_with(kid) for kid in ("k1", "k2", "k3")] == [2, 1, 0]


class TestImagesOfPr:
    async def test_are_the_newest_of_this_pull_request_in_upload_order(self, stores: Stores) -> None:
        assert await stores.records.images_of_pr(stores.project.id, 7, 10) == []
        images = []
        for _ in range(5):
            images.append(await stores.add())
            await stores.add(pr_number=8)
        for newest in (1, 3, 5, 6):
            found = await stores.records.images_of_pr(stores.project.id, 7, newest)
            assert ids(found) == ids(images)[-newest:]
            assert [image.seq for image in found] == sorted({image.seq for image in found})

    async def test_are_the_same_in_the_list_for_the_comment(self, stores: Stores) -> None:
        _, second, _ = await stores.add_some(3, name="`cart`", ext="webp", kid="k2")
        await stores.records.schedule([second.id], NOW)
        for newest in (1, 2, 3):
            found = await stores.records.images_of_pr(stores.project.id, 7, newest)
            expected = [
                ListedImage(*(getattr(image, name) for name in ListedImage._fields)) for image in found
            ]
            assert await stores.records.comment_entries(stores.project.id, 7, newest) == (2, expected)
            expiry = [image.url_expires_at for image in expected]
            assert expiry == [image.url_expires_at(NOW) for image in found]


async def listed(stores: Stores, pr_number: int = 7, records: SqlRecords | None = None) -> list[str]:
    """Return the names of the images in the list for the comment."""
    total, found = await (records or stores.records).comment_entries(stores.project.id, pr_number, 10)
    assert total == len(found)
    return [image.name for image in found]


class TestListForTheComment:
    async def test_shows_deletes_and_uploads_although_it_remembers_images(self, stores: Stores) -> None:
        _, second, _ = [await stores.add(name=name) for name in ("1", "2", "3")]
        assert await listed(stores) == ["1", "2", "3"]
        await stores.records.schedule([second.id], NOW)
        fourth = await stores.add(name="4")
        assert await listed(stores) == ["1", "3", "4"]
        await stores.records.remove_images([second.id, fourth.id])
        await stores.add(name="again")  # SQLite gives it the number of the fourth
        assert await listed(stores) == ["1", "3", "again"]

    async def test_is_complete_if_more_images_are_remembered_than_fit(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(images, "REMEMBERED_IMAGES", 3)
        forgetful = stores.open_again()
        for number in (1, 2, 3):
            await stores.add_some(2, pr_number=number, name=f"of {number}")
        for number in (1, 2, 3, 2, 1):
            assert await listed(stores, number, forgetful) == [f"of {number}"] * 2

    async def test_is_read_again_if_an_image_is_deleted_meanwhile(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await stores.add_some(2, name="kept")
        deleted_meanwhile = [("0" * 32, 0)]
        rows_of = images._KEYS.rows

        def rows_and_the_deleted(*arguments: Any) -> list[tuple[Any, ...]]:
            return rows_of(*arguments) + [deleted_meanwhile.pop() for _ in deleted_meanwhile[:]]

        monkeypatch.setattr(images._KEYS, "rows", rows_and_the_deleted)
        assert await listed(stores) == ["kept", "kept"]
        assert not deleted_meanwhile


class TestScheduling:
    async def test_scheduling_twice_keeps_the_first_time(self, stores: Stores) -> None:
        first, second, _ = await stores.add_some(3)
        await stores.records.schedule([first.id], NOW)
        await stores.records.schedule([first.id, second.id, "0" * 32], NOW + 60)
        marked = await stores.records.next_scheduled("", 10)
        assert {image.id: image.scheduled_at for image in marked} == {first.id: NOW, second.id: NOW + 60}
        assert (await stores.image(first.id)).scheduled_at == NOW

    async def test_scheduled_images_are_paged_by_id(self, stores: Stores) -> None:
        images = await stores.add_some(5)
        await stores.records.schedule(ids(images), NOW)
        pages, after = [], ""
        while page := await stores.records.next_scheduled(after, 2):
            pages.append(ids(page))
            after = page[-1].id
        in_order = sorted(ids(images))
        assert pages == [in_order[:2], in_order[2:4], in_order[4:]]

    async def test_scheduled_images_can_be_filtered_by_project_and_pull_request(self, stores: Stores) -> None:
        mine, of_another_pr = (await stores.add()).id, (await stores.add(pr_number=8)).id
        theirs = (await stores.add(await stores.add_project())).id
        await stores.records.schedule([mine, of_another_pr, theirs], NOW)
        assert await stores.scheduled() == sorted([mine, of_another_pr, theirs])
        of_project = await stores.records.next_scheduled("", 10, stores.project.id)
        assert ids(of_project) == sorted([mine, of_another_pr])
        assert ids(await stores.records.next_scheduled("", 10, stores.project.id, 8)) == [of_another_pr]


class TestClosingAPr:
    async def test_counts_images_that_were_not_closed_and_schedules_all(self, stores: Stores) -> None:
        async def close(now: int, *, schedule: bool) -> int:
            return await stores.records.close_pr(stores.project.id, 7, now, schedule=schedule)

        images, other = await stores.add_some(2), await stores.add(pr_number=8)
        assert await close(NOW, schedule=False) == 2
        await stores.records.schedule([images[0].id], NOW)
        images.append(await stores.add())
        assert [await close(NOW + 60, schedule=True) for _ in range(2)] == [1, 0]
        found = [await stores.image(image.id) for image in [*images, other]]
        assert [image.closed_at for image in found] == [NOW, NOW, NOW + 60, None]
        assert [image.scheduled_at for image in found] == [NOW, NOW + 60, NOW + 60, None]

    async def test_a_pull_request_is_closed_until_the_next_upload(self, stores: Stores) -> None:
        async def is_closed() -> bool:
            return await stores.records.is_closed(stores.project.id, 7)

        assert not await is_closed()
        image = await stores.add()
        assert not await is_closed()
        await stores.records.close_pr(stores.project.id, 7, NOW, schedule=True)
        await stores.records.remove_images([image.id])
        assert await is_closed()
        assert not await stores.records.is_closed(stores.project.id, 8)
        assert not await stores.records.is_closed("elsewhere", 7)
        await stores.add()
        assert not await is_closed()


class TestScheduleDue:
    @pytest.mark.parametrize("policy", Policy)
    async def test_retain_days_apply_under_every_policy(self, stores: Stores, policy: Policy) -> None:
        await stores.change_project(policy=policy, retain_days=3)
        old = await stores.add_some(2, uploaded_at=NOW - 3 * DAY)
        await stores.add(uploaded_at=NOW - 3 * DAY + 1)
        assert await stores.records.schedule_due(NOW, 10) == 2
        assert await stores.scheduled() == sorted(ids(old))
        assert await stores.records.schedule_due(NOW, 10) == 0

    @pytest.mark.parametrize("policy", [Policy.PR_CLOSE, Policy.MANUAL])
    async def test_without_retain_days_old_images_are_not_due(self, stores: Stores, policy: Policy) -> None:
        await stores.change_project(policy=policy)
        await stores.add(uploaded_at=NOW - 3 * DAY)
        assert await stores.records.schedule_due(NOW, 10) == 0
        await stores.change_project(policy=Policy.RETAIN_DAYS, retain_days=3)
        assert await stores.records.schedule_due(NOW, 10) == 1

    @pytest.mark.parametrize(
        ("policy", "due"), [(Policy.PR_CLOSE, 1), (Policy.RETAIN_DAYS, 0), (Policy.MANUAL, 0)]
    )
    async def test_images_of_closed_prs_are_due_under_pr_close_only(
        self, stores: Stores, policy: Policy, due: int
    ) -> None:
        await stores.change_project(policy=policy, retain_days=30)
        closed = await stores.add()
        await stores.add(pr_number=8)
        await stores.records.close_pr(stores.project.id, 7, NOW, schedule=False)
        assert await stores.records.schedule_due(NOW, 10) == due
        assert await stores.scheduled() == [closed.id][:due]

    async def test_the_limit_applies_across_all_projects(self, stores: Stores) -> None:
        for _ in range(3):
            project = await stores.add_project(a_project(Policy.PR_CLOSE, 1))
            await stores.add_some(2, project, uploaded_at=1)
            await stores.add_some(2, project, pr_number=8)
            await stores.records.close_pr(project.id, 8, NOW, schedule=False)
        assert [await stores.records.schedule_due(NOW, 5) for _ in range(4)] == [5, 5, 2, 0]


class TestProjects:
    async def test_are_read_back_unchanged_and_listed_by_name(self, stores: Stores) -> None:
        for name in ("b", "c", "a"):
            project = await stores.add_project(a_project(Policy.RETAIN_DAYS, 30, name))
            assert await stores.records.project(name, LOCAL_ORGANIZATION) == project
        assert await stores.records.project("a", "elsewhere") is None
        assert await stores.records.project("nobody's", LOCAL_ORGANIZATION) is None
        with pytest.raises(ConflictError, match="'a'"):
            await stores.add_project(a_project(name="a"))
        listed = [project.name for project in await stores.records.projects()]
        assert listed == ["a", "b", "c", neighbor.ID, stores.project.name]

    async def test_nul_finds_nothing_and_invalid_unicode_is_an_error(self, stores: Stores) -> None:
        assert await stores.records.project("nul \0", LOCAL_ORGANIZATION) is None
        with pytest.raises(RecordsError, match="valid Unicode"):
            await stores.records.project("\udcff", LOCAL_ORGANIZATION)

    async def test_can_be_changed_but_not_to_a_taken_name(self, stores: Stores) -> None:
        project, other = stores.project, await stores.add_project()
        await stores.change_project(name="another", policy=Policy.MANUAL, retain_days=9)
        assert await stores.records.project(project.name, LOCAL_ORGANIZATION) is None
        with pytest.raises(ConflictError, match=re.escape(repr(other.name))):
            await stores.records.change_project(replace(stores.project, name=other.name), NOW)
        assert await stores.records.project("another", LOCAL_ORGANIZATION) == stores.project
        assert await stores.records.project(other.name, LOCAL_ORGANIZATION) == other


class TestTokens:
    async def test_a_token_finds_its_project_and_records_its_last_use(self, stores: Stores) -> None:
        token = a_token(stores.project)
        await stores.records.add_token(token)
        assert await stores.records.project_of_token(token.sha256) == (token, stores.project)
        assert await stores.records.project_of_token("0" * 64) is None
        await stores.records.touch_token(token.id, NOW + 5)
        assert await stores.records.tokens(stores.project.id) == [replace(token, last_used_at=NOW + 5)]

    async def test_a_revoked_token_stops_working_and_keeps_its_first_revocation_time(
        self, stores: Stores
    ) -> None:
        kept, token = a_token(stores.project, created_at=NOW + 1), a_token(stores.project)
        elsewhere, other = stores.open_again(), await stores.add_project()
        for each in (kept, token):
            await stores.records.add_token(each)
        assert not await stores.records.revoke_token("nobody's", NOW)
        assert not await stores.records.revoke_token(token.id, NOW, project_id=other.id)
        assert await elsewhere.project_of_token(token.sha256)
        assert await stores.records.revoke_token(token.id, NOW, "ann", stores.project.id)
        assert await elsewhere.project_of_token(token.sha256) is None
        assert await stores.records.revoke_token(token.id, NOW + 60, "bob")
        revoked = replace(token, revoked_at=NOW, revoked_by="ann")
        assert await stores.records.tokens(stores.project.id) == [revoked, kept]  # the oldest first
        assert await stores.records.project_of_token(kept.sha256)
