"""`prshots doctor` with a healthy service, with an unhealthy one, and on the other engines."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prshots.server.config.settings import Settings
from prshots.server.doctor.engines import Engines
from prshots.server.doctor.examination import examine
from support.engine_servers import PostgreSQL, SeaweedFS, Valkey
from support.service import Service, upload
from support.service_processes import change_database, image_files


def diagnosis(service: Service, **settings: str) -> tuple[int, dict[str, str]]:
    """Run `prshots doctor`, and return its exit code and its findings that are not ok."""
    done = replace(service, settings=service.settings | settings).run("doctor", "--json", check=False)
    assert "Traceback" not in done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["ok"] == (done.returncode == 0)
    unwell: dict[str, str] = {}
    for found in said["checks"]:
        if found["state"] != "ok":
            unwell[found["about"]] = unwell.get(found["about"], "") + f"{found['state']}: {found['words']}\n"
    return done.returncode, unwell


async def store_finding(settings: Settings) -> str:
    (finding,) = await Engines(settings).check_store()
    assert finding.state == "problem"
    return finding.words


@pytest.mark.slow
def test_a_healthy_service_passes_and_each_problem_is_found(service: Service) -> None:
    with service.start().client(service.new_token()) as client:
        upload(client)
    before = image_files(service)
    code, unwell = diagnosis(service)
    assert code == 0
    assert set(unwell) <= {"addresses", "data folder"}  # it is on localhost, and its disk may be nearly full
    assert image_files(service) == before

    printed = service.run_as_process("doctor").stdout
    assert "ok       image proxy   " in printed
    assert "and rejects forged URLs" in printed

    change_database(service, "UPDATE images SET kid = 'k9'")
    code, unwell = diagnosis(service)
    assert code == 0
    assert "warning: 1 images have URLs signed with key k9" in unwell["database"]

    code, unwell = diagnosis(service, SIGNING_KEYS=f"k1:{'5e' * 32}")
    assert code == 1
    assert "does not know the key" in unwell["image proxy"]
    code, unwell = diagnosis(service, STORE_URL=f"file://{service.folder}")
    assert code == 1
    assert "the same PRSHOTS_STORE_URL" in unwell["image proxy"]

    (service.images_dir / ".installation").write_text("another")
    code, unwell = diagnosis(service)
    assert code == 1
    assert "belongs to another database" in unwell["image store"]

    service.stop()
    code, unwell = diagnosis(service)
    assert code == 1
    assert all("nothing listens there" in unwell[part] for part in ("API", "dashboard", "delivery"))


def test_doctor_creates_nothing_before_the_first_start(service: Service) -> None:
    code, unwell = diagnosis(service, API_PORT="70000", DATA_DIR=f"{service.folder}/new")
    assert code == 1
    assert "PRSHOTS_API_PORT" in unwell["settings"]
    assert "does not exist yet" in unwell["data folder"]
    assert not (service.folder / "new").exists()
    assert list(service.folder.iterdir()) == []


async def test_other_engines_are_checked_and_passwords_are_hidden(
    postgresql: PostgreSQL,
    seaweedfs: SeaweedFS,
    valkey: Valkey,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    settings = Settings(
        data_dir=tmp_path / "data",
        database_url=postgresql.new_database(),
        store_url=seaweedfs.store_url(seaweedfs.new_bucket()),
        counter_url=valkey.url,
        signing_keys=f"k1:{'5e' * 32}",
        img_url="http://127.0.0.1:1",
    )
    found = {finding.about: finding async for finding in examine(settings, lambda _: None)}
    assert "is empty" in found["database"].words  # doctor must not create tables
    assert postgresql.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []
    assert [found[about].state for about in ("image store", "counter", "signing keys")] == ["ok"] * 3
    assert "nothing listens there" in found["image proxy"].words
    assert not (tmp_path / "data").exists()

    away = {
        "database_url": "postgresql://u:swordfish@127.0.0.1:1/n",
        "store_url": "s3://some-bucket/?endpoint=http://127.0.0.1:1&region=x",
        "counter_url": "redis://:swordfish@127.0.0.1:1",
    }
    found = {finding.about: finding async for finding in examine(replace(settings, **away), lambda _: None)}
    assert [found[about].state for about in ("database", "image store", "counter")] == ["problem"] * 3
    assert not [finding for finding in found.values() if "swordfish" in finding.words]
    assert "nothing listens there: start the store" in found["image store"].words

    wrong = replace(settings, store_url=seaweedfs.store_url("no-such-bucket"))
    assert "the bucket does not exist: create it" in (await store_finding(wrong))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "the secret is wrong" in (await store_finding(settings))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    assert "the store does not know this access key" in (await store_finding(settings))
