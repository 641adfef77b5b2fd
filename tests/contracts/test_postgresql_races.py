"""Concurrent writers on PostgreSQL: the result is the same as if they ran one after the other."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, text

from prshots.contract.errors import UnauthorizedError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import Policy
from prshots.contract.replies import ComparisonState
from prshots.server.adapters.sql.comparison.dependent_rows import point_baselines, pointer
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import projects
from prshots.server.adapters.sql.images.due import due_in, some_due
from prshots.server.adapters.sql.images.references import add_references
from prshots.server.adapters.sql.images.totals import add_images
from prshots.server.adapters.sql.move.row_copies import begin_copying, page_after, replace_page
from prshots.server.adapters.sql.outbox.causes import mark_due
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PlannedShot,
    ShotBase,
    StoredComparison,
)
from prshots.server.domain.images.models import BranchPlace, Image, StagedImage
from prshots.server.domain.outbox.models import Attempt
from prshots.server.domain.outbox.models import Connection as ForgeConnection
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project, Role
from support.contract_stores import ANN, Stores
from support.engine_servers import PostgreSQL
from support.stores_and_records import NOW, a_project, an_image, empty_database

pytestmark = pytest.mark.slow

T = TypeVar("T")


@pytest.fixture
async def stores(postgresql: PostgreSQL) -> AsyncIterator[Stores]:
    url = empty_database(postgresql)
    made = Stores("postgresql", lambda: open_postgresql(url))
    made.project = a_project(Policy.PR_CLOSE, retain_days=1)
    await made.fill()
    yield made
    await made.close()


@contextlib.asynccontextmanager
async def held(
    stores: Stores,
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

    holding = asyncio.create_task(stores.database.write(hold))
    await done.wait()
    try:
        yield may_go_on
    finally:
        may_go_on.set()
        await holding


async def until_it_waits(stores: Stores, task: "asyncio.Task[Any]") -> None:
    """Wait until the task's transaction waits for a lock, or until the task is done."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    while not task.done():
        if (await stores.database.first(waiting))[0]:
            return
        await asyncio.sleep(0.01)


async def after(
    stores: Stores,
    work: Callable[[Connection], Any],
    *calls: Awaitable[T],
    rest: Callable[[Connection], Any] = lambda _: None,
) -> list[T]:
    """Let calls wait for a transaction that has done `work`, and return their results after it has committed."""
    async with held(stores, work, rest) as may_go_on:
        tasks = [asyncio.ensure_future(call) for call in calls]
        for task in tasks:
            await until_it_waits(stores, task)
        may_go_on.set()
        return await asyncio.gather(*tasks)


async def pull_is_open(stores: Stores) -> bool:
    return (await stores.pull()).closed_at is None


class TestClosingAPullRequestDuringAnUpload:
    async def test_waits_for_the_upload_and_closes_its_image(self, stores: Stores) -> None:
        await stores.add()
        late = an_image(stores.project)
        closing = stores.records.close_pr(stores.project.id, 7, NOW, schedule=True)
        assert await after(stores, lambda connection: add_images(connection, [late], {}), closing) == [2]
        found = await stores.image(late.id)
        assert (found.closed_at, found.scheduled_at) == (NOW, NOW)
        assert not await pull_is_open(stores)

    async def test_does_not_close_the_first_image_of_a_new_pull_request(self, stores: Stores) -> None:
        first = an_image(stores.project)
        async with held(stores, lambda connection: add_images(connection, [first], {})):
            assert await stores.records.close_pr(stores.project.id, 7, NOW, schedule=True) == 0
        found = await stores.image(first.id)
        assert (found.closed_at, found.scheduled_at) == (None, None)
        assert await pull_is_open(stores)


async def test_two_sweeps_do_not_wait_for_each_other(stores: Stores) -> None:
    await stores.add_some(5, uploaded_at=1)
    rule = due_in(Policy.MANUAL, 1, NOW)[0]
    async with held(stores, lambda connection: some_due(connection, stores.project.id, rule, 2)):
        assert await asyncio.wait_for(stores.records.schedule_due(NOW, 10), 4) == 3
    assert await stores.records.schedule_due(NOW, 10) == 2


async def test_closing_a_pull_request_and_deleting_its_images_does_not_deadlock(
    postgresql: PostgreSQL, stores: Stores
) -> None:
    """A forge may report a closed pull request twice: one call marks the images while the other deletes them."""

    def deadlocks() -> object:
        return postgresql.execute("SELECT sum(deadlocks) FROM pg_stat_database")

    def mark(connection: Connection) -> None:
        connection.execute(
            text("UPDATE images SET closed_at = 1 WHERE project_id = :id"), {"id": stores.project.id}
        )

    image, before = await stores.add(), deadlocks()
    removing = stores.records.remove_images([image.id])
    locking = partial(lock_pull, project_id=stores.project.id, pr_number=7)
    assert await after(stores, locking, removing, rest=mark) == [1]
    await stores.close()  # a session reports its statistics when it ends, if not before
    assert deadlocks() == before


async def test_siblings_that_mark_and_send_the_same_pull_request_do_not_deadlock(
    postgresql: PostgreSQL, stores: Stores
) -> None:
    """Each project's causes mark the statuses of the other one, while both are sent."""

    def deadlocks() -> object:
        return postgresql.execute("SELECT sum(deadlocks) FROM pg_stat_database")

    repository = "https://git.example/acme/shop"
    await stores.change_project(repository=repository)
    sibling = await stores.add_project(replace(a_project(), repository=repository))
    both = (stores.project, sibling)
    for project in both:
        await stores.add(project, pr_number=7)
        await stores.connections.put(
            ForgeConnection(project.id, ForgeKind.GITEA, "https://x", "acme/shop", "", NOW)
        )
    before = deadlocks()

    def mark(project: Project, connection: Connection) -> None:
        lock_pull(connection, project.id, 7)
        mark_due(connection, project.id, 7, NOW)

    async def send(project: Project, number: int) -> None:
        claim = await stores.outbox.claim(project.id, 7, f"{project.id} {number}"[-32:], NOW, NOW)
        if claim:
            await stores.outbox.finish(claim, [Attempt(each) for each in claim.due], NOW)

    for number in range(40):
        works = [stores.database.write(partial(mark, project)) for project in both]
        await asyncio.gather(*works, *(send(project, number) for project in both))
    await stores.close()
    assert deadlocks() == before


async def test_a_project_is_not_removed_during_an_upload(stores: Stores) -> None:
    image = an_image(stores.project)
    removing = stores.records.remove_project(stores.project.id)
    assert await after(stores, lambda connection: add_images(connection, [image], {}), removing) == [False]
    await stores.records.remove_images([image.id])
    assert await stores.records.remove_project(stores.project.id)
    with pytest.raises(UnauthorizedError):
        await stores.records.add_image(image)


async def test_concurrent_adds_of_one_member_add_it_once(stores: Stores) -> None:
    people, user = stores.people, replace(ANN, id="bob", subject="2", login="bob")
    await people.add_user(user, None)
    await asyncio.gather(*(people.set_member(LOCAL_ORGANIZATION, user.id, Role.OWNER) for _ in range(6)))
    ((_, role),) = await people.organizations_of(user.id)
    assert role is Role.OWNER


class TestReleasingBaselines:
    """The sweep finds an image that nothing refers to, while another transaction is about to refer to it."""

    async def test_spares_an_image_that_is_reused_meanwhile(self, stores: Stores) -> None:
        image, baselines = await stores.add(kind="baseline", sha256="0" * 64), stores.baselines
        lock = text("SELECT id FROM images FOR SHARE")
        async with held(
            stores,
            lambda connection: connection.execute(lock),
            lambda connection: point_baselines(connection, [pointer(image, "main")]),
        ) as may_go_on:
            assert await baselines.release(NOW, 10) == 0  # someone holds it
            may_go_on.set()
        assert await baselines.release(NOW, 10) == 0  # and refers to it now

    async def test_makes_a_comparison_with_the_image_plan_again(self, stores: Stores) -> None:
        base, baselines = await stores.add(kind="baseline", sha256="0" * 64), stores.baselines
        image = await stores.add()
        shot = PlannedShot(image.shot, image, ShotBase(base, base.commit_sha, is_listed=True))
        request = ComparisonRequest(stores.project.id, 7, image.commit_sha, "main")
        beginning = stores.comparisons.begin(
            StoredComparison(request, "run", ComparisonState.RUNNING, None, 0, NOW, [shot])
        )
        locking = text("SELECT id FROM images WHERE pr_number = 0 FOR UPDATE")
        scheduling = text(f"UPDATE images SET scheduled_at = {NOW} WHERE pr_number = 0")
        began = await after(
            stores,
            lambda connection: connection.execute(locking),
            beginning,
            rest=lambda connection: connection.execute(scheduling),
        )
        assert began == [False]  # it plans again, without this base
        assert await baselines.release(NOW, 10) == 0


class TestReferringToAnImage:
    """A reference is added while another transaction schedules the image that has its bytes."""

    SHA256 = "0" * 64

    def refer(self, stores: Stores, image: Image, connection: Connection) -> list[bool]:
        known = [(image.shot, self.SHA256)]
        return add_references(connection, stores.project.id, 7, "d" * 40, known, now=NOW)

    async def test_schedules_a_reference_that_was_added_meanwhile(self, stores: Stores) -> None:
        source = await stores.add(sha256=self.SHA256)
        scheduling = stores.records.schedule([source.id], NOW)
        await after(stores, partial(self.refer, stores, source), scheduling)
        assert len(await stores.scheduled()) == 2

    async def test_does_not_know_an_image_that_is_scheduled_meanwhile(self, stores: Stores) -> None:
        source = await stores.add(sha256=self.SHA256)
        known = [(source.shot, self.SHA256)]
        referring = stores.records.add_references(stores.project.id, 7, "d" * 40, known, NOW)
        marking = text(f"UPDATE images SET scheduled_at = {NOW} WHERE id = '{source.id}'")
        assert await after(stores, lambda connection: connection.execute(marking), referring) == [[False]]
        assert await stores.of_pull() == []

    async def test_the_sweep_spares_a_baseline_that_gets_a_reference(self, stores: Stores) -> None:
        source = await stores.add(kind="baseline", sha256=self.SHA256)
        async with held(stores, partial(self.refer, stores, source)) as may_go_on:
            assert await stores.baselines.release(NOW, 10) == 0
            may_go_on.set()
        assert await stores.baselines.release(NOW, 10) == 0
        assert len(await stores.of_pull()) == 1


class TestMovingStagedImages:
    """`held` does by hand what the other transaction has done so far."""

    PLACE = BranchPlace("fix", "")

    async def stage(self, stores: Stores) -> Image:
        image = an_image(stores.project, kind="staged")
        await stores.staged.add(StagedImage(image, self.PLACE, NOW + 1))
        return image

    async def test_skips_an_image_that_expires_meanwhile(self, stores: Stores) -> None:
        image, staged = await self.stage(stores), stores.staged
        marking = text(f"UPDATE images SET scheduled_at = {NOW} WHERE id = '{image.id}'")
        moving = staged.move(stores.project.id, self.PLACE, 7, NOW, 10)
        assert await after(stores, lambda connection: connection.execute(marking), moving) == [0]
        found = await stores.image(image.id)
        assert (found.kind, found.scheduled_at) == ("staged", NOW)

    async def test_hides_the_image_from_a_concurrent_sweep(self, stores: Stores) -> None:
        image, staged = await self.stage(stores), stores.staged
        moving = text(f"UPDATE images SET pr_number = 7, kind = 'pull_request' WHERE id = '{image.id}'")
        async with held(stores, lambda connection: connection.execute(moving)) as may_go_on:
            assert await staged.schedule_expired(NOW + 1, 10) == 0
            may_go_on.set()
        assert await staged.schedule_expired(NOW + 1, 10) == 0

    async def test_two_moves_share_no_image(self, stores: Stores) -> None:
        await self.stage(stores)
        moves = (stores.staged.move(stores.project.id, self.PLACE, number, NOW, 10) for number in (7, 8))
        locking = partial(lock_pull, project_id=stores.project.id, pr_number=0)
        assert sorted(await after(stores, locking, *moves)) == [0, 1]


async def test_a_move_waits_for_the_last_transaction_of_one_that_was_killed(stores: Stores) -> None:
    await stores.records.add_project(a_project())
    with stores.database.engine.connect() as reading:
        page = page_after(reading, projects, ())

    def copy_again() -> None:
        with stores.database.engine.begin() as connection:
            begin_copying(connection)
            replace_page(connection, projects, (), None, page)

    with stores.database.engine.begin() as of_the_killed:
        begin_copying(of_the_killed)
        of_the_killed.execute(text("DELETE FROM project_totals"))
        replace_page(of_the_killed, projects, (), None, page)
        copying = asyncio.create_task(asyncio.to_thread(copy_again))
        await asyncio.sleep(0.3)
        assert not copying.done()
    await copying
    with stores.database.engine.connect() as reading:
        assert page_after(reading, projects, ()) == page
