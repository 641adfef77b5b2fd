"""Kill -9 while clients fill a small quota: records never exceed it, and what fits is stored.

Clients of two projects of one organization upload to all replicas. When the quota is reached, they delete some of
their images. A watcher reads the database all the time. After every few kills the clients pause, and the drill
uploads exactly the free bytes: that must succeed, and one more image must be refused.
"""

import contextlib
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
import psycopg

from drills.report import Progress, Result, errors_in, result_of
from drills.sites import Site
from drills.truth import Truth, wrong_store, wrong_totals
from support.service import png, upload

QUOTA = 400_000
SETTINGS = {"ORGANIZATION_QUOTA_BYTES": str(QUOTA)}
CLIENTS = 6
MOST_BYTES = 12_000
CHECKED_EVERY = 10
FITTING_SECONDS = 60.0
KINDS = {
    "embedded": ("api", "api", "supervisor"),
    "shared": ("api", "api", "supervisor", "replica", "backend"),
}
SUM = "SELECT coalesce(sum(bytes), 0) FROM project_totals"
RECORDED = "SELECT coalesce(sum(size), 0) FROM images"


@dataclass
class QuotaDrill:
    """A series of kills on one site, whose organization has the quota."""

    site: Site
    kills: int
    seed: int
    wrong: list[str] = field(default_factory=list)
    replies: "Counter[str]" = field(default_factory=Counter)

    def run(self, engines: str) -> Result:
        rng = random.Random(self.seed)
        self._progress = Progress(self.kills, "kills")
        self._tokens = [self.site.replicas[0].new_token(policy="manual") for _ in range(2)]
        self._stop, self._may_go_on = threading.Event(), threading.Event()
        self._idle = threading.Semaphore(0)
        self._may_go_on.set()
        with ThreadPoolExecutor(CLIENTS + 1) as threads:
            running = [threads.submit(self._act, self.seed + number) for number in range(CLIENTS)]
            running.append(threads.submit(self._watch))
            try:
                self._kill_again_and_again(KINDS[engines], rng)
                self._check_fit()
            except AssertionError as error:  # waited in vain
                self.wrong.append(str(error))
            finally:
                self._stop.set()
                self._may_go_on.set()
            for each in running:
                each.result()
        self._check_store()
        return result_of(f"quota {engines}", self._progress, self.seed, dict(self.replies), self.wrong)

    def _kill_again_and_again(self, kinds: tuple[str, ...], rng: random.Random) -> None:
        while self._progress.done < self.kills and not self.wrong:
            time.sleep(rng.uniform(0.2, 1.0))
            self.site.kill(rng.choice(kinds), rng)
            self._progress.note(self._progress.done + 1, len(self.wrong))
            self.site.wait_until_up()
            if self._progress.done % CHECKED_EVERY == 0:
                self._check_fit()

    def _act(self, seed: int) -> None:
        """Upload images until the quota is reached, then delete some."""
        rng, token, own = random.Random(seed), self._tokens[seed % 2], list[str]()
        while not self._stop.is_set():
            if not self._may_go_on.is_set():
                self._idle.release()
                self._may_go_on.wait()
                continue
            with self.site.replicas[0].client(token, rng.choice(self.site.api_addresses)) as client:
                try:
                    reply = upload(client, png(rng.randint(10, MOST_BYTES)), pr_number=1 + rng.randrange(3))
                    if reply.status_code == 507 and len(own) > 2:
                        for _ in range(rng.randint(1, len(own))):
                            client.delete(f"/v1/images/{own.pop(rng.randrange(len(own)))}")
                except httpx.TransportError:
                    self.replies["lost replies"] += 1
                    continue
            self._note(reply, own)

    def _note(self, reply: httpx.Response, own: list[str]) -> None:
        if reply.status_code == 200:
            own.append(reply.json()["id"])
            self.replies["uploads acknowledged"] += 1
        elif reply.status_code == 507:
            self.replies["uploads refused"] += 1
            if reply.json() != {"error": "storage quota reached"}:
                self.wrong.append(f"507 {reply.text}")
        elif reply.status_code in {502, 503}:
            self.replies["while something was down"] += 1
        else:
            self.wrong.append(f"{reply.status_code} {reply.text}")

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            try:
                (total,), (recorded,) = (rows[0] for rows in self.site.snapshot(SUM, RECORDED))
            except psycopg.OperationalError:  # its backend was killed
                continue
            self.replies["looks at the database"] += 1
            if total > QUOTA or recorded > QUOTA:  # type: ignore[operator]
                self.wrong.append(f"{total} bytes counted and {recorded} recorded, of {QUOTA}")
                return

    def _check_fit(self) -> None:
        """Pause the clients. Exactly the free bytes must fit, and nothing more."""
        self._may_go_on.clear()
        for _ in range(CLIENTS):
            assert self._idle.acquire(timeout=FITTING_SECONDS), "the clients did not pause"
        with self.site.replicas[0].client(self._tokens[0], self.site.api_addresses[0]) as client:
            until = time.monotonic() + FITTING_SECONDS
            status, free = 0, 0
            while status != 200 and time.monotonic() < until:  # a lost upload may still be committed
                self.site.wait_until_up()
                with contextlib.suppress(psycopg.OperationalError):
                    free = QUOTA - int(str(self.site.snapshot(SUM)[0][0][0]))
                if free < len(png(8)):
                    break
                status = self._status(client, free)
            else:
                if status != 200:
                    self.wrong.append(f"{free} free bytes did not fit: {status}")
            if not self.wrong and (status := self._status(client, 100)) != 507:
                self.wrong.append(f"an upload to a full quota got {status}")
        self.replies["exact fits"] += 1
        self._may_go_on.set()

    def _status(self, client: httpx.Client, size: int) -> int:
        try:
            return upload(client, png(size), pr_number=9).status_code
        except httpx.TransportError:
            return 0

    def _check_store(self) -> None:
        self.site.wait_until_up()
        self.site.sweep()
        truth = Truth.of(self.site)
        self.wrong += wrong_totals(truth) + wrong_store(truth, self.site.stored()) + errors_in(self.site.log)
