"""PostgreSQL that fails, hangs or goes away: callers see only our own errors, and the pool recovers."""

import asyncio
import contextlib
import os
import pwd
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event, text

from prshots.contract.errors import RecordsError, RecordsUnsureError
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import (
    LOOKERS,
    READERS,
    WRITERS,
    Timeouts,
    open_postgresql,
)
from prshots.server.domain.images.checks import UploadedFile, UploadFields, check_files
from support.contract_stores import Stores
from support.engine_servers import NOBODY, PostgreSQL, running_postgresql
from support.free_ports import free_port
from support.service import PNG, SHA
from support.stores_and_records import (
    DATABASE_CALLS,
    NOW,
    SqlRecords,
    a_project,
    an_image,
    assert_every_upload_fails,
    empty_database,
    filled_up,
    image_service,
    small_disk,
)
from support.waiting import eventually

pytestmark = pytest.mark.slow

Call = Callable[[Database], Awaitable[object]]
NEVER = 3600.0
PATIENT = Timeouts(connect=int(NEVER), lock=NEVER, statement=NEVER, call=NEVER)
"""Each test shortens one of these limits, and only where nothing else can end the wait."""


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgreSQL]:
    """Run a server for this module only: its tests stop, kill and freeze it."""
    with running_postgresql(18) as server:
        yield server


@pytest.fixture
def url(own_server: PostgreSQL) -> str:
    return empty_database(own_server)


@pytest.fixture
async def stores(url: str) -> AsyncIterator[Stores]:
    made = Stores("postgresql", lambda: open_postgresql(url))
    await made.fill()
    yield made
    await made.close()


@pytest.fixture
async def opening(url: str) -> AsyncIterator[Callable[..., Database]]:
    """Return a function that opens the database with timeouts of an hour, except for the given ones."""
    async with contextlib.AsyncExitStack() as opened:

        def open_it(**limits: float) -> Database:
            database = open_postgresql(url, replace(PATIENT, **limits))
            opened.push_async_callback(database.close)
            return database

        yield open_it


class TestServerRestarts:
    async def test_calls_after_a_restart_succeed_on_new_connections(
        self, own_server: PostgreSQL, stores: Stores
    ) -> None:
        image = await stores.add()
        own_server.stop()
        own_server.start()
        assert await stores.image(image.id)  # this call and the next two get dead connections
        assert len(await stores.records.projects()) == 1
        await stores.add()

    async def test_while_the_server_is_down_every_call_fails_and_then_recovers(
        self, own_server: PostgreSQL, stores: Stores
    ) -> None:
        await stores.add()
        own_server.stop()
        try:
            for call in DATABASE_CALLS.values():
                with pytest.raises(RecordsError, match=r"^the database did not answer: .*refused$"):
                    await call(stores.database)
        finally:
            own_server.start()
        await stores.add()
        assert len(await stores.of_pull()) == 2

    async def test_a_kill_during_uploads_loses_no_acknowledged_image(
        self, own_server: PostgreSQL, stores: Stores
    ) -> None:
        acknowledged: set[str] = set()
        enough, over = asyncio.Event(), False

        async def upload() -> None:
            while not over:
                with contextlib.suppress(RecordsError):
                    acknowledged.add((await stores.add()).id)
                if len(acknowledged) > 100:
                    enough.set()
                await asyncio.sleep(0)

        uploading = [asyncio.create_task(upload()) for _ in range(8)]
        await enough.wait()
        await asyncio.to_thread(own_server.kill)
        over = True
        await asyncio.gather(*uploading)
        await asyncio.to_thread(own_server.start)
        stored = await stores.of_pull()
        assert acknowledged <= set(stored)
        assert (await stores.pull()).images == len(stored)


class TestTimeouts:
    CALLS = (DATABASE_CALLS["look up"], DATABASE_CALLS["read"])

    async def test_a_frozen_server_keeps_neither_the_event_loop_nor_connections_of_clients_that_left(
        self, own_server: PostgreSQL, opening: Callable[..., Database]
    ) -> None:
        database = opening()
        with own_server.frozen():
            asked = [asyncio.create_task(call(database)) for call in self.CALLS * 20]
            await asyncio.sleep(0.05)  # with a blocked event loop, this would take an hour
            assert not any(task.done() for task in asked)
            for task in asked[:20]:
                task.cancel()
        await asyncio.wait(asked[:20])
        await asyncio.gather(*asked[20:])
        pool: Any = database.engine.pool
        await eventually(lambda: pool.checkedout() == 0, "the connections to come back")

    @pytest.mark.parametrize("call", CALLS, ids=["look up", "read"])
    async def test_calls_to_a_frozen_server_time_out_and_recover_when_it_thaws(
        self, own_server: PostgreSQL, opening: Callable[..., Database], call: Call
    ) -> None:
        database = opening()
        await call(database)  # opens a connection
        with own_server.frozen(), giving_up_after(database, 0.3):
            with pytest.raises(RecordsError) as raised:
                await call(database)
            assert str(raised.value) == "the database did not answer: no answer in time"
        await call(database)

    async def test_connecting_to_a_frozen_server_times_out(
        self, own_server: PostgreSQL, opening: Callable[..., Database]
    ) -> None:
        database = opening(connect=2)  # the minimum that libpq accepts
        with own_server.frozen(), pytest.raises(RecordsError, match="did not answer"):
            await database.first(text("SELECT 1"))

    async def test_a_frozen_server_ends_reads_writes_and_the_queue_behind_them_at_the_deadline(
        self, own_server: PostgreSQL, stores: Stores, opening: Callable[..., Database]
    ) -> None:
        database = opening(call=1)
        records = SqlRecords(database)
        with own_server.frozen():
            calls = [
                *(records.add_image(an_image(stores.project)) for _ in range(20)),
                *(records.count_signed_with("k1") for _ in range(20)),
            ]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(outcome, RecordsError) for outcome in outcomes)
        # They waited for a thread or a connection. Nothing is sent after their deadline.
        await eventually_answers(database)
        assert await stores.of_pull() == []

    async def test_the_server_cancels_a_query_that_takes_too_long(
        self, opening: Callable[..., Database]
    ) -> None:
        database = opening(statement=0.3)
        with pytest.raises(RecordsError, match="statement timeout"):
            await database.first(text("SELECT pg_sleep(3600)"))
        await eventually_answers(database)

    async def test_waiting_for_a_row_lock_times_out(
        self, url: str, stores: Stores, opening: Callable[..., Database]
    ) -> None:
        records = SqlRecords(opening(lock=0.3))
        with psycopg.connect(url) as holding:
            holding.execute("UPDATE projects SET retain_days = 1")
            with pytest.raises(RecordsError, match="lock timeout"):
                await records.change_project(stores.project, NOW)
        await records.change_project(stores.project, NOW)


async def test_an_outage_of_several_hosts_names_each_of_them() -> None:
    ports = free_port(), free_port()
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    database = open_postgresql(f"postgresql://prshots:secret@{hosts}/prshots")
    with pytest.raises(RecordsError) as raised:
        await database.first(text("SELECT 1"))
    each = "; ".join(f"127.0.0.1:{port}: Connection refused" for port in ports)
    assert str(raised.value) == f"the database did not answer: {each}"
    await database.close()


async def eventually_answers(database: Database) -> None:
    """Retry: right after it thaws, a busy server may be slower than the deadline."""
    for _ in range(100):
        with contextlib.suppress(RecordsError):
            await database.first(text("SELECT 1"))
            return
    pytest.fail("it did not recover")


@contextlib.contextmanager
def giving_up_after(database: Database, seconds: float) -> Iterator[None]:
    """Limit how long connections that are already open wait for a reply."""

    def limit(connection: Any, *_: object) -> None:
        connection.patience = seconds

    event.listen(database.engine, "checkout", limit)
    try:
        yield
    finally:
        event.remove(database.engine, "checkout", limit)


class TestCommitting:
    async def test_a_write_that_loses_its_connection_before_commit_is_retried_once(
        self, stores: Stores
    ) -> None:
        tried = 0

        def work(connection: Connection) -> None:
            nonlocal tried
            tried += 1
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

        with pytest.raises(RecordsError, match="terminating connection"):
            await stores.database.write(work)
        assert tried == 2

    async def test_an_upload_cut_off_during_commit_is_not_retried_and_keeps_its_file(
        self, url: str, stores: Stores, tmp_path: Path
    ) -> None:
        with psycopg.connect(url) as preparing:
            preparing.execute(
                "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;"
                "CREATE CONSTRAINT TRIGGER dying AFTER INSERT ON images DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION die()"
            )
        store, file = DiskStore(tmp_path), UploadedFile("image/png", [PNG], len(PNG))
        images = image_service(stores.records, store)
        checked = check_files(UploadFields("cart", SHA, "1280x800", theme=""), file, None, 9999)
        try:
            with pytest.raises(RecordsUnsureError):
                await images.store_upload(stores.project, 7, checked)
        finally:
            with psycopg.connect(url) as preparing:
                preparing.execute("DROP FUNCTION die CASCADE")
        assert len(list(tmp_path.rglob("*.png"))) == 1
        await images.store_upload(stores.project, 7, checked)
        store.close()

    async def test_a_commit_whose_reply_was_lost_is_acknowledged(
        self, own_server: PostgreSQL, stores: Stores
    ) -> None:
        """The commit waits for a standby that does not exist. If the connection is cut then, the commit is done."""
        own_server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        own_server.execute("SELECT pg_reload_conf()")
        try:
            adding = asyncio.create_task(stores.add())
            cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not own_server.execute(cut):
                await asyncio.sleep(0.02)
            image = await adding
        finally:
            own_server.execute("ALTER SYSTEM RESET synchronous_standby_names")
            own_server.execute("SELECT pg_reload_conf()")
        assert await stores.image(image.id)

    async def test_both_writes_of_a_deadlock_succeed(self, stores: Stores) -> None:
        project, other = stores.project, await stores.add_project()
        each_has_one, one_is_done = threading.Barrier(2), threading.Event()
        tries: Counter[tuple[str, ...]] = Counter()

        def in_order(connection: Connection, *ids: str) -> None:
            tries[ids] += 1
            if tries[ids] > 1:
                one_is_done.wait(60)  # earlier, a second try could meet a second deadlock
            for project_id in ids:
                connection.execute(text(f"UPDATE projects SET retain_days = 1 WHERE id = '{project_id}'"))
                if project_id == ids[0] and tries[ids] == 1:
                    each_has_one.wait(60)  # each now needs the row that the other has locked

        async def write(*ids: str) -> None:
            await stores.database.write(lambda connection: in_order(connection, *ids))
            one_is_done.set()

        await asyncio.gather(write(project.id, other.id), write(other.id, project.id))
        assert sum(tries.values()) == 3


async def test_a_full_disk_fails_uploads_until_there_is_space(own_server: PostgreSQL) -> None:
    with small_disk(own_server.folder / "small", "24m") as disk:
        if os.geteuid() == 0:
            os.chown(disk, pwd.getpwnam(NOBODY).pw_uid, -1)
        own_server.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        own_server.execute("CREATE DATABASE small TABLESPACE small")
        database = open_postgresql(own_server.url("small"))
        migrate(database.engine)
        records, project = SqlRecords(database), a_project()
        await records.add_project(project)
        with filled_up(disk):
            await assert_every_upload_fails(records, project)
        await records.add_image(an_image(project))
        await database.close()
        own_server.execute("DROP DATABASE small")
        own_server.execute("DROP TABLESPACE small")


async def test_computed_numbers_have_the_same_types_as_on_sqlite(stores: Stores) -> None:
    asking = text(
        "SELECT sum(n::bigint), sum(-n::bigint), avg(n), extract(epoch FROM now()) FROM generate_series(1, 2) n"
    )
    row = await stores.database.first(asking)
    assert row[:3] == (3, -3, 1.5)
    assert [type(number) for number in row] == [int, int, float, float]


async def test_the_pool_never_exceeds_its_connection_limit(own_server: PostgreSQL, url: str) -> None:
    database = open_postgresql(f"{url}?application_name=counted")
    all_at_work, may_end = threading.Barrier(READERS + WRITERS + 1), threading.Event()

    def work(connection: Connection) -> None:
        connection.execute(text("SELECT 1"))
        all_at_work.wait(60)
        may_end.wait(60)

    asked = [asyncio.create_task(database.read(work)) for _ in range(READERS)]
    asked += [asyncio.create_task(database.write(work)) for _ in range(WRITERS)]
    await asyncio.gather(*(SqlRecords(database).image("project", "0" * 32) for _ in range(50)))
    await asyncio.to_thread(all_at_work.wait, 60)
    counting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted'"
    ((connections,),) = own_server.execute(counting)
    assert READERS + WRITERS < int(str(connections)) <= LOOKERS + READERS + WRITERS
    may_end.set()
    await asyncio.gather(*asked)
    await database.close()


async def test_reads_do_not_open_a_transaction(stores: Stores) -> None:
    asking = text("SELECT now() = statement_timestamp()")  # true if each statement is a transaction

    def twice(connection: Connection) -> list[object]:
        return [connection.execute(asking).scalar_one() for _ in range(2)]

    assert await stores.database.read(twice) == [True, True]


@pytest.mark.parametrize("options", ["", "?options=-c%20statement_timeout%3D777&application_name=mine"])
async def test_options_in_the_database_url_override_the_defaults(url: str, options: str) -> None:
    database = open_postgresql(url + options)
    asking = text("SELECT current_setting('statement_timeout'), current_setting('application_name')")
    assert await database.first(asking) == (("777ms", "mine") if options else ("9s", "prshots"))
    await database.close()
