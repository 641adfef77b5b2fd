"""Upgrades without a stop: processes of two versions serve the same installation under load.

This version serves. The next one, which is this one with one more migration, starts beside it and migrates. Then this one
stops.
"""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from support.engine_servers import SeaweedFS
from support.migrations import NEXT_VERSION, next_migration, source_of_next_release
from support.service import Service, png, upload
from support.service_processes import component_pids, is_ready, kill, serve
from support.upload_load import UploadLoad
from support.waiting import wait_until

SOME = 15
"""How many replies are enough to say that a version serves."""

NEXT_MIGRATION = next_migration(
    """op.add_column("images", sa.Column("note", sa.Text, nullable=False, server_default="none"))
op.create_table(
    "notes",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("project_id", sa.String(32), sa.ForeignKey("projects.id", ondelete="CASCADE")),
)"""
)


@dataclass
class Installation:
    """The old and the new processes of one installation, on other ports but with the same engines."""

    old: Service
    new: Service
    new_source: Path


@pytest.fixture(params=["shared", pytest.param("embedded", marks=pytest.mark.nightly)])
def installation(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    settings = {"UPLOADS_PER_MINUTE": "1000000", "GRACE_SECONDS": "20"}
    if request.param == "shared":
        settings |= shared_engines(request, monkeypatch)
    settings["DATA_DIR"] = str(tmp_path / "data")
    source = source_of_next_release(tmp_path, NEXT_MIGRATION)
    made = Installation(
        *(Service(tmp_path / name, dict(settings)) for name in ("old", "new")), new_source=source
    )
    yield made
    for service in (made.old, made.new):
        if service.process is not None:
            service.stop()


def shared_engines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    seaweedfs: SeaweedFS = request.getfixturevalue("seaweedfs")
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    return {
        "DATABASE_URL": request.getfixturevalue("postgresql").new_database(),
        "STORE_URL": seaweedfs.store_url(seaweedfs.new_bucket()),
        "COUNTER_URL": request.getfixturevalue("valkey").url,
    }


@dataclass
class Baselines:
    """A client that uploads baselines beside the other clients, and remembers them."""

    load: UploadLoad
    uploaded: list[tuple[str, str]] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        headers = {"Authorization": f"Bearer {self.load.token}"}
        with httpx.Client(headers=headers, timeout=60, trust_env=False) as client:
            while not stop.wait(0.1):
                image = png(2000)
                digest = hashlib.sha256(image).hexdigest()
                address = f"{self.load.addresses[-1]}/v1/baseline"
                try:
                    reply = upload(client, image, path=address, name=digest, branch="main")
                except httpx.TransportError:
                    continue
                if reply.status_code == 200:
                    self.uploaded.append((reply.json()["view_url"], digest))
                else:  # its requests go to the newest version
                    self.load.wrong.append(f"baseline: {reply.status_code} {reply.text[:200]}")

    def lost(self, address: str) -> list[str]:
        with httpx.Client(trust_env=False, timeout=60) as client:
            replies = [
                (client.get(address + httpx.URL(url).raw_path.decode()), digest)
                for url, digest in self.uploaded
            ]
        return [
            str(reply.url)
            for reply, digest in replies
            if (reply.status_code, hashlib.sha256(reply.content).hexdigest()) != (200, digest)
        ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_processes_of_two_versions_serve_side_by_side(installation: Installation) -> None:
    old, new = installation.old, installation.new
    serve(old)
    old.wait_until_up()
    load = UploadLoad(
        old.new_token(),
        33,
        [old.base_url, old.web_url],
        [old.img_url],
        sizes=(100, 5_000, 70_000),
    )
    baselines = Baselines(load)

    def some_more() -> None:
        enough = load.replies + SOME
        wait_until(lambda: load.replies > enough or load.wrong, "the service to answer")
        assert load.wrong == []

    def upgrade() -> None:
        some_more()
        start_new_beside_old(installation)
        load.addresses = [old.base_url, old.web_url, new.web_url, new.base_url]
        load.image_addresses = [old.img_url, new.img_url]
        some_more()
        kill(component_pids(old)["delivery"])
        some_more()
        restart_old_api(old)
        some_more()
        load.addresses, load.image_addresses = [new.web_url, new.base_url], [new.img_url]
        assert old.stop() == 0
        some_more()

    load.run_during(upgrade, baselines.run)
    assert load.wrong == []
    with httpx.Client(trust_env=False, timeout=60) as client:
        for shot in load.shots:
            load.read(client, shot)
    assert load.wrong == []
    assert baselines.lost(new.img_url) == []
    assert (len(load.gone) > 0, len(load.kept) > 0, len(baselines.uploaded) > 0) == (True, True, True)
    for command in ("sweep", "check"):  # check compares the totals with the records, and these with the store
        new.run(command)
    assert "Traceback" not in old.log + new.log
    print(
        f"{load.replies} replies, {len(load.shots)} uploads, {len(load.gone)} deleted, {len(baselines.uploaded)} baselines"
    )


def start_new_beside_old(installation: Installation) -> None:
    old, new = installation.old, installation.new
    serve(new, env=new.env | {"PYTHONPATH": str(installation.new_source)})
    new.wait_until_up()
    for address in (new.base_url, old.base_url, old.img_url):
        wait_until(lambda address=address: is_ready(address), lambda: new.log)
    said = old.run("migrate").stderr
    assert f"has schema {NEXT_VERSION}, from a newer version of prshots. This version still works" in said


def restart_old_api(old: Service) -> None:
    """Its new worker finds the newer schema."""
    kill(component_pids(old)["api"])
    wait_until(lambda: is_ready(old.base_url), lambda: f"the worker to work on a newer schema:\n{old.log}")
