"""SQLite that fails: callers see only our own errors."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from prshots.contract.errors import ConflictError, RecordsError, RecordsFullError
from prshots.server import wiring
from prshots.server.adapters.sql.database import Database, open_sqlite
from prshots.server.adapters.sql.records import SqlRecords
from prshots.server.adapters.sql.schema import metadata
from prshots.server.config.settings import Settings
from prshots.server.domain.models import LOCAL_ORGANIZATION, Project
from prshots.server.observability.metrics import DATABASE_SECONDS, ENGINE_FAILURES
from support.every_port_call import EVERY_CALL, STORES
from support.stores_and_records import a_project, an_image, filled_up, open_records, read_only, small_disk

PROJECT = a_project()


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[SqlRecords]:
    opened = open_records(tmp_path)
    yield opened
    await opened.close()


async def test_without_tables_every_call_is_a_records_error(records: SqlRecords, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "prshots.db") as database:
        for table in metadata.tables:
            database.execute(f"DROP TABLE {table}")
    database.close()
    for name, call in EVERY_CALL.items():
        if name not in {
            "SqlRecords.check",
            "SqlUpkeep.time",
            "SqlUpkeep.give_back_space",
        }:  # they read no table
            with pytest.raises(RecordsError, match="no such table"):
                await call(records._database)


async def test_failures_are_counted_but_conflicts_are_not(records: SqlRecords, tmp_path: Path) -> None:
    def counted() -> tuple[float, float]:
        failures = ENGINE_FAILURES.labels("database")._value.get()
        return failures, DATABASE_SECONDS.labels("write")._sum.get()

    await records.add_project(PROJECT)
    failures, seconds = counted()
    with pytest.raises(ConflictError):
        await records.add_project(PROJECT)
    assert counted()[0] == failures
    assert counted()[1] > seconds
    with sqlite3.connect(tmp_path / "prshots.db") as database:
        database.execute("DROP TABLE tokens")
    database.close()
    for call in (records.project_of_token("0" * 64), records.tokens(PROJECT.id), records.touch_token("0", 1)):
        with pytest.raises(RecordsError):
            await call
    assert counted()[0] == failures + 3


def test_the_list_of_calls_covers_every_store_method() -> None:
    for store, calls in STORES.items():
        public = {name for name in vars(store) if not name.startswith("_")}
        assert set(calls) == public - {"close"}


async def test_invalid_unicode_is_a_records_error(records: SqlRecords) -> None:
    with pytest.raises(RecordsError, match="valid Unicode"):
        await records.project("\udcff", LOCAL_ORGANIZATION)


async def test_a_full_disk_fails_uploads_until_there_is_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        records = open_records(disk)
        try:
            await records.add_project(PROJECT)
            with filled_up(disk):
                await _fails_for_all(records, PROJECT)
            await records.add_image(an_image(PROJECT))
        finally:
            await records.close()


async def _fails_for_all(records: SqlRecords, project: Project) -> None:
    """Check that every upload of a batch fails. The journal has some space, so the first ones may fit."""
    outcomes: list[BaseException | None] = []
    for _ in range(20):
        outcomes = await asyncio.gather(
            *(records.add_image(an_image(project)) for _ in range(20)), return_exceptions=True
        )
        if all(outcomes):
            break
    assert {type(outcome) for outcome in outcomes} == {RecordsFullError}


def test_opening_in_a_read_only_folder_fails(tmp_path: Path) -> None:
    with read_only(tmp_path), pytest.raises(RecordsError):
        wiring.open_records(Settings(data_dir=tmp_path))


def test_opening_a_file_that_is_not_a_database_fails(tmp_path: Path) -> None:
    (tmp_path / "prshots.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(RecordsError, match="not a database"):
        wiring.open_records(Settings(data_dir=tmp_path))


@pytest.mark.parametrize("name", ["what?mode=memory", "50%41", "a#b", "späce d"])
def test_special_characters_in_the_path_are_kept(tmp_path: Path, name: str) -> None:
    engine = open_sqlite(tmp_path / name / "prshots.db")
    engine.connect().close()
    engine.dispose()
    assert (tmp_path / name / "prshots.db").exists()


def test_a_commit_survives_a_power_cut(tmp_path: Path) -> None:
    """A test cannot cut the power, but SQLite guarantees this with these two settings."""
    engine = open_sqlite(tmp_path / "prshots.db")
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
    engine.dispose()


async def test_with_an_invalid_file_every_call_is_a_records_error(tmp_path: Path) -> None:
    (tmp_path / "prshots.db").write_bytes(b"no such thing " * 500)
    database = Database(open_sqlite(tmp_path / "prshots.db"))
    for call in EVERY_CALL.values():
        with pytest.raises(RecordsError, match="file is not a database"):
            await call(database)
    await database.close()
