"""Kill -9 while pull requests are compared: a comparison is repeated or says `failed`, and is never half.

A client pushes commits whose verdicts it knows and asks for comparisons, another one looks at them all the time, while
processes die. Every final answer must have exactly these verdicts, and every answer before it some of them. At the end
the pull requests expire, and of them nothing is left.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from drills.report import Progress, Result, result_of
from drills.sites import Site
from support.drawn_pages import drawn_page, sha
from support.service import upload
from support.service_processes import fetch
from support.waiting import wait_until

SHOTS = 10
SCALE = 6
"""Pictures so large that a comparison takes about 2 s: long enough to be seen and killed halfway."""
PATIENCE_SECONDS = 90
"""How long a comparison may take while processes die. One that was abandoned is repeated after 20 s."""


@dataclass
class CompareDrill:
    """A series of comparisons on one site, each with a kill in the middle of it."""

    site: Site
    rounds: int
    seed: int
    wrong: list[str] = field(default_factory=list)
    seen: int = 0
    halfway: int = 0

    def run(self, engines: str) -> Result:
        self._rng = random.Random(self.seed)
        progress = Progress(self.rounds, "comparisons")
        replica, token = self.site.replicas[-1], self.site.replicas[0].new_token()
        self._client, self._watching = [replica.client(token, replica.web_url) for _ in range(2)]
        self._shown: dict[int, list[str]] = {}
        with self._client, self._watching:
            self._upload_baselines()
            for number in range(1, self.rounds + 1):
                self._compare_and_kill(number)
                progress.note(number, len(self.wrong))
            self.site.wait_until_up()
            self._expire_everything()
        figures = {"answers checked": self.seen, "of them halfway": self.halfway}
        return result_of(f"compare {engines}", progress, self.seed, figures, self.wrong)

    def _upload_baselines(self) -> None:
        for shot in range(SHOTS):
            form = {
                "name": f"shot-{shot}",
                "viewport": "320x240",
                "commit_sha": sha("base"),
                "branch": "main",
            }
            files = {"image": ("shot.png", drawn_page(f"{shot}", scale=SCALE), "image/png")}
            assert self._client.post("/v1/baseline", data=form, files=files).status_code == 200

    def _compare_and_kill(self, number: int) -> None:
        """Push a commit, and kill something while it is compared."""
        verdicts = {f"shot-{shot}": self._rng.choice(["changed", "unchanged"]) for shot in range(SHOTS)}
        self._push(number, verdicts)
        kind = self._rng.choice(["picture", *self.site.kinds])
        killer = threading.Thread(target=self._kill, args=(kind, self._rng.uniform(0.0, 2.0)))
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(number, verdicts, done))
        killer.start()
        watcher.start()
        try:
            self._until_compared(number, verdicts)
        finally:
            done.set()
            watcher.join()
            killer.join()
        self.site.wait_until_up()

    def _watch(self, number: int, verdicts: dict[str, str], done: threading.Event) -> None:
        """Look at the comparison, as a dashboard does."""
        while not done.wait(0.05):
            with contextlib.suppress(httpx.TransportError):
                reply = self._watching.get("/v1/compare", params={"pr_number": number})
                if reply.status_code == 200:
                    self._check(number, reply.json(), verdicts)

    def _push(self, number: int, verdicts: dict[str, str]) -> None:
        for name, verdict in verdicts.items():
            label = name.partition("-")[2]
            edit = self._rng.choice(
                [{"button": f"#{number % 200 + 20:02x}2000"}, {"banner": 10 + number % 40}]
            )
            drawn = edit if verdict == "changed" else {"compress": 2 + number % 8}
            fields = {
                "name": name,
                "pr_number": number,
                "commit_sha": sha(str(number)),
                "viewport": "320x240",
            }
            image = drawn_page(label, scale=SCALE, **drawn)
            self._patiently(lambda image=image, fields=fields: upload(self._client, image, **fields))

    def _kill(self, kind: str, after: float) -> None:
        time.sleep(after)
        if kind == "sweep":
            self.site.start_sweep().wait()
        else:
            self.site.kill(kind, random.Random(self.seed))
        self.site.revive()

    def _until_compared(self, number: int, verdicts: dict[str, str]) -> None:
        body = {
            "pr_number": number,
            "commit_sha": sha(str(number)),
            "branch": "main",
            "commits": [sha("base")],
            "complete": True,
        }
        reply = self._patiently(lambda: self._client.post("/v1/compare", json=body)).json()

        def is_final() -> bool:
            nonlocal reply
            self._check(number, reply, verdicts)
            if reply["state"] == "failed":  # said plainly: the client asks again
                reply = self._patiently(lambda: self._client.post("/v1/compare", json=body)).json()
            elif reply["state"] == "running":
                time.sleep(0.2)
                params = {"pr_number": number}
                reply = self._patiently(lambda: self._client.get("/v1/compare", params=params)).json()
            return bool(reply["state"] == "compared")

        wait_until(is_final, lambda: f"comparison {number}: {reply}", PATIENCE_SECONDS)
        self._check(number, reply, verdicts)
        self._shown[number] = [
            url
            for shot in reply["shots"]
            for url in (
                shot["view_url"],
                shot["diff_url"],
                *(closeup["url"] for closeup in shot["closeups"]),
            )
            if url
        ]

    def _check(self, number: int, reply: dict[str, Any], verdicts: dict[str, str]) -> None:
        told = {shot["name"]: shot["verdict"] for shot in reply["shots"]}
        died = {name for name, verdict in told.items() if verdict == "failed"}
        if any(verdicts[name] != verdict for name, verdict in told.items() if name not in died):
            self.wrong.append(f"pull request {number}: {told} instead of {verdicts}")
        self.seen += 1
        if reply["state"] != "compared":
            self.halfway += 0 < len(told) < len(verdicts)
            return
        if told.keys() != verdicts.keys():
            self.wrong.append(f"pull request {number} is compared, but has only {sorted(told)}")
        lacking = [
            shot["name"]
            for shot in reply["shots"]
            if shot["verdict"] in {"changed", "moved"} and not shot["diff_url"]
        ]
        if lacking:
            self.wrong.append(f"pull request {number} is compared, but {lacking} show no difference")

    def _expire_everything(self) -> None:
        for number, urls in self._shown.items():
            for url in urls:
                if fetch(url).status_code != 200:
                    self.wrong.append(f"pull request {number} shows {url}, which is not delivered")
            reply = self._patiently(
                lambda number=number: self._client.post("/v1/expire", json={"pr_number": number})
            )
            if reply.json()["expired"] < SHOTS:
                self.wrong.append(f"pull request {number}: {reply.text}")
        self.site.sweep()
        left = [url for urls in self._shown.values() for url in urls if fetch(url).status_code != 410]
        self.wrong += [f"{url} is still delivered" for url in left]
        baselines, comparisons = self.site.snapshot(
            "SELECT id, ext FROM images", "SELECT pr_number FROM comparisons"
        )
        if len(baselines) != SHOTS or comparisons:
            self.wrong.append(f"{len(baselines)} images and {len(comparisons)} comparisons are left")
        expected = {f"{str(image_id)[:2]}/{image_id}.{ext}" for image_id, ext in baselines}
        if self.site.stored().keys() != expected:
            self.wrong.append(
                f"the store has {sorted(self.site.stored().keys() ^ expected)[:5]} too many or few"
            )

    def _patiently(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        """Ask until there is an answer: a client in CI also retries."""
        replies: list[httpx.Response] = []

        def is_answered() -> bool:
            self.site.revive()
            try:
                replies.append(ask())
            except httpx.TransportError:
                time.sleep(0.1)
                return False
            return replies[-1].status_code in {200, 202}

        wait_until(is_answered, lambda: f"an answer; the last ones were {[r.text for r in replies[-3:]]}", 90)
        return replies[-1]
