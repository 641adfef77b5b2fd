"""Other users of the machine cannot read the files of prshots, regardless of the umask."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from prshots.server import wiring
from prshots.server.adapters.keys import KeyFile
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.backup.create import back_up
from prshots.server.backup.restore import restore
from prshots.server.config.settings import Settings
from support.stores_and_records import SqlRecords, a_project, an_image


@pytest.fixture(params=[0o000, 0o022], ids=["umask-000", "umask-022"], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of a folder and everything in it, by name without ids."""
    paths = [folder, *folder.rglob("*")]
    return {_plain(path): stat.S_IMODE(path.stat().st_mode) for path in paths}


def _plain(path: Path) -> str:
    return "shard" if len(path.name) == 2 else path.suffix if len(path.name) > 30 else path.name


async def used(folder: Path) -> dict[str, int]:
    """Use a data folder as the service does, and return its modes while it is open."""
    KeyFile(folder / "signing-keys").create_if_missing()
    records = SqlRecords(wiring.open_database(Settings(data_dir=folder)))  # not a copied file
    store, project = DiskStore(folder / "images"), a_project()
    await records.add_project(project)
    image = an_image(project, size=1)
    await store.put(image.key, [b"x"])
    await records.add_image(image)
    await store.owner(await SqlUpkeep(records._database).installation_id())
    found = modes(folder)
    await records.close()
    store.close()
    return found


async def test_a_data_folder_is_private_except_for_images_in_the_group(tmp_path: Path) -> None:
    assert await used(tmp_path / "new" / "data") == {
        "data": 0o700,
        "prshots.db": 0o600,
        "prshots.db-wal": 0o600,
        "prshots.db-shm": 0o600,
        "prshots.db-turn": 0o600,
        "signing-keys": 0o600,
        "signing-keys.lock": 0o600,
        "images": 0o750,
        ".installation": 0o640,
        "shard": 0o750,
        ".png": 0o640,
    }
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


async def test_a_store_outside_the_data_folder_is_private(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "new" / "images")
    await store.put("ab/" + "ab" * 16 + ".png", [b"x"])
    store.close()
    assert modes(tmp_path / "new") == {"new": 0o700, "images": 0o750, "shard": 0o750, ".png": 0o640}


async def test_modes_and_groups_that_an_operator_set_stay(tmp_path: Path) -> None:
    """As the docs tell you to do for nginx."""
    (tmp_path / "data" / "images").mkdir(parents=True)
    (tmp_path / "data").chmod(0o710)
    os.chown(tmp_path / "data" / "images", -1, 65534)
    (tmp_path / "data" / "images").chmod(0o2750)
    found = await used(tmp_path / "data")
    assert (found["data"], found["images"], found["shard"]) == (0o710, 0o2750, 0o2750)
    assert {path.stat().st_gid for path in (tmp_path / "data" / "images").rglob("*.png")} == {65534}


async def test_a_backup_and_what_is_restored_from_it_are_private(tmp_path: Path) -> None:
    before = await used(tmp_path / "data")
    await asyncio.to_thread(back_up, Settings(data_dir=tmp_path / "data"), tmp_path / "backup.tar")
    assert stat.S_IMODE((tmp_path / "backup.tar").stat().st_mode) == 0o600
    await asyncio.to_thread(restore, Settings(data_dir=tmp_path / "new" / "data"), tmp_path / "backup.tar")
    kept = {"data", "prshots.db", "signing-keys", "images", ".installation", "shard", ".png"}
    assert modes(tmp_path / "new" / "data") == {name: before[name] for name in kept}
