"""`prshots backup` of a service under load, `prshots restore`, and what each refuses."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from prshots.contract.errors import PrshotsError
from prshots.server.backup.archive_members import members
from prshots.server.backup.create import back_up
from prshots.server.backup.restore import restore
from prshots.server.config.settings import Settings
from support.engine_servers import process_state
from support.service import PRSHOTS, Service, png, upload
from support.service_processes import (
    change_database,
    fetch,
    image_files,
    key_of,
    recorded_files,
    records,
    wait_until,
)
from support.stores_and_records import small_disk
from support.upload_load import UploadLoad

ID = "ab" * 16


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Back up a service with three images. Return the file, and the images' bytes by URL."""
    service = Service(tmp_path_factory.mktemp("backed-up")).start()
    try:
        with service.client(service.new_token()) as client:
            images = {
                upload(client, image).json()["view_url"]: image for image in (png(), png(), png(90_000))
            }
        backup = service.folder / "backup.tar"
        service.run("backup", str(backup))
    finally:
        service.stop()
    return backup, images


@pytest.fixture
def backup(backed_up: tuple[Path, dict[str, bytes]], tmp_path: Path) -> Path:
    """Copy that backup, so that the test can damage it."""
    copy = tmp_path / "backup.tar"
    copy.write_bytes(backed_up[0].read_bytes())
    return copy


def settings_of(service: Service, **others: str) -> Settings:
    return Settings(data_dir=service.data_dir, **{name.lower(): value for name, value in others.items()})


def precious_folder(tmp_path: Path) -> Path:
    """Make a folder that a planted link points to."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thing").write_text("precious")
    return tmp_path / "precious"


def refused(service: Service, command: str, file: str, **settings: str) -> str:
    """Run a backup or restore that must fail, and return its error message."""
    work = {"backup": back_up, "restore": restore}[command]
    with pytest.raises(PrshotsError) as raised:
        work(settings_of(service, **settings), Path(file))
    return str(raised.value)


def restored(service: Service, backup: Path) -> None:
    restore(settings_of(service), backup)


def put_in(service: Service, thumbnails_of: list[str]) -> None:
    """Add thumbnails to images, as viewing them would."""
    for image_id in thumbnails_of:
        (service.images_dir / image_id[:2] / f"{image_id}.thumb.webp").write_bytes(
            b"RIFF-" + image_id.encode()
        )
        change_database(service, "UPDATE images SET thumbnail = 'made' WHERE id = ?", image_id)


@pytest.mark.slow
def test_a_backup_made_under_load_restores_completely(service: Service, tmp_path: Path) -> None:
    service.settings["UPLOADS_PER_MINUTE"] = "1000000"
    token = service.start().new_token()
    with service.client(token) as client:
        put_in(service, [upload(client).json()["id"] for _ in range(3)])
    load = UploadLoad(token, 1, [service.base_url], [service.img_url])
    backup = tmp_path / "backup.tar"
    gone_before: set[str] = set()
    kept: set[str] = set()

    def back_it_up() -> None:
        wait_until(lambda: len(load.shots) > 60, "some images")
        before = list(load.shots)
        gone_before.update(shot.id for shot in load.gone)
        service.run("backup", str(backup))
        kept.update(shot.id for shot in before if not shot.may_be_gone)
        wait_until(lambda: len(load.shots) > len(before) + 10, "uploads to go on")

    load.run_during(back_it_up)
    assert not load.wrong
    service.stop()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".*"))

    other = Service(
        tmp_path / "other", service.settings, service.api_port, service.img_port, service.web_port
    )
    other.folder.mkdir()
    assert "Restored" in other.run("restore", str(backup)).stderr
    other.start()
    try:
        wait_until((other.images_dir / ".installation").exists, "the mark")
        swept = json.loads(other.run("sweep", "--json").stdout)
        assert (swept["failed"], swept["orphans"], swept["foreign_store"]) == (0, 0, False)
        there = {str(row[0]) for row in records(other, "id")}
        assert kept <= there
        assert not there & gone_before
        assert recorded_files(other) == {key for key in image_files(other) if "thumb" not in key}
        for shot in (shot for shot in load.shots if shot.id in there):
            reply = fetch(shot.view_url)  # signed before the backup
            assert reply.status_code == 200
            assert hashlib.sha256(reply.content).hexdigest() == shot.sha256
        assert thumbnails_are_there(other)
        with other.client(token) as client:
            assert upload(client).status_code == 200
    finally:
        other.stop()
    assert "Traceback" not in other.log


def thumbnails_are_there(service: Service) -> bool:
    made = [str(row[0]) for row in records(service, "id, thumbnail") if row[1] == "made"]
    paths = [service.images_dir / image_id[:2] / f"{image_id}.thumb.webp" for image_id in made]
    return bool(paths) and all(path.read_bytes() == b"RIFF-" + path.name[:32].encode() for path in paths)


@pytest.mark.slow
def test_an_image_deleted_during_the_backup_is_skipped(service: Service, tmp_path: Path) -> None:
    """The file is deleted, but its record is not: the restored service's next sweep deletes the record."""
    with service.start().client(service.new_token()) as client:
        gone, stays = (upload(client).json() for _ in range(2))
    service.stop()
    put_in(service, [stays["id"]])
    (service.images_dir / key_of(gone["view_url"])).unlink()
    (service.images_dir / stays["id"][:2] / f"{stays['id']}.thumb.webp").unlink()
    said = service.run("backup", str(tmp_path / "b.tar")).stderr
    assert "Backed up 1 images" in said
    assert "Skipped 1 deleted during the backup" in said

    other = Service(tmp_path / "other")
    restored(other, tmp_path / "b.tar")
    assert records(other, "id, scheduled_at IS NULL, thumbnail") == [
        (gone["id"], 0, None),
        (stays["id"], 1, None),
    ]
    other.run("sweep")
    assert records(other) == [(stays["id"],)]
    assert records(service, "scheduled_at") == [(None,), (None,)]  # the original is unchanged


def test_a_backup_to_standard_output_restores_the_same_data(
    service: Service, backed_up: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    backup, images = backed_up
    service.run("restore", str(backup))
    assert all((service.images_dir / key_of(url)).read_bytes() == image for url, image in images.items())
    assert stat.S_IMODE((service.data_dir / "signing-keys").stat().st_mode) == 0o600
    done = subprocess.run(
        [PRSHOTS, "backup", "-"], env=service.env, capture_output=True, timeout=60, check=True
    )
    (tmp_path / "again.tar").write_bytes(done.stdout)
    other = Service(tmp_path / "other")
    restored(other, tmp_path / "again.tar")
    for path in (path for path in service.data_dir.rglob("*") if path.is_file()):
        copy = other.data_dir / path.relative_to(service.data_dir)
        if path.suffix == ".db":
            assert dump(copy) == dump(path)
        elif path.name != "signing-keys.lock":
            assert copy.read_bytes() == path.read_bytes()


@contextlib.contextmanager
def reached(fifo: Path) -> Iterator[None]:
    """Wait until the FIFO has a reader, and keep the reader waiting."""
    opened: list[int] = []

    def has_a_reader() -> bool:
        with contextlib.suppress(OSError):  # ENXIO: no reader yet
            opened.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(has_a_reader, "a reader of the FIFO")
    yield
    os.close(opened[0])


def is_blocked_reading(pid: int, fifo: Path) -> bool:
    """Tell whether a process has opened the FIFO and sleeps."""
    try:
        has_opened = str(fifo) in map(os.readlink, Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:  # it closed another file just now
        return False
    return has_opened and process_state(pid) == "S"


def dump(database: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


class TestBackup:
    def test_without_a_database_is_refused(self, service: Service, tmp_path: Path) -> None:
        assert "there is no database" in refused(service, "backup", str(tmp_path / "b.tar"))
        assert not service.data_dir.exists()
        assert not list(tmp_path.glob("*b.tar*"))

    def test_of_postgresql_or_s3_is_refused_with_a_link_to_the_docs(
        self, service: Service, tmp_path: Path
    ) -> None:
        for settings in ({"DATABASE_URL": "postgresql://u:swordfish@h/n"}, {"STORE_URL": "s3://bucket/x"}):
            said = refused(service, "backup", str(tmp_path / "b.tar"), **settings)
            assert "docs/run/backup.md" in said
            assert "swordfish" not in said

    def test_to_a_folder_or_an_invalid_path_is_refused(self, service: Service, tmp_path: Path) -> None:
        assert "is a folder" in refused(service, "backup", str(tmp_path))
        assert "No such file" in refused(service, "backup", str(tmp_path / "no" / "b.tar"))
        assert "File name too long" in refused(service, "backup", str(tmp_path / ("b" * 250)))

    def test_without_signing_keys_is_refused(self, service: Service, backup: Path, tmp_path: Path) -> None:
        restored(service, backup)
        (service.data_dir / "signing-keys").unlink()
        assert "signing-keys" in refused(service, "backup", str(tmp_path / "b.tar"))
        assert not list(tmp_path.glob("*[!p].tar*"))
        assert not (service.data_dir / "signing-keys").exists()

    @pytest.mark.parametrize("room", ["60k", "300k"])
    def test_to_a_full_disk_fails_and_keeps_the_earlier_backup(
        self, service: Service, backup: Path, tmp_path: Path, room: str
    ) -> None:
        """60 kB is too little for the copy of the database, 300 kB for the images."""
        restored(service, backup)
        with small_disk(tmp_path / "disk", room) as disk:
            earlier = disk / "b.tar"
            earlier.write_bytes(b"an earlier one")
            assert "backup failed" in refused(service, "backup", str(earlier))
            assert {path.name for path in disk.iterdir()} == {"b.tar"}
            assert earlier.read_bytes() == b"an earlier one"

    def test_is_refused_while_another_runs_but_not_after_one_was_killed(
        self, service: Service, backup: Path, tmp_path: Path
    ) -> None:
        restored(service, backup)
        unfinished = tmp_path / ".b.tar.unfinished"
        unfinished.mkdir()
        lock = os.open(unfinished, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another prshots" in refused(service, "backup", str(tmp_path / "b.tar"))
        os.close(lock)
        (unfinished / "archive").write_bytes(b"of one that was killed")
        back_up(settings_of(service), tmp_path / "b.tar")
        assert not unfinished.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143), (signal.SIGINT, 130)]
    )
    def test_killed_halfway_leaves_no_backup_file(
        self, service: Service, backup: Path, tmp_path: Path, how: signal.Signals, code: int
    ) -> None:
        restored(service, backup)
        keys = service.data_dir / "signing-keys"
        keys.unlink()
        os.mkfifo(keys)  # reading it blocks, with all images in the archive
        target = tmp_path / "b.tar"
        process = subprocess.Popen([PRSHOTS, "backup", str(target)], env=service.env, stderr=subprocess.PIPE)
        with reached(keys):
            assert (tmp_path / ".b.tar.unfinished" / "archive").exists()
            # Python would not notice a signal that comes just before it blocks.
            wait_until(lambda: is_blocked_reading(process.pid, keys), "the process to read the FIFO")
            process.send_signal(how)
            _, said = process.communicate(timeout=60)
        assert process.returncode == code
        assert b"Traceback" not in said
        assert not target.exists()
        assert how == signal.SIGKILL or not list(tmp_path.glob(".b.tar*"))

    def test_through_a_planted_link_is_refused(self, service: Service, backup: Path, tmp_path: Path) -> None:
        restored(service, backup)
        target, precious = tmp_path / "b.tar", precious_folder(tmp_path)
        for name, place in ((".b.tar.unfinished", precious), ("b.tar", precious / "thing")):
            (tmp_path / name).symlink_to(place)
            assert "link" in refused(service, "backup", str(target))
            (tmp_path / name).unlink()
        os.mkfifo(target)
        assert "is not a file" in refused(service, "backup", str(target))
        target.unlink()
        unfinished = tmp_path / ".b.tar.unfinished"
        unfinished.mkdir()
        os.chown(unfinished, 65534, 65534)
        assert "belongs to another user" in refused(service, "backup", str(target))
        assert (precious / "thing").read_text() == "precious"

    def test_of_a_newer_schema_is_refused(self, service: Service, backup: Path, tmp_path: Path) -> None:
        restored(service, backup)
        change_database(service, "UPDATE alembic_version SET version_num = '9999'")
        change_database(service, "UPDATE installation SET oldest_schema = '9999'")
        assert "schema 9999" in refused(service, "backup", str(tmp_path / "b.tar"))

    def test_of_a_development_versions_schema_is_refused(
        self, service: Service, backup: Path, tmp_path: Path
    ) -> None:
        restored(service, backup)
        change_database(service, "UPDATE alembic_version SET version_num = '0009'")
        assert "schema 0009, of a development version" in refused(service, "backup", str(tmp_path / "b.tar"))

    def test_of_a_newer_schema_that_takes_this_version_can_be_made_and_restored(
        self, service: Service, backup: Path, tmp_path: Path
    ) -> None:
        restored(service, backup)
        change_database(service, "UPDATE alembic_version SET version_num = '9999'")
        service.run("backup", str(tmp_path / "newer.tar"))
        shutil.rmtree(service.data_dir)
        restored(service, tmp_path / "newer.tar")
        assert "has schema 9999" in service.run("migrate").stderr


class TestRestore:
    def test_into_a_folder_that_is_not_empty_is_refused(self, service: Service, backup: Path) -> None:
        service.data_dir.mkdir()
        (service.data_dir / "prshots.db").write_text("somebody's")
        done = service.run("restore", str(backup), check=False)
        assert done.returncode == 1
        (said,) = done.stderr.splitlines()
        assert "is not empty" in said
        assert "PRSHOTS_DATA_DIR" in said
        assert (service.data_dir / "prshots.db").read_text() == "somebody's"

    def test_ignores_lost_and_found_and_an_unfinished_restore(self, service: Service, backup: Path) -> None:
        with small_disk(service.data_dir, "8m"):
            (service.data_dir / "lost+found").mkdir()
            (service.data_dir / ".restoring").mkdir()  # left by a restore that was killed
            (service.data_dir / ".restoring" / "images").mkdir()
            restored(service, backup)
            assert len(image_files(service)) == 3
            assert not (service.data_dir / ".restoring").exists()

    def test_to_a_full_disk_fails_and_leaves_no_files(self, service: Service, backup: Path) -> None:
        with small_disk(service.data_dir, "100k"):
            said = refused(service, "restore", str(backup))
            assert "No space left" in said
            assert "free up space" in said
            assert list(service.data_dir.iterdir()) == []

    @pytest.mark.parametrize("left_off", [1, 600, 10_240, 60_000, 150_000])
    def test_of_a_truncated_backup_is_refused(self, service: Service, backup: Path, left_off: int) -> None:
        whole = backup.read_bytes().rstrip(b"\0")
        backup.write_bytes(whole[:-left_off])
        assert "not a complete prshots backup" in refused(service, "restore", str(backup))
        assert not service.data_dir.exists()

    def test_of_a_backup_with_a_changed_byte_is_refused(self, service: Service, backup: Path) -> None:
        whole = bytearray(backup.read_bytes())
        for position in (600, len(whole) // 2):
            spoiled = bytearray(whole)
            spoiled[position] ^= 1
            backup.write_bytes(spoiled)
            assert "is damaged" in refused(service, "restore", str(backup))
        assert not service.data_dir.exists()

    def test_of_a_file_that_is_not_a_backup_is_refused(self, service: Service, tmp_path: Path) -> None:
        other = tmp_path / "other"
        for content in (b"", b"text", bytes(20_000), os.urandom(20_000)):
            other.write_bytes(content)
            assert "not a complete prshots backup" in refused(service, "restore", str(other))
        assert "No such file" in refused(service, "restore", str(tmp_path / "missing"))
        assert "is not a file" in refused(service, "restore", str(tmp_path))
        os.mkfifo(tmp_path / "fifo")
        assert "is not a file" in refused(service, "restore", str(tmp_path / "fifo"))

    @pytest.mark.parametrize(
        "name",
        [
            "/etc/passwd",
            "../x",
            "images/../../x",
            "images/ab/x.png",
            f"images/cd/{ID}.png",
            f"images/ab/{ID}.exe",
        ],
    )
    def test_of_an_archive_with_an_unexpected_file_name_is_refused(
        self, service: Service, backup: Path, name: str
    ) -> None:
        remade(backup, tarfile.TarInfo(name))
        said = refused(service, "restore", str(backup))
        assert "not a prshots backup" in said
        assert repr(name) in said

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
    def test_of_an_archive_with_a_link_folder_or_fifo_is_refused(
        self, service: Service, backup: Path, kind: bytes
    ) -> None:
        member = tarfile.TarInfo(f"images/ab/{ID}.png")
        member.type, member.linkname = kind, "/etc/passwd"
        remade(backup, member)
        assert "not a prshots backup" in refused(service, "restore", str(backup))

    def test_of_an_archive_with_a_sparse_file_is_refused(self, service: Service, backup: Path) -> None:
        """Its few bytes would become a file of 800 MB."""
        name = f"images/ab/{ID}.png"
        member = tarfile.TarInfo(name)
        member.type = tarfile.GNUTYPE_SPARSE
        sound = backup.read_bytes()
        remade(backup, member)
        assert f"{name!r}, a sparse file" in refused(service, "restore", str(backup))
        member = tarfile.TarInfo(name)
        member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "800000000"}
        backup.write_bytes(sound)
        remade(backup, member)
        assert "a file with extended headers" in refused(service, "restore", str(backup))
        assert not service.data_dir.exists()

    @pytest.mark.parametrize("headers", [{"size": "-512"}, {"path": "../x"}, {"size": "1", "path": "x"}])
    def test_of_an_archive_with_other_extended_headers_is_refused(
        self, service: Service, backup: Path, headers: dict[str, str]
    ) -> None:
        member = tarfile.TarInfo(f"images/ab/{ID}.png")
        member.pax_headers = headers
        remade(backup, member)
        assert "a file with extended headers" in refused(service, "restore", str(backup))

    @pytest.mark.parametrize("size", [-512, 10**12])
    def test_of_an_archive_with_a_false_size_is_refused(
        self, service: Service, backup: Path, size: int
    ) -> None:
        whole = backup.read_bytes()
        header = tarfile.TarInfo.frombuf(whole[:512], "utf-8", "strict")
        header.size = size
        backup.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + whole[512:])
        assert "not a complete prshots backup" in refused(service, "restore", str(backup))

    def test_of_an_archive_with_more_images_than_its_manifest_is_refused(
        self, service: Service, backup: Path
    ) -> None:
        remade(backup, tarfile.TarInfo(f"images/ab/{ID}.png"))
        assert "its manifest does not match its images" in refused(service, "restore", str(backup))
        assert not service.data_dir.exists()

    def test_reads_a_file_over_8_gb(self, tmp_path: Path) -> None:
        member = tarfile.TarInfo("prshots.db")
        member.size = 9 * 1024**3
        archive = tmp_path / "large.tar"
        archive.write_bytes(member.tobuf(tarfile.PAX_FORMAT))
        os.truncate(archive, 1536 + member.size)  # a hole takes no space
        with archive.open("rb") as file:
            (found,) = members(file, archive.stat().st_size)
        assert (found.name, found.start, found.size) == ("prshots.db", 1536, member.size)

    def test_through_a_planted_link_is_refused(self, service: Service, backup: Path, tmp_path: Path) -> None:
        service.data_dir.mkdir()
        (service.data_dir / ".restoring").symlink_to(precious_folder(tmp_path))
        assert "is a link or a file" in refused(service, "restore", str(backup))
        assert (tmp_path / "precious" / "thing").exists()

    def test_of_an_archive_with_a_duplicate_file_is_refused(self, service: Service, backup: Path) -> None:
        remade(backup, tarfile.TarInfo("signing-keys"))
        assert "twice" in refused(service, "restore", str(backup))
        assert not service.data_dir.exists()

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"format": 2}, "newer"),
            ({"schema_version": "9999", "oldest_schema": "9999"}, "newer"),
            ({"schema_version": "0009", "oldest_schema": ""}, "schema 0009, of a development version"),
            ({"format": "1"}, "invalid manifest: format must be a whole number"),
            ({"installation_id": "../x"}, "invalid manifest: installation_id must be"),
        ],
    )
    def test_of_an_archive_with_a_newer_older_or_invalid_manifest_is_refused(
        self, service: Service, backup: Path, change: dict[str, object], word: str
    ) -> None:
        remade(backup, None, change)
        assert word in refused(service, "restore", str(backup))

    def test_is_refused_if_a_setting_places_data_outside_the_data_folder(
        self, service: Service, backup: Path, tmp_path: Path
    ) -> None:
        for settings in (
            {"DATABASE_URL": f"sqlite:///{tmp_path}/x.db"},
            {"DATABASE_URL": "postgresql://u:swordfish@h/n"},
            {"STORE_URL": "file:///elsewhere"},
            {"SIGNING_KEYS_FILE": "/elsewhere"},
        ):
            said = refused(service, "restore", str(backup), **settings)
            assert f"PRSHOTS_{next(iter(settings))}" in said
            assert "swordfish" not in said


def remade(backup: Path, added: tarfile.TarInfo | None, change: dict[str, object] | None = None) -> None:
    """Rewrite an archive with another member or a changed manifest, and with a valid checksum."""
    with tarfile.open(backup) as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]
    (last, text), out = members.pop(), io.BytesIO()
    new = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed below
    for member, content in members:
        new.addfile(member, io.BytesIO(content))
    if added:
        new.addfile(added)
    manifest = json.loads(text) | {"sha256": hashlib.sha256(out.getvalue()).hexdigest()} | (change or {})
    text = json.dumps(manifest).encode()
    last.size = len(text)
    new.addfile(last, io.BytesIO(text))
    new.close()
    backup.write_bytes(out.getvalue())
