"""`prshots move` from and to every engine, in this process. Kills are in tests/e2e/test_drills.py."""

import hashlib
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from prshots.contract.errors import InvalidInputError, MovedError, MoveError, RecordsError
from prshots.contract.object_names import OWNER_MARK, origin_key
from prshots.contract.replies import Uploaded
from prshots.server import wiring
from prshots.server.adapters.sql import columns
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.schema import images, metadata
from prshots.server.adapters.sql.move.change_log import changes_in
from prshots.server.adapters.sql.move.move_state import read_state
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.backup.create import back_up
from prshots.server.backup.restore import restore
from prshots.server.config.settings import Settings
from prshots.server.domain.images.models import Image, KeptReply
from prshots.server.domain.projects.models import Project
from prshots.server.move import MoveReport, Progress, steps
from prshots.server.move.estimate import estimate
from prshots.server.move.plan import MovePlan, settings_to_use
from prshots.server.move.source import open_source
from prshots.server.move.steps import move
from support import neighbor
from support.engine_servers import PostgreSQL, SeaweedFS
from support.stores_and_records import SqlRecords, a_pair, a_project, a_token, an_image, put_migrated_sqlite


@pytest.fixture
def place(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Settings]:
    """Return new settings for a database and a store of a kind."""

    def make(kind: str) -> Settings:
        folder = tmp_path / secrets.token_hex(4)
        if kind == "embedded":
            return Settings(data_dir=folder)
        postgresql: PostgreSQL = request.getfixturevalue("postgresql")
        seaweedfs: SeaweedFS = request.getfixturevalue("seaweedfs")
        for name, value in seaweedfs.credentials.items():
            monkeypatch.setenv(name, value)
        return Settings(
            data_dir=folder,
            database_url=postgresql.new_database(),
            store_url=seaweedfs.new_store_url(),
        )

    return make


_ALONE = (
    *("decisions", "asked_pairs", "quarantines", "branch_pixels", "connections", "outbox"),
    *("audit_log", "organization_groups", "user_groups", "invitation_links", "share_links"),
    *("webhooks", "webhook_deliveries", "usage_by_day"),
)
"""Tables without foreign keys, so their rows need no project."""


def _bytes_of(image: Image) -> bytes:
    return image.id.encode() * 10


class _Shop:
    """An installation with some images, and what a service does to it."""

    images: list[Image]

    def __init__(self, settings: Settings, project: Project | None = None) -> None:
        self.settings = settings
        self.project = project or a_project()
        if settings.on_sqlite and not settings.database_path.exists():
            settings.data_dir.mkdir(parents=True, exist_ok=True)
            put_migrated_sqlite(settings.data_dir)
        self.store = wiring.open_store(settings)
        self.records = SqlRecords(wiring.open_database(settings))

    async def fill(self, count: int) -> list[Image]:
        await self.store.owner(await SqlUpkeep(self.records._database).installation_id())
        await self.records.add_project(self.project)
        await self.records.add_token(a_token(self.project))
        added = [await self.upload() for _ in range(count)]
        known = [(added[0].shot, added[0].sha256 or "")]
        assert await self.records.add_references(self.project.id, 7, "d" * 40, known, 1) == [True]
        await self.records.keep_reply(KeptReply(self.project.id, "key", Uploaded("0", "http://img", "!"), 1))
        with self.records._database.engine.begin() as connection:
            for table in _ALONE:
                connection.execute(insert(metadata.tables[table]), neighbor._rows()[table])
        after, before = a_pair(self.project)
        for image in (after, before):
            await self.store.put(image.key, [_bytes_of(image)])
        await self.records.add_image(after, "", before)
        return [*added, after, before]

    async def upload(self, **changes: object) -> Image:
        image = an_image(self.project, **changes)
        data = _bytes_of(image)
        image = image._replace(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        await self.store.put(image.key, [data])
        await self.records.add_image(image)
        return image

    async def thumbnail(self, image: Image) -> None:
        await self.store.put(origin_key(image.id, "thumb.webp"), [secrets.token_bytes(9)])
        assert await self.records.set_thumbnail(image.id, "made")

    async def closeups(self, image: Image, count: int) -> None:
        for key in (image.diff_key, *image.closeup_keys[:count]):
            await self.store.put(key, [secrets.token_bytes(9)])
        assert await SqlComparisons(self.records._database).set_diff(image.id, image.id)

    async def delete(self, image: Image) -> None:
        await self.records.schedule([image.id], 1)
        await self.store.delete(image.keys)
        await self.records.remove_images([image.id])

    async def close(self) -> None:
        await self.records.close()
        self.store.close()


def _rows(settings: Settings) -> dict[str, list[tuple[object, ...]]]:
    with open_source(settings) as opened, opened.engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
        }


async def _objects(settings: Settings) -> dict[str, bytes | None]:
    with closing(wiring.open_store(settings)) as store:
        shards = [f"{number:02x}" for number in range(256)]
        keys = [key for shard in shards for key in await store.sizes(shard)]
        return {key: await store.read(key) for key in [*keys, OWNER_MARK]}


def _plan(source: Settings, target: Settings) -> MovePlan:
    return MovePlan.of(source, target.database_url, target.store_url)


async def _move(
    plan: MovePlan, during: Callable[[Progress], None] = lambda _: None, **options: bool
) -> MoveReport:
    return await move(plan, during, **options)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("embedded", "embedded"),
        pytest.param("embedded", "shared", marks=pytest.mark.slow),
        pytest.param("shared", "embedded", marks=pytest.mark.slow),
    ],
)
async def test_moves_everything_including_later_changes(
    one: str, other: str, place: Callable[[str], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = place(one), place(other)
    shop = _Shop(source)
    filled = await shop.fill(12)
    await shop.thumbnail(filled[0])
    await shop.closeups(filled[0], 2)
    await shop.delete(filled[1])
    following, seen = steps.MoveSteps._follow, []

    async def follow(self: steps.MoveSteps) -> None:
        """Change something before every round."""
        step = len(seen)
        seen.append(step)
        if step in {0, 3, 6, 9}:
            await shop.delete(filled[2 + len(late)])
            late.append(await shop.upload(name=f"late {step}"))
            await shop.thumbnail(late[-1])
            await shop.closeups(late[-1], 1)
            await shop.thumbnail(filled[0])  # new bytes of the same size
        await following(self)

    late: list[Image] = []
    monkeypatch.setattr(steps.MoveSteps, "_follow", follow)
    report = await _move(_plan(source, target), verify=True)
    assert len(late) == 4
    assert _rows(source) == _rows(target)
    assert all(_rows(target)[table] for table in _ALONE)
    expected = await _objects(source)
    assert await _objects(target) == expected
    assert len(expected) == 12 + 2 - 1 - 4 + 4 * 4 + 4 + 1
    assert report.changes > 4
    assert not report.missing
    assert not report.damaged
    await shop.close()
    # The target is in use: its next numbers are higher. The source refuses.
    moved = _Shop(target, shop.project)
    newest = await moved.upload()
    with open_source(target) as opened, opened.engine.connect() as connection:
        assert read_state(connection) is None
        seqs = dict(connection.execute(select(images.c.id, images.c.seq)).all())
    assert max(seqs.values()) == seqs[newest.id]
    await moved.close()
    with pytest.raises(MovedError, match="the data was moved: set PRSHOTS_DATABASE_URL to "):
        wiring.open_database(source)
    assert (await _move(_plan(source, target))).was_done


@asynccontextmanager
async def _running(settings: Settings) -> AsyncIterator[_Shop]:
    """Open an installation with five images."""
    shop = _Shop(settings)
    try:
        shop.images = await shop.fill(3)
        yield shop
    finally:
        await shop.close()


@pytest.fixture
async def shop(place: Callable[[str], Settings]) -> AsyncIterator[_Shop]:
    """Open an embedded installation with five images."""
    async with _running(place("embedded")) as running:
        yield running


@pytest.fixture
def target(place: Callable[[str], Settings]) -> Settings:
    """Return settings for an embedded installation that does not exist yet."""
    return place("embedded")


def _interrupt(phase: str) -> Callable[[Progress], None]:
    """Return what raises RecordsError in this phase."""

    def show(progress: Progress) -> None:
        if progress.phase == phase:
            raise RecordsError("the server is gone")

    return show


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["embedded", "shared"])
async def test_moves_the_store_alone_and_refuses_processes_that_use_the_old_one(
    kind: str, place: Callable[[str], Settings]
) -> None:
    source, other = place(kind), place(kind)
    async with _running(source) as shop:
        plan = MovePlan.of(source, None, other.store_url)
        await _move(plan)
        assert await _objects(plan.target) == await _objects(source)
        with pytest.raises(
            MovedError, match=f"the images were moved: set PRSHOTS_STORE_URL to {plan.store_place}"
        ):
            await shop.upload()
        assert (await shop.store.read(shop.images[0].key)) is not None  # reads go on
        await shop.records.add_token(a_token(shop.project))  # and what has no bytes
        with pytest.raises(MovedError, match="the images were moved"):
            wiring.open_database(source)
        now = _Shop(plan.target, shop.project)
        await now.delete(shop.images[0])
        await now.upload()
        # And on: the next move starts from there.
        third = MovePlan.of(plan.target, None, place(kind).store_url)
        await _move(third)
        assert await _objects(third.target) == await _objects(plan.target)
        with pytest.raises(MovedError):
            await now.upload()
        await now.close()


@pytest.mark.slow
async def test_continues_after_an_error_without_copying_again(
    shop: _Shop, target: Settings, place: Callable[[str], Settings]
) -> None:
    source, plan = shop.settings, _plan(shop.settings, target)
    phases = ("Copying records", "Copying images", "Checking records", "Checking images", "Catching up")
    for phase in phases:
        with pytest.raises(RecordsError, match="the server is gone"):
            await _move(plan, _interrupt(phase))
        await shop.thumbnail(shop.images[1])
    with pytest.raises(MovedError, match="has not finished filling this database"):
        wiring.open_database(target)
    with pytest.raises(MoveError, match="is under way: give the same options, or run"):
        await _move(_plan(source, place("embedded")))
    await shop.delete(shop.images[0])
    late = await shop.upload()
    report = await _move(plan)
    assert report.objects == 2  # only the new one and the last thumbnail
    assert report.files == 6
    assert _rows(source) == _rows(target)
    copied = await _objects(target)
    assert late.key in copied
    assert shop.images[0].key not in copied


async def test_an_image_that_got_the_number_of_a_deleted_one_is_copied_once(
    shop: _Shop, target: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", 1)
    plan = MovePlan.of(shop.settings, target.database_url, None)
    last = await shop.upload()
    with pytest.raises(RecordsError, match="the server is gone"):
        await _move(plan, _interrupt("Checking records"))
    await shop.delete(last)
    new = await shop.upload()
    numbers = {row[1]: row[0] for row in _rows(shop.settings)["images"]}
    assert numbers[new.id] == max(numbers.values())
    await _move(plan)
    assert _rows(shop.settings) == _rows(plan.target)


@pytest.mark.slow
async def test_gives_up_on_a_stop_that_takes_too_long(
    shop: _Shop, target: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan(shop.settings, target)
    monkeypatch.setattr(steps, "STOP_SECONDS", 0.0)
    monkeypatch.setattr(steps, "LAST_STOP_SECONDS", 0.0)
    with pytest.raises(MoveError, match="nothing was switched: run the same command again"):
        await _move(plan)
    await shop.upload()
    monkeypatch.setattr(steps, "LAST_STOP_SECONDS", 3600.0)
    await _move(plan)
    assert _rows(shop.settings) == _rows(target)


@pytest.mark.slow
async def test_an_upgrade_in_between_ends_the_move(shop: _Shop, target: Settings) -> None:
    def upgrade(progress: Progress) -> None:
        if progress.phase == "Catching up":
            with closing(sqlite3.connect(shop.settings.database_path)) as database, database:
                database.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(MoveError, match="the database has schema 9999, from a newer version of prshots"):
        await _move(_plan(shop.settings, target), upgrade)
    with closing(sqlite3.connect(shop.settings.database_path)) as database, database:
        assert database.execute("SELECT phase FROM move_state").fetchall() == [("copying",)]


@pytest.mark.slow
def test_a_change_that_is_committed_late_is_not_forgotten(place: Callable[[str], Settings]) -> None:
    """PostgreSQL numbers entries before they are committed. An earlier one can appear after a later one."""
    settings, target = place("shared"), place("shared")
    wiring.open_database(settings).engine.dispose()
    adding = "INSERT INTO organizations (id, name) VALUES ('{0}', '{0}')"
    with open_source(settings) as source:
        state = source.begin(_plan(settings, target))
        with source.engine.begin() as slow:
            slow.exec_driver_sql(adding.format("slow"))
            with source.engine.begin() as fast:
                fast.exec_driver_sql(adding.format("fast"))
            with source.snapshot() as snapshot:
                seen = changes_in(snapshot)
            assert seen.keys == {"organizations": {("fast",)}}
        source.forget(seen, state)
        with source.snapshot() as snapshot:
            assert changes_in(snapshot).keys == {"organizations": {("slow",)}}
        source.cancel()


@pytest.mark.slow
async def test_reports_broken_images_of_the_source(shop: _Shop, target: Settings) -> None:
    missing, damaged = shop.images[0].key, shop.images[1].key
    await shop.store.delete([missing])
    await shop.store.put(damaged, [b"other bytes"])
    report = await _move(_plan(shop.settings, target), verify=True)
    assert list(report.missing) == [missing]
    assert list(report.damaged) == [damaged]
    assert (await _objects(target))[damaged] == b"other bytes"


async def test_refuses_a_target_in_use(
    shop: _Shop, target: Settings, place: Callable[[str], Settings]
) -> None:
    source, used = shop.settings, place("embedded")
    async with _running(used):
        before = _rows(used), await _objects(used)
        with pytest.raises(MoveError, match="has data already"):
            await _move(_plan(source, used))
        with pytest.raises(MoveError, match="has data already"):
            await estimate(_plan(source, used))
        with pytest.raises(MoveError, match=r"belongs to another installation|has images already"):
            await _move(MovePlan.of(source, target.database_url, used.store_url))
        assert before == (_rows(used), await _objects(used))
        wiring.open_database(source).engine.dispose()  # no move has begun


async def test_refuses_a_second_move_at_the_same_time(shop: _Shop, target: Settings) -> None:
    with (
        open_source(shop.settings) as held,
        held.lock(shop.settings),
        pytest.raises(MoveError, match="another `prshots move` process is using"),
    ):
        await _move(_plan(shop.settings, target))


@pytest.mark.slow
async def test_cancel_makes_the_source_usable_again(shop: _Shop, target: Settings) -> None:
    await _move(_plan(shop.settings, target))
    with open_source(shop.settings) as opened:
        assert opened.cancel() is not None
        assert opened.cancel() is None
    await shop.upload()
    with open_source(shop.settings) as opened, opened.engine.connect() as connection:
        left = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name LIKE 'move%'").all()
    assert left == []


@pytest.mark.slow
async def test_moves_the_database_alone_and_a_backup_of_the_old_one_accepts_writes(
    shop: _Shop, target: Settings, place: Callable[[str], Settings], tmp_path: Path
) -> None:
    source, restored = shop.settings, place("embedded")
    wiring.key_file(source).create_if_missing()
    report = await _move(MovePlan.of(source, target.database_url, None))
    assert (report.objects, report.tables["images"]) == (0, 6)
    with pytest.raises(MovedError, match="the data was moved: set PRSHOTS_DATABASE_URL to "):
        await shop.upload()
    with pytest.raises(MovedError):  # not a conflict with another project's name
        await shop.records.add_project(a_project())
    await shop.store.delete([shop.images[0].key])  # so that the backup changes its copy of the records
    back_up(source, tmp_path / "backup.tar")
    restore(restored, tmp_path / "backup.tar")
    again = _Shop(restored, shop.project)
    await again.upload()
    await again.close()


async def test_a_dry_run_changes_nothing(shop: _Shop, target: Settings) -> None:
    found = await estimate(_plan(shop.settings, target))
    assert (found.images, found.sampled) == (5, 5)
    assert found.rows > 5
    assert found.seconds > 0
    assert not target.database_path.exists()
    assert await _objects(target) == {OWNER_MARK: None}
    wiring.open_database(shop.settings).engine.dispose()


def test_settings_to_use_have_no_password(tmp_path: Path) -> None:
    source = Settings(data_dir=tmp_path)
    plan = MovePlan.of(
        source, "postgresql://prshots:s3cr3t%40@db:5432/prshots?sslmode=require", "s3://shots/a"
    )
    assert settings_to_use(plan) == {
        "PRSHOTS_DATABASE_URL": "postgresql://prshots:…@db:5432/prshots?sslmode=require",
        "PRSHOTS_STORE_URL": "s3://shots/a",
    }


@pytest.mark.parametrize(
    ("database", "store", "told"),
    [
        (None, None, "give --to-database, --to-store or both"),
        ("mysql://x", None, "--to-database: got 'mysql://"),
        (None, "ftp://x", "--to-store: got 'ftp://"),
        ("sqlite:///{0}/prshots.db", None, "--to-database: the records are in .* already"),
        (None, "file://{0}/images", "--to-store: the images are in .* already"),
    ],
)
def test_refuses_an_invalid_address(
    database: str | None, store: str | None, told: str, tmp_path: Path
) -> None:
    database, store = (url and url.format(tmp_path) for url in (database, store))
    with pytest.raises(InvalidInputError, match=told):
        MovePlan.of(Settings(data_dir=tmp_path), database, store)
