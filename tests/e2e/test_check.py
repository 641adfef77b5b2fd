"""`prshots check` and the sweep's brake as commands: output and exit codes."""

import asyncio
import json
import os
import re
import secrets
import time
from pathlib import Path
from typing import Any

from prshots.contract.object_names import origin_key
from prshots.server.domain.upkeep.safeguards import MASS
from support.service import Service
from support.service_processes import change_database
from support.stores_and_records import a_project, an_image, open_records


def filled(service: Service, images: int, uploaded_at: int, retain_days: int | None = None) -> list[Path]:
    """Fill the data folder of a service that does not run, and return the images' files."""

    async def fill() -> list[Path]:
        records, project = open_records(service.data_dir), a_project(retain_days=retain_days)
        await records.add_project(project)
        made = [an_image(project, uploaded_at=uploaded_at) for _ in range(images)]
        await asyncio.gather(*(records.add_image(image) for image in made))
        await records.close()
        return [service.images_dir / image.key for image in made]

    files = asyncio.run(fill())
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
        os.utime(file, (uploaded_at, uploaded_at))
    return files


def checked(service: Service, *options: str) -> tuple[int, dict[str, Any]]:
    done = service.run("check", "--json", *options, check=False)
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["ok"] == (done.returncode == 0)
    return done.returncode, said


def test_differences_are_listed_repaired_and_gone(service: Service) -> None:
    files = filled(service, 5, int(time.time()) - 7200)
    assert checked(service)[0] == 0
    files[0].unlink()
    orphan = service.images_dir / origin_key(secrets.token_hex(16), "png")
    orphan.parent.mkdir(parents=True, exist_ok=True)
    orphan.write_bytes(b"x")
    os.utime(orphan, (1, 1))
    change_database(service, "UPDATE project_totals SET images = 7")

    code, said = checked(service)
    counts = ("records", "files", "records_without_bytes", "files_without_record", "wrong_totals", "repaired")
    assert (code, [said[name] for name in counts]) == (1, [5, 5, 1, 1, 1, 0])
    assert {found["kind"] for found in said["findings"]} == {
        "record without bytes",
        "file without record",
        "wrong total of project",
    }
    done = service.run("check", check=False)
    assert done.returncode == 1
    assert f"file without record  {orphan.relative_to(service.images_dir)}" in done.stdout
    assert "1 record without bytes, 1 file without a record, 1 wrong total." in done.stdout
    assert "run `prshots check --repair`" in done.stderr

    done = service.run("check", "--repair", check=False)
    assert done.returncode == 0
    assert "Repaired 3." in done.stdout
    assert checked(service) == (0, checked(service)[1])
    assert not orphan.exists()


def test_exits_2_if_the_store_or_the_database_cannot_be_checked(service: Service) -> None:
    filled(service, 1, 1)
    (service.images_dir / ".installation").write_text("another")
    done = service.run("check", "--repair", check=False)
    assert done.returncode == 2
    assert "could not check: the image store belongs to another database" in done.stderr
    service.settings["DATABASE_URL"] = "postgresql://u:swordfish@127.0.0.1:1/n"
    done = service.run("check", check=False)
    assert done.returncode == 2
    assert "could not check: PostgreSQL at 127.0.0.1:1/n" in done.stderr
    assert "swordfish" not in done.stderr


def test_an_unmounted_store_is_not_repaired_without_force(service: Service) -> None:
    for file in filled(service, MASS + 1, 1):
        file.unlink()
    done = service.run("check", "--repair", check=False)
    assert done.returncode == 1
    assert "101 of 101 images have no bytes: check that PRSHOTS_STORE_URL" in done.stderr
    assert "run `prshots check --repair --force`" in done.stderr
    code, said = checked(service, "--repair", "--force")
    assert (code, said["repaired"]) == (0, MASS + 1)


def test_a_sweep_of_most_images_needs_force(service: Service) -> None:
    files = filled(service, MASS + 1, int(time.time()) - 90 * 86_400, retain_days=1)
    done = service.run("sweep", "--json", check=False)
    assert done.returncode == 1
    assert "run `prshots sweep --force`" in done.stderr
    assert list(json.loads(done.stdout)["refused"]) == ["retention"]
    assert all(file.exists() for file in files)
    assert json.loads(service.run("sweep", "--json", "--force").stdout)["expired"] == len(files)


def test_migrate_compacts_the_database_file(service: Service) -> None:
    filled(service, 1, 1)
    said = service.run("migrate", "--compact").stderr
    assert re.search(r"Rewrote it: \d+ KB before, \d+ KB now\.\n", said)
