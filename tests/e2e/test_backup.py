"""`prshots backup` and `prshots check` of a service under load, `prshots restore`, and what they refuse."""

import asyncio
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
from collections.abc import Callable
from pathlib import Path

import pytest

from prshots.contract.errors import PrshotsError
from prshots.server import wiring
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.backup.create import back_up
from prshots.server.backup.restore import members, restore
from prshots.server.config.settings import Settings
from support.engine_servers import process_state
from support.service import PRSHOTS, Service, png, upload
from support.service_processes import (
    change_database,
    fetch,
    image_files,
    recorded_files,
    records,
    wait_until,
)
from support.stores_and_records import a_project, an_image, open_records, small_disk
from support.upload_load import UploadLoad

ID = "ab" * 16
IMAGE = f"images/ab/{ID}.png"


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Back up an installation with three images. Return the file, and the images' bytes by key."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("backed-up"))
    images: dict[str, bytes] = {}

    async def fill() -> None:
        records, store, project = open_records(settings.data_dir), DiskStore(settings.store_path), a_project()
        await records.add_project(project)
        for content in (png(), png(), png(90_000)):
            image = an_image(project, sha256=hashlib.sha256(content).hexdigest())
            images[image.key] = content
            await store.put(image.key, [content])
            await records.add_image(image)
        # A reference has no bytes, and the archive doesn't contain its thumbnail.
        source, *_ = await records.images_of_pr(project.id, 7, 3)
        known = [(source.shot, source.sha256 or "")]
        assert await records.add_references(project.id, 7, "d" * 40, known, 1) == [True]
        (reference,) = await records.references_to(source.id)
        await store.put(reference.thumbnail_key, [b"thumbnail"])
        assert await records.set_thumbnail(reference.id, "made")
        await records.close()
        store.close()

    asyncio.run(fill())
    wiring.key_file(settings).create_if_missing()
    backup = settings.data_dir / "backup.tar"
    back_up(settings, backup)
    return backup, images


@pytest.fixture
def backup(backed_up: tuple[Path, dict[str, bytes]], tmp_path: Path) -> Path:
    """Copy that backup, so that the test can damage it."""
    copy = tmp_path / "backup.tar"
    copy.write_bytes(backed_up[0].read_bytes())
    return copy


@pytest.fixture
def backed_up_service(service: Service, backup: Path) -> Service:
    """Return a service, not started, with the data of that backup."""
    restored(service, backup)
    return service


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
def test_a_busy_service_has_no_differences_and_its_backup_restores_completely(
    service: Service, tmp_path: Path
) -> None:
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
        for _ in range(5):
            assert json.loads(service.run("check", "--repair", "--json").stdout)["findings"] == []
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


def test_an_image_deleted_during_the_backup_is_skipped(backed_up_service: Service, tmp_path: Path) -> None:
    """The file is deleted, but its record is not: the restored service's next sweep deletes the record."""
    service = backed_up_service
    gone, stays, _, reference = (str(row[0]) for row in records(service))
    put_in(service, [stays])
    next(service.images_dir.glob(f"*/{gone}.png")).unlink()
    next(service.images_dir.glob(f"*/{stays}.thumb.webp")).unlink()
    said = service.run("backup", str(tmp_path / "b.tar")).stderr
    assert "Backed up 2 images" in said
    assert "Skipped 1 deleted during the backup" in said

    other = Service(tmp_path / "other")
    restored(other, tmp_path / "b.tar")
    found = records(other, "id, scheduled_at IS NULL, thumbnail")
    assert [found[0], found[1], found[3]] == [(gone, 0, None), (stays, 1, None), (reference, 0, None)]
    other.run("sweep")
    assert gone not in {row[0] for row in records(other)}
    assert set(records(service, "scheduled_at")) == {(None,)}  # the original is unchanged


def test_a_backup_to_standard_output_restores_the_same_data(
    service: Service, backed_up: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    backup, images = backed_up
    service.run("restore", str(backup))
    assert all((service.images_dir / key).read_bytes() == image for key, image in images.items())
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
        elif path.name != "signing-keys.lock" and not path.name.startswith("prshots.db-"):
            assert copy.read_bytes() == path.read_bytes()


def is_blocked_reading(pid: int, fifo: Path) -> bool:
    """Tell whether a process has opened the FIFO and sleeps."""
    try:
        has_opened = str(fifo) in map(os.readlink, Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:  # it closed another file just now
        return False
    return has_opened and process_state(pid) == "S"


def dump(database: Path) -> list[str]:
    """Return the content, except for the audit log, which records each restore."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return [
            line for line in connection.iterdump() if '"audit_log"' not in line and "'audit_log'" not in line
        ]


class TestBackup:
    @pytest.mark.parametrize(
        ("target", "settings", "message"),
        [
            ("b.tar", {}, "there is no database"),
            ("b.tar", {"DATABASE_URL": "postgresql://u:swordfish@h/n"}, "docs/run/backup.md"),
            ("b.tar", {"STORE_URL": "s3://bucket/x"}, "docs/run/backup.md"),
            (".", {}, "is a folder"),
            ("no/b.tar", {}, "No such file"),
            ("b" * 250, {}, "File name too long"),
        ],
    )
    def test_backup_of_nothing_or_of_other_engines_or_to_an_invalid_path_is_refused(
        self, service: Service, tmp_path: Path, target: str, settings: dict[str, str], message: str
    ) -> None:
        said = refused(service, "backup", str(tmp_path / target), **settings)
        assert message in said
        assert "swordfish" not in said
        assert not service.data_dir.exists()
        assert not list(tmp_path.glob("*b.tar*"))

    def test_backup_without_signing_keys_is_refused(self, backed_up_service: Service, tmp_path: Path) -> None:
        keys = backed_up_service.data_dir / "signing-keys"
        keys.unlink()
        assert "signing-keys" in refused(backed_up_service, "backup", str(tmp_path / "b.tar"))
        assert not list(tmp_path.glob("*[!p].tar*"))
        assert not keys.exists()

    @pytest.mark.parametrize("room", ["60k", "300k"])
    def test_backup_to_a_full_disk_fails_and_keeps_the_earlier_backup(
        self, backed_up_service: Service, tmp_path: Path, room: str
    ) -> None:
        """60 kB is too little for the copy of the database, 300 kB for the images."""
        with small_disk(tmp_path / "disk", room) as disk:
            earlier = disk / "b.tar"
            earlier.write_bytes(b"an earlier one")
            assert "backup failed" in refused(backed_up_service, "backup", str(earlier))
            assert {path.name for path in disk.iterdir()} == {"b.tar"}
            assert earlier.read_bytes() == b"an earlier one"

    def test_backup_is_refused_while_another_runs_but_not_after_one_was_killed(
        self, backed_up_service: Service, tmp_path: Path
    ) -> None:
        unfinished = tmp_path / ".b.tar.unfinished"
        unfinished.mkdir()
        lock = os.open(unfinished, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another prshots" in refused(backed_up_service, "backup", str(tmp_path / "b.tar"))
        os.close(lock)
        (unfinished / "archive").write_bytes(b"of one that was killed")
        back_up(settings_of(backed_up_service), tmp_path / "b.tar")
        assert not unfinished.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143), (signal.SIGINT, 130)]
    )
    def test_backup_killed_halfway_leaves_no_backup_file(
        self, backed_up_service: Service, tmp_path: Path, how: signal.Signals, code: int
    ) -> None:
        keys = backed_up_service.data_dir / "signing-keys"
        keys.unlink()
        os.mkfifo(keys)
        fifo = os.open(keys, os.O_RDWR)  # reading it blocks, with all images in the archive
        target = tmp_path / "b.tar"
        process = subprocess.Popen(
            [PRSHOTS, "backup", str(target)], env=backed_up_service.env, stderr=subprocess.PIPE
        )
        # Python would not notice a signal that comes just before it blocks.
        wait_until(lambda: is_blocked_reading(process.pid, keys), "the process to read the FIFO")
        assert (tmp_path / ".b.tar.unfinished" / "archive").exists()
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
        os.close(fifo)
        assert process.returncode == code
        assert b"Traceback" not in said
        assert not target.exists()
        assert how == signal.SIGKILL or not list(tmp_path.glob(".b.tar*"))

    def test_backup_through_a_planted_link_is_refused(
        self, backed_up_service: Service, tmp_path: Path
    ) -> None:
        target, precious = tmp_path / "b.tar", precious_folder(tmp_path)
        for name, place in ((".b.tar.unfinished", precious), ("b.tar", precious / "thing")):
            (tmp_path / name).symlink_to(place)
            assert "link" in refused(backed_up_service, "backup", str(target))
            (tmp_path / name).unlink()
        os.mkfifo(target)
        assert "is not a file" in refused(backed_up_service, "backup", str(target))
        target.unlink()
        unfinished = tmp_path / ".b.tar.unfinished"
        unfinished.mkdir()
        os.chown(unfinished, 65534, 65534)
        assert "belongs to another user" in refused(backed_up_service, "backup", str(target))
        assert (precious / "thing").read_text() == "precious"

    @pytest.mark.parametrize(
        ("version", "oldest", "message"),
        [("9999", "9999", "schema 9999"), ("0009", "", "schema 0009, of a development version")],
    )
    def test_backup_of_a_newer_or_development_schema_is_refused(
        self, backed_up_service: Service, tmp_path: Path, version: str, oldest: str, message: str
    ) -> None:
        change_database(backed_up_service, "UPDATE alembic_version SET version_num = ?", version)
        change_database(backed_up_service, "UPDATE installation SET oldest_schema = ?", oldest)
        assert message in refused(backed_up_service, "backup", str(tmp_path / "b.tar"))

    def test_backup_of_a_newer_schema_that_takes_this_version_can_be_made_and_restored(
        self, backed_up_service: Service, tmp_path: Path
    ) -> None:
        change_database(backed_up_service, "UPDATE alembic_version SET version_num = '9999'")
        backed_up_service.run("backup", str(tmp_path / "newer.tar"))
        shutil.rmtree(backed_up_service.data_dir)
        restored(backed_up_service, tmp_path / "newer.tar")
        assert "has schema 9999" in backed_up_service.run("migrate").stderr


def rewrite(archive: bytes, added: tarfile.TarInfo | None = None, **manifest_fields: object) -> bytes:
    """Return the archive with another member or a changed manifest, and with a valid checksum."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]
    (last, text), out = members.pop(), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member, content in members:
            new.addfile(member, io.BytesIO(content))
        if added:
            new.addfile(added)
        sha256 = hashlib.sha256(out.getvalue()).hexdigest()
        text = json.dumps(json.loads(text) | {"sha256": sha256} | manifest_fields).encode()
        last.size = len(text)
        new.addfile(last, io.BytesIO(text))
    return out.getvalue()


def with_content(archive: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return the archive with one member's content changed, and with a valid checksum."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        start, size = tar.getmember(name).offset_data, tar.getmember(name).size
    content = change(archive[start : start + size])
    assert len(content) == size
    return rewrite(archive[:start] + content + archive[start + size :])


def member(name: str = IMAGE, **attributes: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


def claim_size(archive: bytes, size: int) -> bytes:
    """Put another size into the first member's header."""
    header = tarfile.TarInfo.frombuf(archive[:512], "utf-8", "strict")
    header.size = size
    return header.tobuf(tarfile.GNU_FORMAT) + archive[512:]


def flip_bit(archive: bytes, position: int) -> bytes:
    return archive[:position] + bytes([archive[position] ^ 1]) + archive[position + 1 :]


INCOMPLETE, DAMAGED, FOREIGN = "not a complete prshots backup", "is damaged", "not a prshots backup"
EXTENDED = "'././@PaxHeader', a file with extended headers"
SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "800000000"}  # a few bytes would become 800 MB


class TestRestore:
    def test_restore_into_a_folder_that_is_not_empty_is_refused(self, service: Service, backup: Path) -> None:
        service.data_dir.mkdir()
        (service.data_dir / "prshots.db").write_text("somebody's")
        done = service.run("restore", str(backup), check=False)
        assert done.returncode == 1
        (said,) = done.stderr.splitlines()
        assert "is not empty" in said
        assert "PRSHOTS_DATA_DIR" in said
        assert (service.data_dir / "prshots.db").read_text() == "somebody's"

    def test_restore_ignores_lost_and_found_and_an_unfinished_restore(
        self, service: Service, backup: Path
    ) -> None:
        with small_disk(service.data_dir, "8m"):
            (service.data_dir / "lost+found").mkdir()
            (service.data_dir / ".restoring").mkdir()  # left by a restore that was killed
            (service.data_dir / ".restoring" / "images").mkdir()
            restored(service, backup)
            assert len(image_files(service)) == 3
            assert not (service.data_dir / ".restoring").exists()

    def test_restore_to_a_full_disk_fails_and_leaves_no_files(self, service: Service, backup: Path) -> None:
        with small_disk(service.data_dir, "100k"):
            said = refused(service, "restore", str(backup))
            assert "No space left" in said
            assert "free up space" in said
            assert list(service.data_dir.iterdir()) == []

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            *((lambda whole, end=end: whole.rstrip(b"\0")[:-end], INCOMPLETE) for end in (1, 600, 10_240, 150_000)),
            *((lambda _, other=other: other, INCOMPLETE) for other in (b"", b"text", bytes(20_000), os.urandom(20_000))),
            (lambda whole: claim_size(whole, -512), INCOMPLETE),
            (lambda whole: claim_size(whole, 10**12), INCOMPLETE),
            (lambda whole: flip_bit(whole, 600), DAMAGED),
            (lambda whole: flip_bit(whole, len(whole) // 2), DAMAGED),
            (lambda whole: rewrite(whole, member()), f"{DAMAGED}: its manifest does not match its images"),
            (lambda whole: rewrite(whole, member("signing-keys")), "contains the same file twice"),
            (lambda whole: rewrite(whole, format=2), "newer than this version"),
            (lambda whole: rewrite(whole, schema_version="9999", oldest_schema="9999"), "newer than this version"),
            (lambda whole: rewrite(whole, schema_version="0009", oldest_schema=""), "schema 0009, of a development"),
            (lambda whole: rewrite(whole, installation_id="../x"), "invalid manifest: installation_id must be"),
            (lambda whole: rewrite(whole, installation_id="ab" * 16), f"{DAMAGED}: the database is another installation's"),
            (lambda whole: with_content(whole, "prshots.db", lambda db: bytes(len(db))), "file is not a database"),
            (lambda whole: with_content(whole, "prshots.db", lambda db: db[:100] + bytes(len(db) - 100)), DAMAGED),
            (lambda whole: with_content(whole, "prshots.db", lambda db: db[:-9000] + b"\xff" * 9000), DAMAGED),
            (lambda whole: with_content(whole, "signing-keys", lambda keys: bytes(len(keys))), "cannot read the signing keys"),
        ],
    )  # fmt: skip
    def test_restore_of_a_damaged_archive_is_refused(
        self, service: Service, backup: Path, damage: Callable[[bytes], bytes], message: str
    ) -> None:
        backup.write_bytes(damage(backup.read_bytes()))
        assert message in refused(service, "restore", str(backup))
        assert not service.data_dir.exists()

    @pytest.mark.parametrize(
        ("added", "kind"),
        [
            (member("/etc/passwd"), "'/etc/passwd'"),
            (member("../x"), "'../x'"),
            (member("images/../../x"), "'images/../../x'"),
            (member("images/ab/x.png"), "'images/ab/x.png'"),
            (member(f"images/cd/{ID}.png"), "images/cd/"),
            (member(f"images/ab/{ID}.exe"), ".exe'"),
            (member(type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a symbolic link"),
            (member(type=tarfile.LNKTYPE, linkname="/etc/passwd"), "a hard link"),
            (member(type=tarfile.DIRTYPE), "a folder"),
            (member(type=tarfile.FIFOTYPE), "a FIFO"),
            (member(type=tarfile.GNUTYPE_SPARSE), "a sparse file"),
            (member(pax_headers=SPARSE), EXTENDED),
            (member(pax_headers={"size": "-512"}), EXTENDED),
            (member(pax_headers={"path": "../x"}), EXTENDED),
            (member(pax_headers={"size": "1", "path": "x"}), EXTENDED),
        ],
    )
    def test_restore_of_an_archive_with_an_unexpected_member_is_refused(
        self, service: Service, backup: Path, added: tarfile.TarInfo, kind: str
    ) -> None:
        backup.write_bytes(rewrite(backup.read_bytes(), added))
        said = refused(service, "restore", str(backup))
        assert FOREIGN in said
        assert kind in said
        assert not service.data_dir.exists()

    def test_restore_of_a_file_that_is_missing_or_not_a_file_is_refused(
        self, service: Service, tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "fifo")
        for name, message in (("missing", "No such file"), (".", "is not a file"), ("fifo", "is not a file")):
            assert message in refused(service, "restore", str(tmp_path / name))

    def test_restore_reads_a_file_over_8_gb(self, tmp_path: Path) -> None:
        member = tarfile.TarInfo("prshots.db")
        member.size = 9 * 1024**3
        archive = tmp_path / "large.tar"
        archive.write_bytes(member.tobuf(tarfile.PAX_FORMAT))
        os.truncate(archive, 1536 + member.size)  # a hole takes no space
        with archive.open("rb") as file:
            (found,) = members(file)
        assert (found.name, found.start, found.size) == ("prshots.db", 1536, member.size)

    def test_restore_through_a_planted_link_is_refused(
        self, service: Service, backup: Path, tmp_path: Path
    ) -> None:
        service.data_dir.mkdir()
        (service.data_dir / ".restoring").symlink_to(precious_folder(tmp_path))
        assert "is a link or a file" in refused(service, "restore", str(backup))
        assert (tmp_path / "precious" / "thing").exists()

    def test_restore_is_refused_if_a_setting_places_data_outside_the_data_folder(
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
