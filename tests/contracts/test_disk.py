"""The disk store when the disk fails, and when others use the disk too."""

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from prshots.contract.errors import StoreError, StoreFullError
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server.adapters.objects import disk
from prshots.server.adapters.objects.disk import DiskReader, DiskStore
from support.open_files import open_files
from support.places import make_undeletable
from support.stores_and_records import at_once, filled_up, read_only, small_disk

KEY = origin_key("ab" * 16, "png")
HOUR = 3600


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DiskStore]:
    opened = DiskStore(tmp_path / "images")
    yield opened
    opened.close()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def written(path: Path, data: bytes = b"x", age: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


async def listed(store: DiskStore, cutoff: float) -> set[str]:
    return {key async for batch in store.stored_before(cutoff) for key in batch}


async def test_one_failed_delete_does_not_block_the_others(store: DiskStore) -> None:
    keys = [origin_key(f"ab{number:030x}", "png") for number in range(5)]
    for key in keys:
        await store.put(key, [b"x"])
    stuck = make_undeletable(store.root / keys[2])
    with structlog.testing.capture_logs() as lines:
        assert await store.delete(keys) == {keys[2]}
    assert [line["event"] for line in lines] == ["storage unavailable"]
    assert files(store.root) == set()
    stuck.rmdir()
    assert await store.delete(keys) == set()


async def test_a_put_that_fails_on_rename_leaves_no_file_or_descriptor(store: DiskStore) -> None:
    (store.root / KEY / "in the way").mkdir(parents=True)
    before = open_files()
    with pytest.raises(StoreError):
        await store.put(KEY, [b"x"])
    assert files(store.root) == set()
    assert open_files() == before


async def test_a_file_in_place_of_a_folder_is_a_store_error(store: DiskStore) -> None:
    written(store.root / "ab")
    with pytest.raises(StoreError):
        await store.put(KEY, [b"x"])
    with pytest.raises(StoreError):
        await store.read(KEY)
    assert files(store.root) == {"ab"}
    assert await listed(store, time.time() + HOUR) == set()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_opening_a_folder_or_pipe_is_a_store_error_and_does_not_wait(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / KEY).parent.mkdir(parents=True)
    make(tmp_path / KEY)
    before = open_files()
    with pytest.raises(StoreError, match="not a file"):
        DiskReader(tmp_path).open(KEY)
    assert open_files() == before


def test_a_reader_remembers_sizes_of_images_but_neither_thumbnails_nor_whether_they_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "REMEMBERED_SIZES", 2)
    reader = DiskReader(tmp_path)

    def size(key: str) -> int | None:
        opened = reader.open(key)
        if opened is None:
            return None
        os.close(opened.fd)
        return opened.size

    images = [origin_key(f"ab{number:030x}", "png") for number in range(4)]
    thumbnail = origin_key("ab" + "0" * 30, THUMBNAIL_EXT)
    (tmp_path / "ab").mkdir()
    for number, key in enumerate([*images, thumbnail]):
        (tmp_path / key).write_bytes(b"x" * number)
    for _ in range(2):
        assert list(map(size, [*images, thumbnail])) == [0, 1, 2, 3, 4]
        assert 1 <= len(reader._sizes) <= 2
    (tmp_path / thumbnail).write_bytes(b"another")
    (tmp_path / images[3]).unlink()
    assert size(thumbnail) == len(b"another")
    assert size(images[3]) is None


async def test_a_deleted_folder_is_created_again(store: DiskStore) -> None:
    await store.put(KEY, [b"x"])
    (store.root / KEY).unlink()
    (store.root / "ab").rmdir()
    with pytest.raises(StoreError):  # the first put fails and finds the missing folder
        await store.put(KEY, [b"x"])
    await store.put(KEY, [b"x"])
    assert files(store.root) == {KEY}


async def test_put_to_a_full_disk_fails_and_changes_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        store = DiskStore(disk / "images")
        await store.put(KEY, [b"first"])
        other = origin_key("ab" * 15 + "cd", "png")
        for key in (KEY, other):
            with pytest.raises(StoreFullError):
                await store.put(key, [bytes(64 * 1024)] * 8)
        with filled_up(disk), pytest.raises(StoreFullError):
            await store.put(origin_key("cd" * 16, "png"), [b"x"])
        assert files(store.root) == {KEY}
        assert (store.root / KEY).read_bytes() == b"first"
        await store.put(other, [bytes(64 * 1024)])  # the disk has space again
        store.close()


async def test_a_read_only_disk_still_serves_but_refuses_writes_and_deletes(store: DiskStore) -> None:
    await store.put(KEY, [b"x"])
    with read_only(store.root):
        with pytest.raises(StoreError, match="Read-only"):
            await store.put(origin_key("cd" * 16, "png"), [b"x"])
        with pytest.raises(StoreError, match="Read-only"):
            await store.owner("somebody")
        assert await store.delete([KEY]) == {KEY}
        assert await store.read(KEY) == b"x"
    assert files(store.root) == {KEY}


async def test_only_old_unfinished_files_are_discarded(store: DiskStore) -> None:
    folder = store.root / "ab"
    old = [written(folder / f".{secrets.token_hex(16)}.png", age=2 * HOUR) for _ in range(3)]
    young = written(folder / f".{secrets.token_hex(16)}.png")
    make_undeletable(old[1])
    assert await store.discard_unfinished(time.time() - HOUR) == 2
    assert files(store.root) == {str(young.relative_to(store.root))}


async def test_foreign_files_are_neither_listed_nor_deleted(store: DiskStore) -> None:
    names = {
        "README",
        "lost+found/ab",
        "ab/notes.txt",
        f"ab/{'AB' * 16}.png",
        f"ab/{'ab' * 16}",
        f"ab/{'ab' * 16}.thumbs.webp",
        f"ab/{'ab' * 16}.thumb.thumb.webp",
        f"ab/{'ab' * 16}.thumb.",
        f"abc/{'ab' * 16}.png",
        "ab/.notes.txt",
    }
    for name in names:
        written(store.root / name, age=2 * HOUR)
    assert await listed(store, time.time()) == set()
    assert await store.discard_unfinished(time.time()) == 0
    assert files(store.root) == names


async def test_a_crash_during_a_claim_leaves_the_store_unclaimed(store: DiskStore) -> None:
    """The next process that claims the store gets it."""
    written(store.root / f".{'ab' * 16}.own", b"", age=2 * HOUR)
    assert await store.owner("cd" * 16) == "cd" * 16
    assert await store.discard_unfinished(time.time() - HOUR) == 1
    assert files(store.root) == {".installation"}


async def test_the_check_of_an_unusable_store_fails(store: DiskStore, tmp_path: Path) -> None:
    await store.put(KEY, [b"x"])
    with read_only(store.root), pytest.raises(StoreError, match="read and write"):
        await store.check()
    file = written(tmp_path / "file")
    for root in (file, file / "images"):
        inside = DiskStore(root)
        with pytest.raises(StoreError):
            await inside.check()
        with pytest.raises(StoreError):
            DiskReader(root).check()
        inside.close()


def test_delivery_is_ready_if_it_can_open_images_but_not_list_them() -> None:
    """As in a folder that belongs to another user, of mode 0711."""

    def check() -> str:
        if os.geteuid() == 0:
            os.setuid(65534)  # every file is readable by root
        DiskReader(root).check()
        return "ready"

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o311)
        assert at_once(check, processes=1) == ["ready"]
        root.chmod(0o644 if os.geteuid() == 0 else 0o200)
        assert "Permission denied" in at_once(check, processes=1)[0]
        root.chmod(0o700)
