"""The contract of every `Records` adapter."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prshots.contract.errors import ConflictError, RecordsError
from prshots.contract.limits import Policy
from prshots.server.adapters.sql.images import listed_images
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.images.models import Image, ListedImage
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project
from support import neighbor
from support.port_watch import PortWatch
from support.stores_and_records import (
    DAY,
    ENGINES,
    NOW,
    PARTITIONED,
    Records,
    SqlRecords,
    a_project,
    a_token,
    an_image,
    opener,
)


@pytest.fixture(params=[*ENGINES, PARTITIONED])
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Records]:
    """Open the same database again, as another process would."""
    open_database = opener(request, tmp_path)
    return lambda: PortWatch().over(SqlRecords(open_database()), Records)


@pytest.fixture
async def records(open_again: Callable[[], Records]) -> AsyncIterator[Records]:
    opened = open_again()
    yield opened
    await opened.close()


@pytest.fixture
async def project(records: Records) -> Project:
    return await added_project(records)


async def added_project(
    records: Records, policy: Policy = Policy.PR_CLOSE, days: int | None = None
) -> Project:
    project = a_project(policy, days)
    await records.add_project(project)
    return project


async def added(records: Records, project: Project, count: int = 1, **changes: object) -> list[Image]:
    """Add images one after the other, so that their order is known."""
    images = [an_image(project, **changes) for _ in range(count)]
    for image in images:
        await records.add_image(image)
    return images


def ids(images: list[Image]) -> list[str]:
    return [image.id for image in images]


def listed_ids(counted: tuple[int, list[ListedImage]]) -> list[str]:
    return [image.id for image in counted[1]]


class TestDescribing:
    async def test_what_a_client_does_not_know_stays(self, records: Records, project: Project) -> None:
        from prshots.server.adapters.sql.overview import SqlOverview

        await added(records, project)
        known = {"title": "Fix the cart", "source_branch": "fix", "author": "ann", "path": "/pull/7"}
        assert await records.describe_pull(project.id, 7, **known)
        assert await records.describe_pull(project.id, 7, title="New", source_branch="", author="", path="")
        assert not await records.describe_pull(project.id, 8, **known)
        assert isinstance(records, SqlRecords)
        pull = await SqlOverview(records._database).pull(project.id, 7)
        assert pull
        assert (pull.title, pull.source_branch, pull.author, pull.path) == ("New", "fix", "ann", "/pull/7")

    async def test_the_first_repository_stays(self, records: Records, project: Project) -> None:
        for address in ("https://forge.example/acme/shop", "https://forge.example/fork/shop"):
            await records.set_repository(project.id, address)
        stored = await records.project(project.name, project.organization_id)
        assert stored
        assert stored.repository == "https://forge.example/acme/shop"


class TestAddingAndFinding:
    async def test_an_added_image_is_read_back_unchanged(self, records: Records, project: Project) -> None:
        image = an_image(project, name="a 'quoted' näme\n😀", pr_number=2_147_483_647, size=5 * 1024**2 - 1)
        await records.add_image(image)
        found = await records.image(project.id, image.id)
        assert found is not None
        assert found.seq > 0
        assert found._replace(seq=0) == image

    async def test_an_added_image_is_visible_to_another_process_immediately(
        self, records: Records, project: Project, open_again: Callable[[], Records]
    ) -> None:
        image = (await added(records, project))[0]
        another = open_again()
        try:
            assert await another.image(project.id, image.id)
        finally:
            await another.close()

    async def test_an_unknown_image_or_one_of_another_project_is_not_found(
        self, records: Records, project: Project
    ) -> None:
        image = (await added(records, project))[0]
        other = await added_project(records)
        assert await records.image(other.id, image.id) is None
        assert await records.image(project.id, "0" * 32) is None

    async def test_among_concurrent_uploads_only_the_invalid_one_fails(
        self, records: Records, project: Project
    ) -> None:
        images = [an_image(project) for _ in range(200)]
        twice = images[100]._replace(name="the same id again")
        outcomes = await asyncio.gather(
            *(records.add_image(image) for image in [*images, twice]), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes if outcome] == [RecordsError]
        total, found = await records.images_of_pr(project.id, 7, 1000)
        assert total == 200
        assert set(ids(found)) == set(ids(images))

    async def test_a_cancelled_upload_does_not_cancel_the_others(
        self, records: Records, project: Project
    ) -> None:
        waiting = [asyncio.create_task(records.add_image(an_image(project))) for _ in range(20)]
        await asyncio.sleep(0)
        for task in waiting[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert outcomes[1::2] == [None] * 10
        await added(records, project)

    async def test_known_ids_returns_only_stored_ids(self, records: Records, project: Project) -> None:
        images = await added(records, project, 2)
        assert await records.known_ids([*ids(images), "0" * 32]) == set(ids(images))
        assert await records.known_ids([]) == set()

    async def test_images_are_counted_by_signing_key(self, records: Records, project: Project) -> None:
        await added(records, project, 2, kid="k1")
        await added(records, project, 1, kid="k2")
        assert [await records.count_signed_with(kid) for kid in ("k1", "k2", "k3")] == [2, 1, 0]


class TestImagesOfPr:
    async def test_are_listed_in_upload_order_for_this_pull_request_only(
        self, records: Records, project: Project
    ) -> None:
        images = []
        for _ in range(5):
            images += await added(records, project)
            await added(records, project, pr_number=8)
        total, found = await records.images_of_pr(project.id, 7, 100)
        assert (total, ids(found)) == (5, ids(images))
        assert [image.seq for image in found] == sorted({image.seq for image in found})

    async def test_are_limited_to_the_newest_while_the_total_counts_all(
        self, records: Records, project: Project
    ) -> None:
        images = await added(records, project, 5)
        for newest in (1, 3, 5, 6):
            total, found = await records.images_of_pr(project.id, 7, newest)
            assert (total, ids(found)) == (5, ids(images)[-newest:])

    async def test_exclude_images_scheduled_for_deletion(self, records: Records, project: Project) -> None:
        first, second, third = await added(records, project, 3)
        await records.schedule([second.id], NOW)
        total, found = await records.images_of_pr(project.id, 7, 2)
        assert (total, ids(found)) == (2, [first.id, third.id])

    async def test_are_the_same_in_the_list_for_the_comment(self, records: Records, project: Project) -> None:
        _, second, _ = await added(records, project, 3, name="`cart`", ext="webp", kid="k2")
        await records.schedule([second.id], NOW)
        for newest in (1, 2, 3):
            total, found = await records.images_of_pr(project.id, 7, newest)
            expected = [
                ListedImage(*(getattr(image, name) for name in ListedImage._fields)) for image in found
            ]
            assert await records.comment_entries(project.id, 7, newest) == (total, expected)
            assert [image.url_expires_at for image in expected] == [
                image.url_expires_at(NOW) for image in found
            ]

    async def test_are_remembered_for_the_comment_but_deletes_and_uploads_are_seen(
        self, records: Records, project: Project
    ) -> None:
        first, second, third = await added(records, project, 3)
        assert listed_ids(await records.comment_entries(project.id, 7, 10)) == ids([first, second, third])
        await records.schedule([second.id], NOW)
        (fourth,) = await added(records, project)
        assert listed_ids(await records.comment_entries(project.id, 7, 10)) == ids([first, third, fourth])
        await records.remove_images([second.id, fourth.id])
        (fifth,) = await added(records, project, name="again")  # SQLite gives it the number of the fourth
        total, listed = await records.comment_entries(project.id, 7, 10)
        assert (total, listed_ids((total, listed))) == (3, ids([first, third, fifth]))
        assert listed[-1].name == "again"

    async def test_are_listed_if_more_are_remembered_than_fit(
        self, open_again: Callable[[], Records], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listed_images, "REMEMBERED_IMAGES", 3)
        records = open_again()
        project = await added_project(records)
        by_pr = {number: ids(await added(records, project, 2, pr_number=number)) for number in (1, 2, 3)}
        for number in (1, 2, 3, 2, 1):
            assert listed_ids(await records.comment_entries(project.id, number, 10)) == by_pr[number]
        await records.close()

    async def test_are_listed_again_if_one_is_deleted_meanwhile(
        self, records: Records, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        images = await added(records, project, 2)
        deleted_meanwhile = [("0" * 32, 0)]
        rows_of = listed_images._KEYS.rows

        def rows_and_the_deleted(*arguments: Any) -> list[tuple[Any, ...]]:
            return rows_of(*arguments) + [deleted_meanwhile.pop() for _ in deleted_meanwhile[:]]

        monkeypatch.setattr(listed_images._KEYS, "rows", rows_and_the_deleted)
        total, found = await records.comment_entries(project.id, 7, 3)
        assert (total, listed_ids((total, found))) == (2, ids(images))
        assert not deleted_meanwhile

    async def test_are_empty_for_an_unknown_pull_request(self, records: Records, project: Project) -> None:
        assert await records.images_of_pr(project.id, 7, 10) == (0, [])


class TestScheduling:
    async def test_scheduling_twice_keeps_the_first_time(self, records: Records, project: Project) -> None:
        first, second, _ = await added(records, project, 3)
        await records.schedule([first.id], NOW)
        await records.schedule([first.id, second.id, "0" * 32], NOW + 60)
        marked = await records.next_scheduled("", 10)
        assert {image.id: image.scheduled_at for image in marked} == {first.id: NOW, second.id: NOW + 60}

    async def test_scheduled_images_are_paged_by_id(self, records: Records, project: Project) -> None:
        images = await added(records, project, 5)
        await records.schedule(ids(images), NOW)
        pages, after = [], ""
        while page := await records.next_scheduled(after, 2):
            pages.append(ids(page))
            after = page[-1].id
        in_order = sorted(ids(images))
        assert pages == [in_order[:2], in_order[2:4], in_order[4:]]

    async def test_scheduled_images_can_be_filtered_by_project_and_pull_request(
        self, records: Records, project: Project
    ) -> None:
        other = await added_project(records)
        mine, of_another_pr = (
            (await added(records, project))[0],
            (await added(records, project, pr_number=8))[0],
        )
        theirs = (await added(records, other))[0]
        await records.schedule([mine.id, of_another_pr.id, theirs.id], NOW)
        assert ids(await records.next_scheduled("", 10)) == sorted([mine.id, of_another_pr.id, theirs.id])
        assert ids(await records.next_scheduled("", 10, project.id)) == sorted([mine.id, of_another_pr.id])
        assert ids(await records.next_scheduled("", 10, project.id, 8)) == [of_another_pr.id]

    async def test_a_scheduled_image_can_still_be_found(self, records: Records, project: Project) -> None:
        image = (await added(records, project))[0]
        await records.schedule([image.id], NOW)
        found = await records.image(project.id, image.id)
        assert found is not None
        assert found.scheduled_at == NOW

    async def test_removing_returns_how_many_images_existed(self, records: Records, project: Project) -> None:
        images = await added(records, project, 3)
        assert await records.remove_images([images[0].id, images[1].id, "0" * 32]) == 2
        assert await records.remove_images(ids(images)) == 1
        assert await records.remove_images([]) == 0
        assert await records.known_ids(ids(images)) == set()


class TestClosingAPr:
    async def test_counts_only_images_that_were_not_closed_before(
        self, records: Records, project: Project
    ) -> None:
        images = await added(records, project, 2)
        await added(records, project, pr_number=8)
        assert await records.close_pr(project.id, 7, NOW, schedule=False) == 2
        images += await added(records, project)
        assert await records.close_pr(project.id, 7, NOW + 60, schedule=False) == 1
        assert await records.close_pr(project.id, 7, NOW + 60, schedule=False) == 0
        _, found = await records.images_of_pr(project.id, 7, 10)
        assert [(image.id, image.closed_at) for image in found] == [
            (image.id, closed_at) for image, closed_at in zip(images, (NOW, NOW, NOW + 60), strict=True)
        ]

    async def test_also_schedules_images_that_were_closed_before(
        self, records: Records, project: Project
    ) -> None:
        images = await added(records, project, 2)
        await records.close_pr(project.id, 7, NOW, schedule=False)
        await records.schedule([images[0].id], NOW)
        images += await added(records, project)
        assert await records.close_pr(project.id, 7, NOW + 60, schedule=True) == 1
        marked = await records.next_scheduled("", 10)
        times = dict(zip(ids(images), (NOW, NOW + 60, NOW + 60), strict=True))
        assert {image.id: image.scheduled_at for image in marked} == times

    async def test_a_pull_request_is_closed_until_the_next_upload(
        self, records: Records, project: Project
    ) -> None:
        assert not await records.is_closed(project.id, 7)
        images = await added(records, project)
        assert not await records.is_closed(project.id, 7)
        await records.close_pr(project.id, 7, NOW, schedule=True)
        await records.remove_images(ids(images))
        assert await records.is_closed(project.id, 7)
        assert not await records.is_closed(project.id, 8)
        assert not await records.is_closed("elsewhere", 7)
        await added(records, project)
        assert not await records.is_closed(project.id, 7)

    async def test_does_not_affect_other_pull_requests(self, records: Records, project: Project) -> None:
        image = (await added(records, project, pr_number=8))[0]
        assert await records.close_pr(project.id, 7, NOW, schedule=True) == 0
        found = await records.image(project.id, image.id)
        assert found is not None
        assert (found.closed_at, found.scheduled_at) == (None, None)


class TestScheduleDue:
    @pytest.mark.parametrize("policy", Policy)
    async def test_retain_days_apply_under_every_policy(self, records: Records, policy: Policy) -> None:
        project = await added_project(records, policy, days=3)
        old = await added(records, project, 2, uploaded_at=NOW - 3 * DAY)
        await added(records, project, uploaded_at=NOW - 3 * DAY + 1)
        assert await records.schedule_due(NOW, 10) == 2
        assert ids(await records.next_scheduled("", 10)) == sorted(ids(old))
        assert await records.schedule_due(NOW, 10) == 0

    @pytest.mark.parametrize("policy", [Policy.PR_CLOSE, Policy.MANUAL])
    async def test_without_retain_days_old_images_are_not_due(self, records: Records, policy: Policy) -> None:
        project = await added_project(records, policy)
        await added(records, project, uploaded_at=1)
        assert await records.schedule_due(NOW, 10) == 0

    @pytest.mark.parametrize(
        ("policy", "due"), [(Policy.PR_CLOSE, 1), (Policy.RETAIN_DAYS, 0), (Policy.MANUAL, 0)]
    )
    async def test_images_of_closed_prs_are_due_under_pr_close_only(
        self, records: Records, policy: Policy, due: int
    ) -> None:
        project = await added_project(records, policy, days=30)
        closed = await added(records, project)
        await added(records, project, pr_number=8)
        await records.close_pr(project.id, 7, NOW, schedule=False)
        assert await records.schedule_due(NOW, 10) == due
        assert ids(await records.next_scheduled("", 10)) == ids(closed)[:due]

    async def test_a_changed_policy_applies_to_existing_images(self, records: Records) -> None:
        project = await added_project(records, Policy.MANUAL)
        await added(records, project, uploaded_at=NOW - 3 * DAY)
        assert await records.schedule_due(NOW, 10) == 0
        await records.change_project(replace(project, policy=Policy.RETAIN_DAYS, retain_days=3))
        assert await records.schedule_due(NOW, 10) == 1

    async def test_the_limit_applies_across_all_projects(self, records: Records) -> None:
        for _ in range(3):
            project = await added_project(records, Policy.PR_CLOSE, days=1)
            await added(records, project, 2, uploaded_at=1)
            await added(records, project, 2, pr_number=8)
            await records.close_pr(project.id, 8, NOW, schedule=False)
        assert [await records.schedule_due(NOW, 5) for _ in range(4)] == [5, 5, 2, 0]


class TestProjects:
    async def test_a_stored_project_is_read_back_unchanged(self, records: Records) -> None:
        project = await added_project(records, Policy.RETAIN_DAYS, days=30)
        assert await records.project(project.name, LOCAL_ORGANIZATION) == project
        assert await records.project(project.name, "elsewhere") is None
        assert await records.project("nobody's", LOCAL_ORGANIZATION) is None

    async def test_a_taken_name_is_a_conflict(self, records: Records, project: Project) -> None:
        with pytest.raises(ConflictError, match=re.escape(repr(project.name))):
            await records.add_project(a_project(name=project.name))
        assert [each.id for each in await records.projects()] == [neighbor.ID, project.id]

    async def test_are_listed_by_name(self, records: Records) -> None:
        for name in ("b", "c", "a"):
            await records.add_project(a_project(name=name))
        assert [project.name for project in await records.projects()] == ["a", "b", "c", neighbor.ID]

    async def test_can_be_changed_but_not_to_a_taken_name(self, records: Records, project: Project) -> None:
        other = await added_project(records)
        changed = replace(project, name="another", policy=Policy.MANUAL, retain_days=9)
        await records.change_project(changed)
        assert await records.project(project.name, LOCAL_ORGANIZATION) is None
        with pytest.raises(ConflictError, match=re.escape(repr(other.name))):
            await records.change_project(replace(changed, name=other.name))
        assert await records.project("another", LOCAL_ORGANIZATION) == changed
        assert await records.project(other.name, LOCAL_ORGANIZATION) == other


class TestTokens:
    async def test_a_token_finds_its_project(self, records: Records, project: Project) -> None:
        token = a_token(project)
        await records.add_token(token)
        assert await records.project_of_token(token.sha256) == (token, project)
        assert await records.project_of_token("0" * 64) is None

    async def test_a_revoked_token_stops_working_and_keeps_its_first_revocation_time(
        self, records: Records, project: Project, open_again: Callable[[], Records]
    ) -> None:
        token, kept = a_token(project), a_token(project, created_at=NOW + 1)
        await records.add_token(token)
        await records.add_token(kept)
        elsewhere = open_again()
        try:
            assert await elsewhere.project_of_token(token.sha256)
            assert await records.revoke_token(token.id, NOW)
            assert await elsewhere.project_of_token(token.sha256) is None
        finally:
            await elsewhere.close()
        assert await records.revoke_token(token.id, NOW + 60)
        assert await records.tokens(project.id) == [replace(token, revoked_at=NOW), kept]
        assert await records.project_of_token(kept.sha256)

    async def test_revoking_an_unknown_token_returns_false(self, records: Records) -> None:
        assert not await records.revoke_token("nobody's", NOW)

    async def test_touching_a_token_records_its_last_use(self, records: Records, project: Project) -> None:
        token = a_token(project)
        await records.add_token(token)
        await records.touch_token(token.id, NOW + 5)
        assert await records.tokens(project.id) == [replace(token, last_used_at=NOW + 5)]

    async def test_are_listed_oldest_first(self, records: Records, project: Project) -> None:
        newer, older = a_token(project, created_at=NOW + 1), a_token(project)
        for token in (newer, older):
            await records.add_token(token)
        assert await records.tokens(project.id) == [older, newer]


async def test_every_process_reads_the_same_installation_id(
    records: SqlRecords, open_again: Callable[[], SqlRecords]
) -> None:
    another = open_again()
    try:
        installation_id = await SqlUpkeep(another._database).installation_id()
    finally:
        await another.close()
    assert re.fullmatch("[0-9a-f]{32}", installation_id)
    assert await SqlUpkeep(records._database).installation_id() == installation_id
