"""SQLite that fails: callers see only our own errors."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from prshots.contract.errors import ConflictError, RecordsError, SettingsError
from prshots.server import wiring
from prshots.server.adapters.sql.database.database import open_sqlite
from prshots.server.adapters.sql.database.free_pages import INCREMENTAL, KEPT_FREE, STEP_PAGES, reclaim_some
from prshots.server.adapters.sql.database.schema import metadata
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.config.settings import Settings
from prshots.server.domain.images.models import Image
from prshots.server.observability.metrics import DATABASE_SECONDS, ENGINE_FAILURES
from prshots.server.wiring.opening import DatabaseOpening
from support.stores_and_records import (
    DATABASE_CALLS,
    SqlRecords,
    a_project,
    an_image,
    assert_every_upload_fails,
    filled_up,
    open_records,
    read_only,
    small_disk,
)
from support.waiting import eventually

PROJECT = a_project()


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[SqlRecords]:
    opened = open_records(tmp_path)
    yield opened
    await opened.close()


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
        for table in metadata.tables:
            database.execute(f"DROP TABLE {table}")
    database.close()
    for call in DATABASE_CALLS.values():
        with pytest.raises(RecordsError, match="no such table"):
            await call(records._database)
    assert counted()[0] == failures + len(DATABASE_CALLS)


async def test_a_full_disk_fails_uploads_until_there_is_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        records = open_records(disk)
        try:
            await records.add_project(PROJECT)
            with filled_up(disk):
                await assert_every_upload_fails(records, PROJECT)
            await records.add_image(an_image(PROJECT))
        finally:
            await records.close()


def test_opening_in_a_read_only_folder_fails(tmp_path: Path) -> None:
    with read_only(tmp_path), pytest.raises(RecordsError):
        wiring.open_database(Settings(data_dir=tmp_path))


def test_opening_a_file_that_is_not_a_database_fails(tmp_path: Path) -> None:
    (tmp_path / "prshots.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(RecordsError, match="not a database"):
        wiring.open_database(Settings(data_dir=tmp_path))


async def test_a_worker_waits_while_another_process_migrates_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prshots.server.adapters.sql.database.database.BUSY_SECONDS", 0.01)
    monkeypatch.setattr("prshots.server.wiring.opening.PAUSE_SECONDS", 0.01)
    open_sqlite(tmp_path / "prshots.db").connect().close()
    with contextlib.closing(sqlite3.connect(tmp_path / "prshots.db", isolation_level=None)) as migrating:
        migrating.execute("BEGIN IMMEDIATE")
        opening = DatabaseOpening(Settings(data_dir=tmp_path))
        database = opening.begin(refuses_a_broken_file=True)
        assert "database is locked" in database.not_open
        migrating.execute("ROLLBACK")
    await eventually(lambda: not database.not_open, "the migration by this worker")
    await database.first(text("SELECT 1"))
    await database.close()


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


def pages(path: Path) -> tuple[int, int]:
    """Return how many pages the file has, and how many of them are free."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        counted = [
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")
        ]
    return counted[0], counted[1]


async def with_deleted_images(records: SqlRecords) -> Image:
    """Add many images and delete all but one, which is returned."""
    await records.add_project(PROJECT)
    images = [an_image(PROJECT, name="n" * 200) for _ in range(2500)]
    await asyncio.gather(*(records.add_image(image) for image in images))
    for start in range(1, len(images), 1000):
        await records.remove_images([image.id for image in images[start : start + 1000]])
    return images[0]


async def test_the_file_shrinks_when_images_are_deleted(records: SqlRecords, tmp_path: Path) -> None:
    kept = await with_deleted_images(records)
    large, free = pages(tmp_path / "prshots.db")
    assert free > large * 0.7
    given = await SqlUpkeep(records._database).reclaim_space(60)
    small, left = pages(tmp_path / "prshots.db")
    assert given == (large - small) * 4096
    assert left <= KEPT_FREE[0]
    assert (tmp_path / "prshots.db").stat().st_size == small * 4096
    assert await records.known_ids([kept.id]) == {kept.id}
    assert await SqlUpkeep(records._database).reclaim_space(60) == 0  # the rest is for new images


async def test_many_pages_are_given_back_in_one_transaction(records: SqlRecords, tmp_path: Path) -> None:
    await with_deleted_images(records)
    _, free = pages(tmp_path / "prshots.db")
    surplus = free - KEPT_FREE[0]
    assert 100 < surplus < STEP_PAGES
    assert await records._database.write(reclaim_some) == surplus * 4096


@pytest.mark.slow
async def test_uploads_go_on_while_the_file_shrinks(records: SqlRecords, tmp_path: Path) -> None:
    await with_deleted_images(records)
    other = open_records(tmp_path)
    new = [an_image(PROJECT) for _ in range(50)]
    giving = asyncio.create_task(SqlUpkeep(records._database).reclaim_space(60))
    for image in new:
        await other.add_image(image)
    assert await giving > 0
    assert len(await records.known_ids([image.id for image in new])) == len(new)
    await other.close()


def open_records_of_an_earlier_version(folder: Path) -> SqlRecords:
    """Create a file that can't shrink yet."""
    with contextlib.closing(sqlite3.connect(folder / "prshots.db")) as database:
        database.execute("PRAGMA auto_vacuum = NONE")
        database.execute("PRAGMA journal_mode = WAL")
    return open_records(folder)


async def test_a_file_of_an_earlier_version_is_rewritten_once_if_it_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = open_records_of_an_earlier_version(tmp_path)
    upkeep = SqlUpkeep(records._database)
    kept = await with_deleted_images(records)
    large, _ = pages(tmp_path / "prshots.db")
    monkeypatch.setattr("prshots.server.adapters.sql.database.free_pages.REWRITTEN_BYTES", 1000)
    assert await upkeep.reclaim_space(60) == 0
    assert pages(tmp_path / "prshots.db")[0] == large
    monkeypatch.undo()
    await upkeep.reclaim_space(60)
    assert pages(tmp_path / "prshots.db")[0] < large / 4
    assert await records.known_ids([kept.id]) == {kept.id}
    await records.add_image(an_image(PROJECT))
    await records.close()
    engine = open_sqlite(tmp_path / "prshots.db")
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA auto_vacuum")).scalar() == INCREMENTAL
    engine.dispose()


@pytest.mark.slow
async def test_a_large_file_of_an_earlier_version_is_rewritten_on_request(tmp_path: Path) -> None:
    records = open_records_of_an_earlier_version(tmp_path)
    await with_deleted_images(records)
    await records.close()
    large, small = wiring.rewrite_database(Settings(data_dir=tmp_path))
    assert small < large / 4
    with pytest.raises(SettingsError, match="PostgreSQL reuses the space"):
        wiring.rewrite_database(Settings(database_url="postgresql://u:swordfish@h/n"))
