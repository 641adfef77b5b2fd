"""The contract of every `Overview` adapter, and the counts that the records keep for it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from prshots.contract.limits import Policy
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.domain.images.models import Image, PullRequestRecord, ShotKey
from prshots.server.domain.images.ports import Overview
from prshots.server.domain.people.models import User
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, DayOfUploads, Project, Role
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

TODAY = NOW // DAY
ANN = User("ann", "github", "1", "ann", "Ann", "", NOW)
BOB = User("bob", "github", "2", "bob", "Bob", "", NOW)
OTHER_SHA = "f" * 40


class Stores(NamedTuple):
    records: Records
    people: People
    overview: Overview


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    database = opener(request, tmp_path)()
    watch = PortWatch()
    made = Stores(
        watch.over(SqlRecords(database), Records),
        watch.over(SqlPeople(database), People),
        watch.over(SqlOverview(database), Overview),
    )
    for user in (ANN, BOB):
        await made.people.add_user(user, None)
    await made.people.set_member(LOCAL_ORGANIZATION, ANN.id, Role.OWNER)
    yield made
    await database.close()


@pytest.fixture
async def project(stores: Stores) -> Project:
    made = a_project(name="web")
    await stores.records.add_project(made)
    return made


async def added(stores: Stores, project: Project, count: int = 1, **changes: object) -> list[Image]:
    images = [an_image(project, **changes) for _ in range(count)]
    for image in images:
        await stores.records.add_image(image)
    return images


async def listed(stores: Stores, project: Project, **asked: object) -> list[int]:
    query: dict[str, object] = {"closed": None, "search": "", "before": None, "limit": 10}
    found = await stores.overview.pulls(project.id, **(query | asked))  # type: ignore[arg-type]
    return [pull.pr_number for pull in found]


def ids(images: list[Image]) -> list[str]:
    return [image.id for image in images]


class TestProjects:
    async def test_are_visible_only_to_members(self, stores: Stores, project: Project) -> None:
        assert await stores.overview.project_of(ANN.id, project.id) == (project, Role.OWNER)
        assert await stores.overview.project_of(BOB.id, project.id) is None
        assert await stores.overview.project_of(ANN.id, "nobody's") is None
        assert await stores.overview.summary_of(BOB.id, project.id) is None
        assert await stores.overview.projects_of(BOB.id, None, 9) == []

    async def test_are_paged_by_name(self, stores: Stores) -> None:
        for name in ("c", "a", "b"):
            await stores.records.add_project(a_project(name=name))
        first = [summary.project for summary in await stores.overview.projects_of(ANN.id, None, 2)]
        assert [project.name for project in first] == ["a", "b"]
        after = (first[-1].name, first[-1].id)
        rest = await stores.overview.projects_of(ANN.id, after, 2)
        assert [summary.project.name for summary in rest] == ["c"]

    async def test_have_a_summary_of_images_bytes_and_open_pull_requests(
        self, stores: Stores, project: Project
    ) -> None:
        summary = await stores.overview.summary_of(ANN.id, project.id)
        assert summary is not None
        assert (summary.images, summary.bytes, summary.open_pulls, summary.last_upload_at) == (0, 0, 0, None)
        await added(stores, project, 2, size=500)
        await added(stores, project, pr_number=8, size=50, uploaded_at=NOW + 5)
        await stores.records.close_pr(project.id, 7, NOW, schedule=False)
        (summary,) = await stores.overview.projects_of(ANN.id, None, 9)
        assert (summary.images, summary.bytes, summary.open_pulls) == (3, 1050, 1)
        assert summary.last_upload_at == NOW + 5


class TestCounting:
    async def test_daily_uploads_still_include_deleted_images(self, stores: Stores, project: Project) -> None:
        yesterday = await added(stores, project, 2, uploaded_at=NOW - DAY, size=10)
        await added(stores, project, size=7)
        await added(stores, project, uploaded_at=NOW - 40 * DAY)
        await stores.records.remove_images(ids(yesterday))
        assert await stores.overview.days([project.id, "nobody's"], TODAY - 1) == {
            project.id: [DayOfUploads(TODAY - 1, 2, 20), DayOfUploads(TODAY, 1, 7)]
        }

    async def test_deleting_images_keeps_the_pull_request_and_lowers_its_count(
        self, stores: Stores, project: Project
    ) -> None:
        images = await added(stores, project, 3, size=10)
        await added(stores, project, commit_sha=OTHER_SHA, uploaded_at=NOW + 60, size=5)
        pull = PullRequestRecord(project.id, 7, 4, 35, NOW + 60, OTHER_SHA, None)
        assert await stores.overview.pull(project.id, 7) == pull
        assert await stores.overview.pull(project.id, 8) is None
        await stores.records.close_pr(project.id, 7, NOW + 90, schedule=True)
        # Two sweeps may delete the same images. The count goes down only once.
        assert await stores.records.remove_images(ids(images)) == 3
        assert await stores.records.remove_images(ids(images)) == 0
        gone = replace(pull, images=1, bytes=5, closed_at=NOW + 90)
        assert await stores.overview.pull(project.id, 7) == gone

    async def test_closing_twice_keeps_the_first_time_and_an_upload_reopens(
        self, stores: Stores, project: Project
    ) -> None:
        await added(stores, project)
        for now in (NOW + 1, NOW + 2):
            await stores.records.close_pr(project.id, 7, now, schedule=False)
        pull = await stores.overview.pull(project.id, 7)
        assert pull is not None
        assert pull.closed_at == NOW + 1
        await added(stores, project)
        pull = await stores.overview.pull(project.id, 7)
        assert pull is not None
        assert pull.closed_at is None


class TestPulls:
    async def test_are_paged_by_newest_upload(self, stores: Stores, project: Project) -> None:
        for number, at in ((1, 10), (2, 30), (3, 20), (4, 20)):
            await added(stores, project, pr_number=number, uploaded_at=NOW + at)
        assert await listed(stores, project) == [2, 4, 3, 1]
        assert await listed(stores, project, limit=2) == [2, 4]
        assert await listed(stores, project, before=(NOW + 20, 4)) == [3, 1]
        assert await listed(stores, project, before=(NOW + 10, 1)) == []

    async def test_can_be_filtered_by_state(self, stores: Stores, project: Project) -> None:
        for number in (1, 2):
            await added(stores, project, pr_number=number)
        await stores.records.close_pr(project.id, 1, NOW, schedule=False)
        assert await listed(stores, project, closed=True) == [1]
        assert await listed(stores, project, closed=False) == [2]

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
        self, stores: Stores, project: Project, search: str, found: list[int]
    ) -> None:
        await added(stores, project, pr_number=7, name="other")
        await added(stores, project, pr_number=12, name="a \\ b")
        await added(stores, project, pr_number=123, name="Checkout/Cart", uploaded_at=NOW + 1)
        await added(
            stores, project, pr_number=99, name="all%_done", commit_sha=OTHER_SHA, uploaded_at=NOW + 2
        )
        assert await listed(stores, project, search=search) == found

    async def test_a_search_by_name_covers_only_the_newest_pull_requests(
        self, stores: Stores, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prshots.server.adapters.sql.overview.NAMES_SEARCHED", 2)
        for number in (11, 12, 13):
            await added(stores, project, pr_number=number, uploaded_at=NOW + number, name="cart")
        assert await listed(stores, project, search="cart") == [13, 12]
        assert await listed(stores, project, search="1") == [13, 12, 11]

    async def test_the_biggest_are_sorted_by_size_without_empty_ones(
        self, stores: Stores, project: Project
    ) -> None:
        for number, size in ((1, 10), (2, 30), (3, 20)):
            await added(stores, project, pr_number=number, size=size)
        gone = await added(stores, project, pr_number=4, size=40)
        await stores.records.remove_images(ids(gone))
        biggest = await stores.overview.biggest_pulls(project.id, 2)
        assert [pull.pr_number for pull in biggest] == [2, 3]
        assert [pull.pr_number for pull in await stores.overview.biggest_pulls(project.id, 9)] == [2, 3, 1]


class TestImages:
    async def test_the_newest_are_returned_per_pull_request(self, stores: Stores, project: Project) -> None:
        seven, eight = await added(stores, project, 3), await added(stores, project, pr_number=8)
        newest = await stores.overview.newest_images(project.id, [7, 8, 9], 2)
        assert {number: ids(images) for number, images in newest.items()} == {
            7: [seven[2].id, seven[1].id],
            8: [eight[0].id],
            9: [],
        }

    async def test_a_shot_says_since_when_it_is_unchanged(self, stores: Stores, project: Project) -> None:
        def sha256(text: str) -> str:
            return text * 64

        for commit, shown in (("a", "1"), ("b", "2"), ("c", "2"), ("c", "2"), ("d", "2")):
            await added(stores, project, name="cart", commit_sha=commit * 40, sha256=sha256(shown))
        await added(stores, project, name="home", commit_sha="d" * 40, sha256=sha256("3"))
        for commit in "ab":
            await added(stores, project, name="old", commit_sha=commit * 40)
        shots = await stores.overview.shots(project.id, 7, None, 9)
        assert [shot.unchanged_since for shot in shots] == ["b" * 40, None, None]

    async def test_shots_are_paged_by_name_and_viewport(self, stores: Stores, project: Project) -> None:
        places = [
            ("b", "1x1", "a"),
            ("a", "9x9", "a"),
            ("a", "1x1", "a"),
            ("b", "1x1", "a"),
            ("b", "1x1", "b"),
        ]
        images = [
            (await added(stores, project, name=name, viewport=viewport, commit_sha=commit * 40))[0]
            for name, viewport, commit in places
        ]
        shots = await stores.overview.shots(project.id, 7, None, 9)
        assert [(shot.newest.id, shot.commits) for shot in shots] == [
            (images[2].id, 1),
            (images[1].id, 1),
            (images[4].id, 2),
        ]
        assert await stores.overview.shots(project.id, 7, None, 2) == shots[:2]
        assert await stores.overview.shots(project.id, 7, ShotKey("a", "9x9", ""), 2) == shots[2:]
        assert await stores.overview.shots(project.id, 8, None, 9) == []

    async def test_images_of_a_shot_are_paged_newest_first(self, stores: Stores, project: Project) -> None:
        images = await added(stores, project, 3, name="a")
        await added(stores, project, name="b")
        place = ShotKey("a", images[0].viewport, "")
        found = await stores.overview.images_of_shot(project.id, 7, place, 2**62, 2)
        assert ids(found) == [images[2].id, images[1].id]
        rest = await stores.overview.images_of_shot(project.id, 7, place, found[-1].seq, 2)
        assert ids(rest) == [images[0].id]

    async def test_images_scheduled_for_deletion_are_hidden(self, stores: Stores, project: Project) -> None:
        (image,) = await added(stores, project)
        await stores.records.schedule([image.id], NOW)
        place = image.shot
        assert await stores.overview.shots(project.id, 7, None, 9) == []
        assert await stores.overview.newest_images(project.id, [7], 2) == {7: []}
        assert await stores.overview.images_of_shot(project.id, 7, place, 2**62, 2) == []
        assert await stores.overview.images(project.id, [image.id]) == []

    async def test_a_lookup_by_id_finds_only_the_projects_own_images(
        self, stores: Stores, project: Project
    ) -> None:
        other = a_project()
        await stores.records.add_project(other)
        mine, foreign = await added(stores, project), await added(stores, other)
        found = await stores.overview.images(project.id, [mine[0].id, foreign[0].id, "0" * 32])
        assert ids(found) == [mine[0].id]

    async def test_a_thumbnail_state_is_stored_only_for_an_unscheduled_image(
        self, stores: Stores, project: Project
    ) -> None:
        (image,) = await added(stores, project)
        assert await stores.records.set_thumbnail(image.id, "made")
        (found,) = await stores.overview.images(project.id, [image.id])
        assert found.thumbnail == "made"
        await stores.records.schedule([image.id], NOW)
        assert not await stores.records.set_thumbnail(image.id, "damaged")
        assert not await stores.records.set_thumbnail("0" * 32, "made")


class TestWouldExpire:
    async def test_counts_the_images_that_a_sweep_would_delete(
        self, stores: Stores, project: Project
    ) -> None:
        await added(stores, project, 2, size=10, uploaded_at=NOW - 3 * DAY)
        await added(stores, project, size=7, pr_number=8)
        await stores.records.close_pr(project.id, 8, NOW, schedule=False)

        async def would(policy: Policy, days: int | None) -> tuple[int, int]:
            return await stores.overview.would_expire(project.id, policy, days, NOW)

        assert await would(Policy.MANUAL, None) == (0, 0)
        assert await would(Policy.MANUAL, 4) == (0, 0)
        assert await would(Policy.RETAIN_DAYS, 3) == (2, 20)
        assert await would(Policy.PR_CLOSE, None) == (1, 7)
        assert await would(Policy.PR_CLOSE, 3) == (3, 27)
        changed = replace(project, policy=Policy.PR_CLOSE, retain_days=3)
        await stores.records.change_project(changed)
        assert await stores.records.schedule_due(NOW, 10) == 3
        assert await would(Policy.PR_CLOSE, 3) == (0, 0)


class TestTokens:
    async def test_are_paged_newest_first(self, stores: Stores, project: Project) -> None:
        tokens = [a_token(project, created_at=NOW + at, created_by="ann") for at in range(3)]
        for token in tokens:
            await stores.records.add_token(token)
        assert await stores.overview.tokens(project.id, None, 2) == [tokens[2], tokens[1]]
        before = (tokens[1].created_at, tokens[1].id)
        assert await stores.overview.tokens(project.id, before, 2) == [tokens[0]]

    async def test_are_revoked_only_within_their_project(self, stores: Stores, project: Project) -> None:
        token, other = a_token(project), a_project()
        await stores.records.add_project(other)
        await stores.records.add_token(token)
        assert not await stores.records.revoke_token(token.id, NOW, other.id)
        assert await stores.records.revoke_token(token.id, NOW, project.id)


class TestRemovingAProject:
    async def test_deletes_its_tokens_images_and_counts(self, stores: Stores, project: Project) -> None:
        images, other = await added(stores, project, 3), a_project()
        await stores.records.add_project(other)
        await added(stores, other)
        token = a_token(project)
        await stores.records.add_token(token)
        assert not await stores.records.remove_project(project.id)
        assert await stores.records.retire_project(project.id, NOW, 2) == 3
        assert await stores.records.project_of_token(token.sha256) is None
        assert len(await stores.records.next_scheduled("", 9)) == 2
        assert await stores.records.retire_project(project.id, NOW, 2) == 3
        assert {image.id for image in await stores.records.next_scheduled("", 9)} == set(ids(images))
        await stores.records.remove_images(ids(images))
        assert await stores.records.remove_project(project.id)
        assert [each.id for each in await stores.records.projects()] == [neighbor.ID, other.id]
        assert await stores.overview.pull(project.id, 7) is None
        assert await stores.overview.days([project.id], 0) == {}
        assert await stores.records.retire_project(project.id, NOW, 2) == 0
