"""Concurrent writers on PostgreSQL: the result is the same as if they ran one after the other."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from sqlalchemy import Connection, text

from prshots.contract.errors import UnauthorizedError
from prshots.contract.limits import Policy
from prshots.contract.replies import ComparisonState
from prshots.server.adapters.sql.comparison.baseline_rows import Pointer, point_baselines
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import projects
from prshots.server.adapters.sql.images.arriving_images import add_images
from prshots.server.adapters.sql.images.due import due_in, some_due
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.move.row_copies import begin_copying, page_after, replace_page
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.domain.comparison.models import ComparisonRequest, PlannedShot, ShotBase
from prshots.server.domain.images.models import BranchPlace, Image, StagedImage
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project, Role
from support.engine_servers import PostgreSQL
from support.stores_and_records import NOW, SqlRecords, a_project, an_image, empty_database

pytestmark = pytest.mark.slow


@pytest.fixture
async def database(postgresql: PostgreSQL) -> AsyncIterator[Database]:
    opened = open_postgresql(empty_database(postgresql))
    yield opened
    await opened.close()


@pytest.fixture
def records(database: Database) -> SqlRecords:
    return SqlRecords(database)


@pytest.fixture
async def project(records: SqlRecords) -> Project:
    made = a_project(Policy.PR_CLOSE, retain_days=1)
    await records.add_project(made)
    return made


@contextlib.asynccontextmanager
async def held(
    database: Database,
    work: Callable[[Connection], Any],
    rest: Callable[[Connection], Any] = lambda _: None,
) -> AsyncIterator[threading.Event]:
    """Run `work` in a transaction. `rest` and the commit wait until the event is set or the block ends."""
    done, may_go_on, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def hold(connection: Connection) -> None:
        work(connection)
        loop.call_soon_threadsafe(done.set)
        assert may_go_on.wait(timeout=90)
        rest(connection)

    holding = asyncio.create_task(database.write(hold))
    await done.wait()
    try:
        yield may_go_on
    finally:
        may_go_on.set()
        await holding


async def until_it_waits(database: Database, task: "asyncio.Task[Any]") -> None:
    """Wait until the task's transaction waits for a lock, or until the task is done."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    while not task.done():
        if await database.read(lambda connection: connection.execute(waiting).scalar_one()):
            return
        await asyncio.sleep(0.01)


async def pull_is_open(database: Database, project: Project) -> bool:
    pull = await SqlOverview(database).pull(project.id, 7)
    assert pull is not None
    return pull.closed_at is None


class TestClosingAPullRequestDuringAnUpload:
    async def test_waits_for_the_upload_and_closes_its_image(
        self, database: Database, records: SqlRecords, project: Project
    ) -> None:
        await records.add_image(an_image(project))
        late = an_image(project)
        async with held(database, lambda connection: add_images(connection, [late])) as may_go_on:
            closing = asyncio.create_task(records.close_pr(project.id, 7, NOW, schedule=True))
            await until_it_waits(database, closing)
            may_go_on.set()
            assert await closing == 2
        found = await records.image(project.id, late.id)
        assert found is not None
        assert (found.closed_at, found.scheduled_at) == (NOW, NOW)
        assert not await pull_is_open(database, project)

    async def test_does_not_close_the_first_image_of_a_new_pull_request(
        self, database: Database, records: SqlRecords, project: Project
    ) -> None:
        first = an_image(project)
        async with held(database, lambda connection: add_images(connection, [first])):
            assert await records.close_pr(project.id, 7, NOW, schedule=True) == 0
        found = await records.image(project.id, first.id)
        assert found is not None
        assert (found.closed_at, found.scheduled_at) == (None, None)
        assert await pull_is_open(database, project)

    async def test_leaves_the_pull_request_state_consistent_with_its_images(
        self, database: Database, records: SqlRecords, project: Project
    ) -> None:
        elsewhere = SqlRecords(database)  # commits its own uploads, as another process would
        await records.add_image(an_image(project))
        for _ in range(20):
            last = [an_image(project), an_image(project)]
            await asyncio.gather(
                records.add_image(last[0]),
                records.close_pr(project.id, 7, NOW, schedule=False),
                elsewhere.add_image(last[1]),
            )
            found = [await records.image(project.id, image.id) for image in last]
            is_open = any(image is not None and image.closed_at is None for image in found)
            assert await pull_is_open(database, project) == is_open
        pull = await SqlOverview(database).pull(project.id, 7)
        assert pull is not None
        assert pull.images == 41


class TestTwoSweeps:
    async def test_schedule_each_due_image_once(
        self, records: SqlRecords, database: Database, project: Project
    ) -> None:
        images = [an_image(project, uploaded_at=1) for _ in range(150)]
        await asyncio.gather(*(records.add_image(image) for image in images))

        async def sweep(over: SqlRecords) -> int:
            total = 0
            while (marked := await over.schedule_due(NOW, 10)) == 10:
                total += marked
            return total + marked

        assert sum(await asyncio.gather(sweep(records), sweep(SqlRecords(database)))) == 150
        assert len(await records.next_scheduled("", 1000)) == 150

    async def test_do_not_wait_for_each_other(
        self, records: SqlRecords, database: Database, project: Project
    ) -> None:
        for _ in range(5):
            await records.add_image(an_image(project, uploaded_at=1))
        rule = due_in(Policy.MANUAL, 1, NOW)[0]
        async with held(database, lambda connection: some_due(connection, project.id, rule, 2)):
            assert await asyncio.wait_for(records.schedule_due(NOW, 10), 4) == 3
        assert await records.schedule_due(NOW, 10) == 2

    async def test_subtract_deleted_images_from_the_counts_once(
        self, records: SqlRecords, database: Database, project: Project
    ) -> None:
        images = [an_image(project, pr_number=number % 5 + 1) for number in range(60)]
        await asyncio.gather(*(records.add_image(image) for image in images))
        ids = [image.id for image in images]
        removed = await asyncio.gather(records.remove_images(ids), records.remove_images(ids[::-1]))
        assert sum(removed) == 60
        assert await SqlOverview(database).biggest_pulls(project.id, 9) == []


async def test_closing_a_pull_request_and_deleting_its_images_does_not_deadlock(
    postgresql: PostgreSQL, database: Database, records: SqlRecords, project: Project
) -> None:
    """A forge may report a closed pull request twice: one call marks the images while the other deletes them."""

    def deadlocks() -> object:
        return postgresql.execute("SELECT sum(deadlocks) FROM pg_stat_database")

    def mark(connection: Connection) -> None:
        connection.execute(text("UPDATE images SET closed_at = 1 WHERE project_id = :id"), {"id": project.id})

    image, before = an_image(project), deadlocks()
    await records.add_image(image)
    async with held(database, lambda connection: lock_pull(connection, project.id, 7), mark) as may_go_on:
        removing = asyncio.create_task(records.remove_images([image.id]))
        await until_it_waits(database, removing)
        may_go_on.set()
        assert await removing == 1
    await database.close()  # a session reports its statistics when it ends, if not before
    assert deadlocks() == before


async def test_concurrent_closings_of_a_pull_request_delete_all_its_images(
    records: SqlRecords, project: Project
) -> None:
    async def expire() -> None:
        await records.close_pr(project.id, 7, NOW, schedule=True)
        await records.remove_images(
            [image.id for image in await records.next_scheduled("", 100, project.id, 7)]
        )

    for _ in range(3):
        await asyncio.gather(*(records.add_image(an_image(project)) for _ in range(30)))
        await asyncio.gather(*(expire() for _ in range(4)))
        assert await records.images_of_pr(project.id, 7, 9) == (0, [])


async def test_a_project_is_not_removed_during_an_upload(
    database: Database, records: SqlRecords, project: Project
) -> None:
    image = an_image(project)
    async with held(database, lambda connection: add_images(connection, [image])) as may_go_on:
        removing = asyncio.create_task(records.remove_project(project.id))
        await until_it_waits(database, removing)
        may_go_on.set()
        assert await removing is False
    await records.remove_images([image.id])
    assert await records.remove_project(project.id)
    with pytest.raises(UnauthorizedError):
        await records.add_image(image)


async def test_concurrent_adds_of_one_member_add_it_once(database: Database) -> None:
    people, user = SqlPeople(database), User("ann", "github", "1", "ann", "Ann", "", NOW)
    await people.add_user(user, None)
    await asyncio.gather(*(people.set_member(LOCAL_ORGANIZATION, user.id, Role.OWNER) for _ in range(6)))
    ((_, role),) = await people.organizations_of(user.id)
    assert role is Role.OWNER


class TestReleasingABaselineDuring:
    """The sweep finds an image that nothing refers to, while another transaction is about to refer to it."""

    async def unused(self, records: SqlRecords, project: Project) -> Image:
        image = an_image(project, kind="baseline", sha256="0" * 64)
        await records.add_image(image)
        return image

    async def test_its_reuse(self, database: Database, records: SqlRecords, project: Project) -> None:
        image, baselines = await self.unused(records, project), SqlBaselines(database)
        lock = text("SELECT id FROM images FOR SHARE")
        async with held(
            database,
            lambda connection: connection.execute(lock),
            lambda connection: point_baselines(connection, [Pointer.to(image, "main")]),
        ) as may_go_on:
            assert await baselines.release(NOW, 10) == 0  # someone holds it
            may_go_on.set()
        assert await baselines.release(NOW, 10) == 0  # and refers to it now

    async def test_a_comparison_that_shows_it(
        self, database: Database, records: SqlRecords, project: Project
    ) -> None:
        base, baselines = await self.unused(records, project), SqlBaselines(database)
        image = an_image(project)
        await records.add_image(image)
        scheduling = text("SELECT id FROM images WHERE pr_number = 0 FOR UPDATE")
        async with held(
            database,
            lambda connection: connection.execute(scheduling),
            lambda connection: connection.execute(
                text(f"UPDATE images SET scheduled_at = {NOW} WHERE pr_number = 0")
            ),
        ) as may_go_on:
            shot = PlannedShot(image.shot, image, ShotBase(base, base.commit_sha, is_listed=True))
            request = ComparisonRequest(project.id, 7, image.commit_sha, "main")
            beginning = asyncio.create_task(
                SqlComparisons(database).begin(
                    request,
                    "run",
                    [shot],
                    state=ComparisonState.RUNNING,
                    base_commit=None,
                    missing=0,
                    now=NOW,
                )
            )
            await until_it_waits(database, beginning)
            may_go_on.set()
            assert await beginning is False  # it plans again, without this base
        assert await baselines.release(NOW, 10) == 0


class TestMovingStagedImagesDuring:
    """`held` does by hand what the other transaction has done so far."""

    PLACE = BranchPlace("fix", "")

    async def staged(self, database: Database, project: Project) -> Image:
        image = an_image(project, kind="staged")
        await SqlStaged(database).add(StagedImage(image, self.PLACE, NOW + 1))
        return image

    async def test_the_sweep_that_expires_them(self, database: Database, project: Project) -> None:
        image, staged = await self.staged(database, project), SqlStaged(database)
        marking = text(f"UPDATE images SET scheduled_at = {NOW} WHERE id = '{image.id}'")
        async with held(database, lambda connection: connection.execute(marking)) as may_go_on:
            moving = asyncio.create_task(staged.move(project.id, self.PLACE, 7, NOW, 10))
            await until_it_waits(database, moving)
            may_go_on.set()
            assert await moving == 0
        found = await SqlRecords(database).image(project.id, image.id)
        assert found
        assert (found.kind, found.scheduled_at) == ("staged", NOW)

    async def test_the_sweep_leaves_what_is_being_moved(self, database: Database, project: Project) -> None:
        image, staged = await self.staged(database, project), SqlStaged(database)
        moving = text(f"UPDATE images SET pr_number = 7, kind = 'pull_request' WHERE id = '{image.id}'")
        async with held(database, lambda connection: connection.execute(moving)) as may_go_on:
            assert await staged.schedule_expired(NOW + 1, 10) == 0
            may_go_on.set()
        assert await staged.schedule_expired(NOW + 1, 10) == 0

    async def test_another_move(self, database: Database, project: Project) -> None:
        await self.staged(database, project)
        staged = SqlStaged(database)
        async with held(database, lambda connection: lock_pull(connection, project.id, 0)) as may_go_on:
            moves = [
                asyncio.create_task(staged.move(project.id, self.PLACE, number, NOW, 10)) for number in (7, 8)
            ]
            for move in moves:
                await until_it_waits(database, move)
            may_go_on.set()
            assert sorted(await asyncio.gather(*moves)) == [0, 1]


async def test_a_move_waits_for_the_last_transaction_of_one_that_was_killed(
    database: Database, records: SqlRecords
) -> None:
    await records.add_project(a_project())
    with database.engine.connect() as reading:
        page = page_after(reading, projects, ())

    def copy_again() -> None:
        with database.engine.begin() as connection:
            begin_copying(connection)
            replace_page(connection, projects, (), None, page)

    with database.engine.begin() as of_the_killed:
        begin_copying(of_the_killed)
        of_the_killed.execute(text("DELETE FROM project_totals"))
        replace_page(of_the_killed, projects, (), None, page)
        copying = asyncio.create_task(asyncio.to_thread(copy_again))
        await asyncio.sleep(0.3)
        assert not copying.done()
    await copying
    with database.engine.connect() as reading:
        assert page_after(reading, projects, ()) == page
