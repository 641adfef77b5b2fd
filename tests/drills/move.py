"""Kill -9 of `prshots move` under load, there and back: nothing acknowledged is lost, nothing deleted comes back.

The installation starts on SQLite and a folder, with many images. While clients upload, delete, expire and read, it
moves to PostgreSQL and S3, and `prshots move` is killed again and again. Then the service restarts on the target, and
everything is compared. The same way back, to another file and folder.
"""

import contextlib
import hashlib
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import psycopg

from drills.kill import KEEP_FEW_BASELINES, read_all
from drills.report import Progress, Result, result_of, say
from drills.sites import EmbeddedSite, Rows, postgresql_snapshot, sqlite_snapshot, stored_in
from drills.truth import Truth, wrong_records, wrong_store, wrong_totals
from prshots.contract.object_names import origin_key
from prshots.server import wiring
from prshots.server.adapters.sql.images.totals import add_images
from prshots.server.config.settings import Settings
from support.engine_servers import PostgreSQL, SeaweedFS, running_postgresql, running_seaweedfs
from support.service import PNG, PRSHOTS, upload
from support.stores_and_records import a_project, an_image
from support.upload_load import UploadLoad

PHASES = ("Copying records", "Copying images", "Checking records", "Checking images", "Catching up")
WEIGHTS = (3, 4, 2, 1, 2)
"""How often a move is killed in each phase. A kill in a late phase costs the time of all before it."""

MOVE_SECONDS = 3600
SAMPLE = 500


class MovableSite(EmbeddedSite):
    """One service that can be restarted on other engines, at the same addresses and with the same keys."""

    engines_die = True  # during the stop of writes, and after it, a 503 is right

    def __init__(self, folder: Path, seaweedfs: SeaweedFS) -> None:
        super().__init__(folder, {})
        self._seaweedfs = seaweedfs

    @property
    def settings(self) -> Settings:
        return Settings(
            data_dir=self.service.data_dir,
            database_url=self.service.settings.get("DATABASE_URL", ""),
            store_url=self.service.settings.get("STORE_URL", ""),
        )

    def restart_on(self, database_url: str, store_url: str) -> None:
        self.stop()
        self.service.settings |= {"DATABASE_URL": database_url, "STORE_URL": store_url}
        self.start()

    def snapshot(self, *queries: str) -> list[Rows]:
        settings = self.settings
        if settings.on_sqlite:
            return sqlite_snapshot(settings.database_path, *queries)
        with psycopg.connect(settings.database_url) as connection:
            return postgresql_snapshot(connection, *queries)

    def stored(self) -> dict[str, int]:
        settings = self.settings
        if settings.on_disk:
            root = settings.store_path
            files = [path for path in root.glob("??/*") if path.is_file()]
            return {str(path.relative_to(root)): path.stat().st_size for path in files}
        return stored_in(self._seaweedfs.client(urlsplit(settings.store_url).netloc))


@contextlib.contextmanager
def running_movable_site(folder: Path) -> Iterator[tuple[MovableSite, PostgreSQL, SeaweedFS]]:
    with (
        running_postgresql() as postgresql,
        running_seaweedfs() as seaweedfs,
        patch.dict(os.environ, seaweedfs.credentials),
    ):
        site = MovableSite(folder, seaweedfs)
        try:
            yield site, postgresql, seaweedfs
        finally:
            site.stop()


@dataclass
class MoveDrill:
    """A move there and one back."""

    site: MovableSite
    postgresql: PostgreSQL
    seaweedfs: SeaweedFS
    images: int
    kills: int
    seed: int
    wrong: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)

    def run(self) -> Result:
        self._rng = random.Random(self.seed)
        self._progress = Progress(self.kills, "kills")
        self.site.start()
        self._token = self.site.replicas[0].new_token()
        self.site.change(KEEP_FEW_BASELINES)
        self._made = _make_images(self.site.settings, self.images, self._rng)
        say(f"{self.images:,} images are there after {self._progress.seconds:.0f} s")
        bucket = self.seaweedfs.store_url(self.seaweedfs.new_bucket())
        back = self.site.service.folder / "back"
        ways = {
            "there": (self.postgresql.new_database(), bucket),
            "back": (f"sqlite:///{back}/prshots.db", f"file://{back}/images"),
        }
        loads: list[UploadLoad] = []
        try:
            for way, target in ways.items():
                load = self.site.load(self._token, self.seed + len(loads))
                loads.append(load)
                self._move_under_load(way, target, load)
                self._check_everything(loads)
        except AssertionError as error:  # waited in vain, or a command failed
            self.wrong.append(str(error))
        self.wrong += [wrong for load in loads for wrong in load.wrong]
        self.figures["uploads acknowledged"] = sum(len(load.shots) for load in loads)
        self.figures["deletes acknowledged"] = sum(len(load.gone) for load in loads)
        return result_of("move", self._progress, self.seed, self.figures, self.wrong)

    def _move_under_load(self, way: str, target: tuple[str, str], load: UploadLoad) -> None:
        began = time.monotonic()
        sweeps: list[subprocess.Popen[bytes]] = []

        def work() -> None:
            kills = self.kills // 2 if way == "there" else self.kills - self._progress.done
            for number in range(kills):
                if number == kills // 2:
                    sweeps.append(self.site.start_sweep())
                self._run_and_kill(target)
                self._progress.note(self._progress.done + 1, len(self.wrong) + len(load.wrong))
            whole = time.monotonic()
            said = self._finished(target)
            say(f"{way}: the last run took {time.monotonic() - whole:.0f} s: {said}")
            if stopped := re.search(r"Writes stopped for ([\d.]+) s", said):
                self.figures[f"ms without writes {way}"] = round(float(stopped[1]) * 1000)
            self._expect_refusal()
            self.site.restart_on(*target)

        load.run_during(work)
        for sweep in sweeps:
            sweep.wait(timeout=MOVE_SECONDS)
        self.figures[f"seconds {way}"] = round(time.monotonic() - began)

    def _start(self, target: tuple[str, str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [PRSHOTS, "move", "--to-database", target[0], "--to-store", target[1]],
            env=self.site.service.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _run_and_kill(self, target: tuple[str, str]) -> None:
        """Kill a move at a random moment of a random phase, or before the first."""
        phase = self._rng.choices((*PHASES, ""), (*WEIGHTS, 1))[0]
        process = self._start(target)
        assert process.stderr is not None
        told: list[str] = []
        while phase and (line := process.stderr.readline()):
            told.append(line)
            if line.startswith(phase):
                break
        time.sleep(self._rng.random() ** 2 * 2)
        process.kill()
        told += process.communicate()
        assert process.returncode in {-9, 0}, f"move ended with {process.returncode}: {''.join(told)[-2000:]}"

    def _finished(self, target: tuple[str, str]) -> str:
        """Let a move run to its end, and return what it says."""
        process = self._start(target)
        out, told = process.communicate(timeout=MOVE_SECONDS)
        assert process.returncode == 0, f"move ended with {process.returncode}: {out}{told}"
        assert "PRSHOTS_DATABASE_URL" in out, out
        return out.partition("\n\n")[0].replace("\n", " ")

    def _expect_refusal(self) -> None:
        """Upload to the service that was not restarted: it refuses, and says why in its log."""
        with self.site.service.client(self._token) as client:
            reply = upload(client, PNG + b"late", pr_number=1)
        if reply.status_code != 503 or "retry-after" not in reply.headers:
            self.wrong.append(f"after the move, the old service answered {reply.status_code} {reply.text}")
        if "the data was moved: set PRSHOTS_DATABASE_URL" not in self.site.log:
            self.wrong.append("the log of the old service does not say where the data is")

    def _check_everything(self, loads: list[UploadLoad]) -> None:
        """Compare everything, after the load has ended and a sweep has cleaned up."""
        self.site.sweep()
        truth = Truth.of(self.site)
        kept = {shot.id for load in loads for shot in load.kept} | set(self._made)
        gone = {shot.id for load in loads for shot in load.gone}
        self.wrong += wrong_totals(truth) + wrong_records(truth, kept, gone)
        self.wrong += wrong_store(truth, self.site.stored())
        for load in loads:
            read_all(load, load.shots)
        self._read_some()

    def _read_some(self) -> None:
        """Read some of the images that were there from the start."""
        with self.site.service.client(self._token) as client:
            ids = self._rng.sample(sorted(self._made), min(SAMPLE, len(self._made)))
            ring = wiring.existing_keys(self.site.settings).ring()
            for image_id in ids:
                url = ring.sign(image_id, "png", int(time.time()) + 1000, ring.signing_kid)
                reply = client.get(f"{self.site.service.img_url}{url}")
                if (
                    reply.status_code != 200
                    or hashlib.sha256(reply.content).hexdigest() != self._made[image_id]
                ):
                    self.wrong.append(f"{image_id} was there from the start, and answers {reply.status_code}")


def _make_images(settings: Settings, count: int, rng: random.Random) -> dict[str, str]:
    """Put images into SQLite and a folder, as uploads would, but faster. Return their hashes by id."""
    database = wiring.open_database(settings)
    made: dict[str, str] = {}
    now = int(time.time())
    with database.engine.connect() as connection:
        project_id = connection.exec_driver_sql("SELECT project_id FROM tokens").scalar_one()
    for start in range(0, count, 5000):
        images = []
        for number in range(start, min(start + 5000, count)):
            data = PNG + rng.randbytes(200)
            image_id = f"{rng.getrandbits(128):032x}"
            made[image_id] = hashlib.sha256(data).hexdigest()
            place = settings.store_path / origin_key(image_id, "png")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            about = {"project_id": project_id, "pr_number": 10_000 + number // 50, "size": len(data)}
            image = an_image(a_project(), id=image_id, uploaded_at=now, sha256=made[image_id], **about)
            images.append(image)
        with database.engine.execution_options(writes=True).begin() as connection:
            add_images(connection, images, {})
    database.engine.dispose()
    return made
