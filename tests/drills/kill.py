"""Kill -9 of random processes under load: nothing acknowledged is lost, nothing deleted is served.

Clients of several projects upload, refer to known images, merge, delete, expire and read. They remember every
acknowledgement. After every few kills, and at the end, the drill compares them with what delivery serves, what the
database records and what the store holds. A request that got no reply may have either outcome.
"""

import random
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx

from drills.report import Progress, Result, errors_in, result_of
from drills.sites import SIZES, Site
from drills.truth import Truth, wrong_records, wrong_store, wrong_totals
from support.service import upload
from support.upload_load import Shot, UploadLoad, is_whole, self_checking_png
from support.waiting import wait_until

AT_ONCE = 4
"""How many processes are killed at the same moment, at most."""

CHECKED_EVERY = 20
SAMPLE = 100
DUE_IMAGES = 5
KEEP_FEW_BASELINES = "UPDATE projects SET keep_baselines = 1"
"""So that each sweep removes all baselines but the newest and those that a pull request refers to."""

TWO_DAYS = 2 * 86_400


@dataclass
class KillDrill:
    """A series of kills on one site."""

    site: Site
    kills: int
    seed: int
    wrong: list[str] = field(default_factory=list)
    due: list[str] = field(default_factory=list)
    """The ids of the images that were made due for a sweep."""
    history: list[str] = field(default_factory=list)

    def run(self, engines: str) -> Result:
        self._rng = random.Random(self.seed)
        self._progress = Progress(self.kills, "kills")
        new_token = self.site.replicas[0].new_token
        closing = self.site.load(new_token(policy="pr_close"), self.seed)
        keeping = self.site.load(new_token(policy="manual"), self.seed + 1, expires_on_close=False)
        self._loads = [closing, keeping]
        self.site.change(KEEP_FEW_BASELINES)
        self._due_token = new_token(policy="retain_days", retain_days="1")
        work = partial(keeping.run_during, self._kill_again_and_again)
        try:
            closing.run_during(work, self._watch)
            self._check_everything()
        except AssertionError as error:  # waited in vain, or a command failed
            self.wrong.append(str(error))
        if wrong := self._all_wrong():
            wrong.append(f"the last kills were: {'; '.join(self.history[-10:])}")
        return result_of(f"kill {engines}", self._progress, self.seed, self._figures(), wrong)

    def _kill_again_and_again(self) -> None:
        checked = 0
        for victims in _rounds(self.site.kinds, self.kills, self._rng):
            time.sleep(self._rng.random() * 0.2)
            self._kill(victims)
            self.history.append(f"{self._progress.seconds:.1f} s: {', '.join(victims)}")
            self._progress.note(self._progress.done + len(victims), len(self._all_wrong()))
            self.site.revive()
            if self._rng.random() < 0.7:  # the other rounds kill while the last victims start
                self.site.wait_until_up()
            if self._progress.done - checked >= CHECKED_EVERY:
                checked = self._progress.done
                self.site.wait_until_up()
                self._check_database()
                self._check_some()
            if self._all_wrong():
                break
        self.site.wait_until_up()

    def _kill(self, victims: Sequence[str]) -> None:
        sweep = self._started_sweep() if "sweep" in victims else None
        for victim in victims:
            if victim != "sweep":
                self.site.kill(victim, self._rng)
        if sweep is not None:
            sweep.kill()
            sweep.wait()

    def _started_sweep(self) -> "subprocess.Popen[bytes]":
        """Make some images due, start a sweep, and return at a random moment of it."""
        self.site.wait_until_up()
        number = 1_000_000 + self._progress.done
        with self.site.replicas[0].client(self._due_token) as client:
            for _ in range(DUE_IMAGES):  # all components are up, so each is acknowledged
                reply = upload(client, self_checking_png(self._rng, SIZES), pr_number=number)
                if reply.status_code == 200:
                    self.due.append(reply.json()["id"])
        self.site.change(
            f"UPDATE images SET uploaded_at = uploaded_at - {TWO_DAYS} WHERE pr_number = {number}"
        )
        sweep = self.site.start_sweep()
        time.sleep(self._rng.uniform(0.2, 1.0))
        return sweep

    def _check_database(self) -> None:
        """Compare totals and records with each other and with the acknowledgements, while the load goes on."""
        kept = {shot.id for load in self._loads for shot in load.kept}
        gone = {shot.id for load in self._loads for shot in load.gone}
        truth = Truth.of(self.site)
        kept -= {shot.id for load in self._loads for shot in load.shots if shot.may_be_gone}
        self.wrong += wrong_totals(truth) + wrong_records(truth, kept, gone)

    def _check_some(self) -> None:
        """Read a sample of all images, the newest ones more often."""
        for load in self._loads:
            shots = load.shots[-SAMPLE // 2 :] + self._rng.sample(
                load.shots, min(SAMPLE // 2, len(load.shots))
            )
            read_all(load, shots)

    def _check_everything(self) -> None:
        """Compare everything, after the load has ended and a sweep has cleaned up."""
        self.site.sweep()
        self._check_database()
        truth = Truth.of(self.site)
        self.wrong += wrong_store(truth, self.site.stored())
        promised = {shot.id for load in self._loads for shot in load.shots if shot.is_promised}
        kept = truth.ids & (promised | set(self.due))
        self.wrong += [f"{image_id} was due to expire, but the sweep kept it" for image_id in kept]
        self.wrong += errors_in(self.site.log)
        for load in self._loads:
            read_all(load, load.shots)

    def _watch(self, stop: threading.Event) -> None:
        """Check each image file as soon as delivery could serve it, acknowledged or not."""
        seen: set[str] = set()
        changed: dict[Path, int] = {}
        while not stop.wait(0.15):  # often enough: a partial file would stay
            for place in self.site.image_folders():
                modified = place.stat().st_mtime_ns
                if changed.get(place) != modified:
                    changed[place] = modified
                    self.wrong += _partial_files(place, seen)

    def _all_wrong(self) -> list[str]:
        return self.wrong + [wrong for load in self._loads for wrong in load.wrong]

    def _figures(self) -> dict[str, int]:
        return {
            "replies": sum(load.replies for load in self._loads),
            "uploads acknowledged": sum(len(load.shots) for load in self._loads),
            "deletes acknowledged": sum(len(load.gone) for load in self._loads),
            "starts of the service": self.site.restarts,
        }


def _rounds(kinds: Sequence[str], kills: int, rng: random.Random) -> Iterator[list[str]]:
    """Yield the victims of each round. Every kind comes once before any kind comes again."""
    each_once = sorted(set(kinds))
    bag = rng.sample(each_once, len(each_once))
    left = kills
    while left:
        if not bag:
            bag = rng.sample(kinds, len(kinds))
        count = min(rng.randint(1, AT_ONCE), left, len(bag))
        victims, bag = bag[:count], bag[count:]
        left -= count
        yield victims


def read_all(load: UploadLoad, shots: Sequence[Shot]) -> None:
    """Read the images. Every component is up, but the store may still be slow after its start."""

    def is_read(shot: Shot) -> bool:
        try:
            load.read(client, shot)
        except httpx.TransportError:
            time.sleep(0.2)
            return False
        return True

    def read(shot: Shot) -> None:
        wait_until(lambda: is_read(shot), f"{shot} to be read")

    with httpx.Client(trust_env=False, timeout=60, verify=False) as client, ThreadPoolExecutor(4) as threads:
        list(threads.map(read, shots))


def _partial_files(folder: Path, seen: set[str]) -> Iterator[str]:
    for name in [path.name for path in folder.iterdir()]:
        if name in seen or name.startswith("."):  # unfinished: it has no URL
            continue
        seen.add(name)
        try:
            image = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        if not is_whole(image):
            yield f"{name} could have been served half, as {len(image)} bytes"
