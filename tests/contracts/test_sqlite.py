"""SQLite when it fails: whatever happens below, only our own errors come up."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from parts import NOW, a_project, a_token, an_image, filled_up, open_records, read_only, small_disk
from prshots import wiring
from prshots.errors import RecordsError, RecordsFullError
from prshots.models import LOCAL_ORGANIZATION, Project
from prshots.settings import Settings
from prshots.stores.engine import Database, open_sqlite
from prshots.stores.sql import SqlRecords

PROJECT = a_project()
EVERY_CALL: dict[str, Callable[[SqlRecords], Awaitable[object]]] = {
    "add_image": lambda records: records.add_image(an_image(PROJECT)),
    "image": lambda records: records.image(PROJECT.id, "0" * 32),
    "images_of_pr": lambda records: records.images_of_pr(PROJECT.id, 7, 10),
    "schedule": lambda records: records.schedule(["0" * 32], NOW),
    "close_pr": lambda records: records.close_pr(PROJECT.id, 7, NOW, schedule=True),
    "scheduled": lambda records: records.scheduled("", 10),
    "schedule_due": lambda records: records.schedule_due(NOW, 10),
    "remove_images": lambda records: records.remove_images(["0" * 32]),
    "known_ids": lambda records: records.known_ids(["0" * 32]),
    "installation_id": lambda records: records.installation_id(),
    "count_signed_with": lambda records: records.count_signed_with("k1"),
    "add_project": lambda records: records.add_project(PROJECT),
    "project": lambda records: records.project(PROJECT.name, LOCAL_ORGANIZATION),
    "projects": lambda records: records.projects(),
    "change_project": lambda records: records.change_project(PROJECT),
    "retire_project": lambda records: records.retire_project(PROJECT.id, NOW, 10),
    "remove_project": lambda records: records.remove_project(PROJECT.id),
    "set_thumbnail": lambda records: records.set_thumbnail("0" * 32, "made"),
    "add_token": lambda records: records.add_token(a_token(PROJECT)),
    "project_of_token": lambda records: records.project_of_token("0" * 64),
    "tokens": lambda records: records.tokens(PROJECT.id),
    "revoke_token": lambda records: records.revoke_token("0", NOW),
    "touch_token": lambda records: records.touch_token("0", NOW),
}


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[SqlRecords]:
    opened = open_records(tmp_path)
    yield opened
    await opened.close()


async def test_with_its_tables_dropped(records: SqlRecords, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "prshots.db") as database:
        for table in ("images", "tokens", "projects", "organizations", "installation"):
            database.execute(f"DROP TABLE {table}")
    database.close()
    for call in EVERY_CALL.values():
        with pytest.raises(RecordsError, match="no such table"):
            await call(records)


async def test_every_call_of_the_port_is_tried_above() -> None:
    public = {name for name in vars(SqlRecords) if not name.startswith("_")}
    assert set(EVERY_CALL) == public - {"close"}


async def test_with_text_that_is_not_unicode(records: SqlRecords) -> None:
    with pytest.raises(RecordsError, match="not Unicode"):
        await records.project("\udcff", LOCAL_ORGANIZATION)


async def test_on_a_full_disk_and_with_room_again(tmp_path: Path) -> None:
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
    """Each of a batch hears of it. The journal has a little room of its own, so the first ones may fit in."""
    outcomes: list[BaseException | None] = []
    for _ in range(20):
        outcomes = await asyncio.gather(
            *(records.add_image(an_image(project)) for _ in range(20)), return_exceptions=True
        )
        if all(outcomes):
            break
    assert {type(outcome) for outcome in outcomes} == {RecordsFullError}


def test_in_a_read_only_folder(tmp_path: Path) -> None:
    with read_only(tmp_path), pytest.raises(RecordsError):
        wiring.open_records(Settings(data_dir=tmp_path))


def test_over_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "prshots.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(RecordsError, match="not a database"):
        wiring.open_records(Settings(data_dir=tmp_path))


@pytest.mark.parametrize("name", ["what?mode=memory", "50%41", "a#b", "späce d"])
def test_a_path_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    open_sqlite(tmp_path / name / "prshots.db").connect().close()
    assert (tmp_path / name / "prshots.db").exists()


def test_a_commit_survives_a_power_cut(tmp_path: Path) -> None:
    """It cannot be cut here, but these two are how SQLite promises it."""
    engine = open_sqlite(tmp_path / "prshots.db")
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
    engine.dispose()


@pytest.mark.parametrize("call", EVERY_CALL.values(), ids=EVERY_CALL)
async def test_a_connection_that_cannot_be_opened(
    tmp_path: Path, call: Callable[[SqlRecords], Awaitable[object]]
) -> None:
    (tmp_path / "prshots.db").write_bytes(b"no such thing " * 500)
    records = SqlRecords(Database(open_sqlite(tmp_path / "prshots.db")))
    with pytest.raises(RecordsError, match="file is not a database"):
        await call(records)
    await records.close()
