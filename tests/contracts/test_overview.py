"""The contract of every `Overview` adapter, and the counts that the records keep for it."""

from dataclasses import replace

import pytest

from prshots.contract.limits import Policy
from prshots.server.domain.images.models import PullRequestRecord, ShotKey
from prshots.server.domain.projects.models import DayOfUploads, Role
from support import neighbor
from support.contract_stores import ANN, Stores, ids
from support.stores_and_records import DAY, NOW, a_project, a_token

TODAY = NOW // DAY
OTHER_SHA = "f" * 40


async def listed(stores: Stores, **asked: object) -> list[int]:
    query: dict[str, object] = {"closed": None, "search": "", "before": None, "limit": 10}
    found = await stores.overview.pulls(stores.project.id, **(query | asked))
    return [pull.pr_number for pull in found]


class TestProjects:
    async def test_are_visible_only_to_members(self, stores: Stores) -> None:
        assert await stores.overview.project_of(ANN.id, stores.project.id) == (stores.project, Role.OWNER)
        assert await stores.overview.project_of(ANN.id, "nobody's") is None
        for stranger in ("nobody", neighbor.ID):
            assert await stores.overview.project_of(stranger, stores.project.id) is None
            assert await stores.overview.summary_of(stranger, stores.project.id) is None
            assert await stores.overview.projects_of(stranger, (neighbor.ID, neighbor.ID), 9) == []

    async def test_are_paged_by_name(self, stores: Stores) -> None:
        for name in ("c", "a", "b"):
            await stores.add_project(a_project(name=name))
        first = [summary.project for summary in await stores.overview.projects_of(ANN.id, None, 2)]
        assert [project.name for project in first] == ["a", "b"]
        after = (first[-1].name, first[-1].id)
        rest = await stores.overview.projects_of(ANN.id, after, 2)
        assert [summary.project.name for summary in rest] == ["c", stores.project.name]


class TestCounting:
    async def test_daily_uploads_still_include_deleted_images(self, stores: Stores) -> None:
        yesterday = await stores.add_some(2, uploaded_at=NOW - DAY, size=10)
        await stores.add(size=7)
        await stores.add(uploaded_at=NOW - 40 * DAY)
        await stores.records.remove_images(ids(yesterday))
        assert await stores.overview.days([stores.project.id, "nobody's"], TODAY - 1) == {
            stores.project.id: [DayOfUploads(TODAY - 1, 2, 20), DayOfUploads(TODAY, 1, 7)]
        }

    async def test_a_pull_request_stays_closed_without_images_until_an_upload(self, stores: Stores) -> None:
        images = await stores.add_some(3, size=10)
        await stores.add(commit_sha=OTHER_SHA, uploaded_at=NOW + 60, size=5)
        pull = PullRequestRecord(stores.project.id, 7, 4, 35, NOW + 60, OTHER_SHA, None)
        assert await stores.overview.pull(stores.project.id, 7) == pull
        assert await stores.overview.pull(stores.project.id, 8) is None
        for now in (NOW + 90, NOW + 91):
            await stores.records.close_pr(stores.project.id, 7, now, schedule=True)
        # Two sweeps may delete the same images. The count goes down only once.
        assert await stores.records.remove_images(ids(images)) == 3
        assert await stores.records.remove_images(ids(images)) == 0
        gone = replace(pull, images=1, bytes=5, closed_at=NOW + 90)
        assert await stores.overview.pull(stores.project.id, 7) == gone
        await stores.add()
        assert (await stores.pull()).closed_at is None

    async def test_a_pull_request_stays_open_if_a_person_deletes_its_images(self, stores: Stores) -> None:
        image = await stores.add()
        deleted_by_ann = {"schedule": True, "deleted_by": "ann"}
        assert await stores.records.close_pr(stores.project.id, 7, NOW + 90, **deleted_by_ann) == 0
        assert ids(await stores.records.next_scheduled("", 9)) == [image.id]
        deleted = await stores.pull()
        assert (deleted.closed_at, deleted.deleted_at, deleted.deleted_by) == (None, NOW + 90, "ann")
        await stores.add()
        assert (await stores.pull()).deleted_at is None


class TestPulls:
    async def test_are_paged_by_newest_upload_and_filtered_by_state(self, stores: Stores) -> None:
        for number, at in ((1, 10), (2, 30), (3, 20), (4, 20)):
            await stores.add(pr_number=number, uploaded_at=NOW + at)
        assert await listed(stores) == [2, 4, 3, 1]
        assert await listed(stores, limit=2) == [2, 4]
        assert await listed(stores, before=(NOW + 20, 4)) == [3, 1]
        assert await listed(stores, before=(NOW + 10, 1)) == []
        await stores.records.close_pr(stores.project.id, 4, NOW, schedule=False)
        assert await listed(stores, closed=True) == [4]
        assert await listed(stores, closed=False) == [2, 3, 1]

    @pytest.mark.parametrize(
        ("search", "found"),
        [
            ("1", [123, 12]),
            ("#12", [123, 12]),
            ("123", [123]),
            ("23", []),
            ("FFFF", [99]),
            ("cart", [123]),
            ("CART%", []),
            ("%_", [99]),
            ("\\", [12]),
            ("'; --", []),
            ("home", []),  # the neighbor's pull request of the same number has it
        ],
    )
    async def test_can_be_searched_by_number_commit_and_name(
        self, stores: Stores, search: str, found: list[int]
    ) -> None:
        await stores.add(pr_number=7, name="other")
        await stores.add(pr_number=12, name="a \\ b")
        await stores.add(pr_number=123, name="Checkout/Cart", uploaded_at=NOW + 1)
        await stores.add(pr_number=99, name="all%_done", commit_sha=OTHER_SHA, uploaded_at=NOW + 2)
        assert await listed(stores, search=search) == found

    async def test_a_search_by_name_covers_only_the_newest_pull_requests(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prshots.server.adapters.sql.overview.NAMES_SEARCHED", 2)
        for number in (11, 12, 13):
            await stores.add(pr_number=number, uploaded_at=NOW + number, name="cart")
        assert await listed(stores, search="cart") == [13, 12]
        assert await listed(stores, search="1") == [13, 12, 11]

    async def test_the_biggest_are_sorted_by_size_without_empty_ones(self, stores: Stores) -> None:
        for number, size in ((1, 10), (2, 30), (3, 20)):
            await stores.add(pr_number=number, size=size)
        gone = await stores.add(pr_number=4, size=40)
        await stores.records.remove_images([gone.id])
        for limit, expected in ((2, [2, 3]), (9, [2, 3, 1])):
            biggest = await stores.overview.biggest_pulls(stores.project.id, limit)
            assert [pull.pr_number for pull in biggest] == expected


class TestImages:
    async def test_a_shot_says_since_when_it_is_unchanged(self, stores: Stores) -> None:
        for commit, shown in (("a", "1"), ("b", "2"), ("c", "2"), ("c", "2"), ("d", "2")):
            await stores.add(name="cart", commit_sha=commit * 40, sha256=shown * 64)
        await stores.add(name="home", commit_sha="d" * 40, sha256="3" * 64)
        for commit in "ab":
            await stores.add(name="old", commit_sha=commit * 40)
        shots = await stores.overview.shots(stores.project.id, 7, None, 9)
        assert [shot.unchanged_since for shot in shots] == ["b" * 40, None, None]

    async def test_shots_are_paged_by_name_and_viewport(self, stores: Stores) -> None:
        images = [
            await stores.add(name=name, viewport=viewport, commit_sha=commit * 40)
            for name, viewport, commit in ("b1a", "a9a", "a1a", "b1a", "b1b")
        ]
        shots = await stores.overview.shots(stores.project.id, 7, None, 9)
        assert [(shot.newest.id, shot.commits) for shot in shots] == [
            (images[2].id, 1),
            (images[1].id, 1),
            (images[4].id, 2),
        ]
        assert await stores.overview.shots(stores.project.id, 7, None, 2) == shots[:2]
        assert await stores.overview.shots(stores.project.id, 7, ShotKey("a", "9", ""), 2) == shots[2:]
        assert await stores.overview.shots(stores.project.id, 8, None, 9) == []

    async def test_images_of_a_shot_are_paged_newest_first(self, stores: Stores) -> None:
        images = await stores.add_some(3, name="a")
        await stores.add(name="b")
        shot = images[0].shot
        found = await stores.overview.images_of_shot(stores.project.id, 7, shot, 2**62, 2)
        assert ids(found) == [images[2].id, images[1].id]
        rest = await stores.overview.images_of_shot(stores.project.id, 7, shot, found[-1].seq, 2)
        assert ids(rest) == [images[0].id]

    async def test_images_of_other_projects_and_scheduled_ones_are_hidden(self, stores: Stores) -> None:
        image, foreign = await stores.add(), await stores.add(await stores.add_project())
        await stores.add(pr_number=8)
        found = await stores.overview.images(stores.project.id, [image.id, foreign.id, "0" * 32])
        assert ids(found) == [image.id]
        await stores.records.schedule([image.id], NOW)
        assert await stores.overview.shots(stores.project.id, 7, None, 9) == []
        assert await stores.overview.images_of_shot(stores.project.id, 7, image.shot, 2**62, 2) == []
        assert await stores.overview.images(stores.project.id, [image.id]) == []

    async def test_a_thumbnail_state_is_stored_only_for_an_unscheduled_image(self, stores: Stores) -> None:
        image = await stores.add()
        assert await stores.records.set_thumbnail(image.id, "made")
        assert (await stores.image(image.id)).thumbnail == "made"
        await stores.records.schedule([image.id], NOW)
        assert not await stores.records.set_thumbnail(image.id, "damaged")
        assert not await stores.records.set_thumbnail("0" * 32, "made")


async def test_would_expire_counts_the_images_that_a_sweep_would_delete(stores: Stores) -> None:
    await stores.add_some(2, size=10, uploaded_at=NOW - 3 * DAY)
    await stores.add(size=7, pr_number=8)
    await stores.records.close_pr(stores.project.id, 8, NOW, schedule=False)

    async def would(policy: Policy, days: int | None) -> tuple[int, int]:
        return await stores.overview.would_expire(stores.project.id, policy, days, NOW)

    assert await would(Policy.MANUAL, None) == (0, 0)
    assert await would(Policy.MANUAL, 4) == (0, 0)
    assert await would(Policy.RETAIN_DAYS, 3) == (2, 20)
    assert await would(Policy.PR_CLOSE, None) == (1, 7)
    assert await would(Policy.PR_CLOSE, 3) == (3, 27)
    await stores.change_project(policy=Policy.PR_CLOSE, retain_days=3)
    assert await stores.records.schedule_due(NOW, 10) == 3
    assert await would(Policy.PR_CLOSE, 3) == (0, 0)


async def test_tokens_are_paged_newest_first(stores: Stores) -> None:
    tokens = [a_token(stores.project, created_at=NOW + at, created_by="ann") for at in range(3)]
    for token in tokens:
        await stores.records.add_token(token)
    assert await stores.overview.tokens(stores.project.id, None, 2) == [tokens[2], tokens[1]]
    before = (tokens[1].created_at, tokens[1].id)
    assert await stores.overview.tokens(stores.project.id, before, 2) == [tokens[0]]


async def test_removing_a_project_deletes_its_tokens_images_and_counts(stores: Stores) -> None:
    images, other = await stores.add_some(3), await stores.add_project()
    await stores.add(other)
    token = a_token(stores.project)
    await stores.records.add_token(token)
    assert not await stores.records.remove_project(stores.project.id)
    assert await stores.records.retire_project(stores.project.id, NOW, 2) == 3
    assert await stores.records.project_of_token(token.sha256) is None
    assert len(await stores.scheduled()) == 2
    assert await stores.records.retire_project(stores.project.id, NOW, 2) == 3
    assert await stores.scheduled() == sorted(ids(images))
    await stores.records.remove_images(ids(images))
    assert await stores.records.remove_project(stores.project.id)
    assert [each.id for each in await stores.records.projects()] == [neighbor.ID, other.id]
    assert await stores.overview.pull(stores.project.id, 7) is None
    assert await stores.overview.summary_of(ANN.id, stores.project.id) is None
    await stores.add_project(stores.project)  # it starts at zero
    assert await stores.overview.days([stores.project.id], 0) == {}
    assert await stores.totals() == (0, 0, 0)
    assert await stores.records.retire_project(stores.project.id, NOW, 2) == 0
