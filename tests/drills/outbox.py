"""Kill -9 while people decide: each pull request ends with the right status, and each decision with its audit entry.

Clients push commits to pull requests, compare them, and decide about one change after the other, while processes die. The
project is connected to a forge look-alike that takes its time for each reply.

The statuses of a pull request must arrive in this order, although any of them may come twice or not at all:

- No status of a commit arrives after one of a later commit.
- Each decision leaves fewer changes open. After a status that counts a decision, none arrives with more open changes, and
  none that says that the commit isn't compared yet.

A decision and its entry in the audit log are committed together, so their numbers are the same in every snapshot.
"""

import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import httpx

from drills.report import Progress, Result, errors_in, result_of
from drills.sites import Site
from support.connected_project import FORGE_SETTINGS, ConnectedForge, ConnectedProject, is_open
from support.drawn_pages import sha
from support.http_server import Answer
from support.waiting import wait_until

SETTINGS = {"WORKERS": "2", **FORGE_SETTINGS}
PULLS = 5
SHOTS = ("home", "cart", "help")
REPLY_SECONDS = 0.3
"""How long the forge takes, at most: long enough for a kill in the middle."""

PATIENCE_SECONDS = 240
"""How long statuses may take at the end. A dead holder's lease lasts 30 s, and pauses grow."""

KINDS = ("api",) * 6 + ("supervisor", "replica", "backend", "postgresql")
WAITING = "SELECT count(*) FROM outbox WHERE due_at IS NOT NULL"
RECORDED = (
    "SELECT count(*), (SELECT count(*) FROM audit_log WHERE action = 'decision.made' AND actor_kind = 'person') "
    "FROM decisions"
)
_OPEN = re.compile(r"(\d+) screenshots? to review")


class SlowForge(ConnectedForge):
    """Takes a random time before it accepts a request, even if its client has died."""

    def _reply(self, asked: BaseHTTPRequestHandler, body: bytes) -> Answer:
        time.sleep(random.random() * REPLY_SECONDS)
        return super()._reply(asked, body)


@dataclass
class Commit:
    """A commit of a pull request, and how many changes were open before the first decision about it."""

    sha: str
    open: int = 0


@dataclass
class OutboxDrill:
    """A series of kills on one site that is connected to one forge."""

    site: Site
    forge: ConnectedForge
    kills: int
    seed: int
    wrong: list[str] = field(default_factory=list)
    decisions: int = 0
    name: ClassVar = "outbox"

    def run(self, engines: str) -> Result:
        self._rng = random.Random(self.seed)
        self._progress = Progress(self.kills, "kills")
        self._set_up()
        self._pushed: dict[int, list[Commit]] = {number: [] for number in range(1, PULLS + 1)}
        self._stop = threading.Event()
        clients = [threading.Thread(target=self._work_on, args=(number,)) for number in self._pushed]
        for client in clients:
            client.start()
        try:
            self._kill_again_and_again()
        finally:
            self._stop.set()
            for client in clients:
                client.join()
        self._check_everything()
        return result_of(f"{self.name} {engines}", self._progress, self.seed, self._figures(), self.wrong)

    def _set_up(self) -> None:
        self._project = ConnectedProject(self.site.replicas, self.forge)
        self._project.upload_baselines(SHOTS)

    def _kill_again_and_again(self) -> None:
        kinds = [kind for kind in KINDS if kind in {"replica", *self.site.kinds}]
        while self._progress.done < self.kills and not self.wrong:
            time.sleep(self._rng.uniform(0.1, 1.0))
            self.site.kill(self._rng.choice(kinds), self._rng)
            self._progress.note(self._progress.done + 1, len(self.wrong))
            self.site.revive()
            if self._rng.random() < 0.7:  # the other kills hit processes that start
                self.site.wait_until_up()
                self._check_audit_log()
        self.site.wait_until_up()

    # Clients

    def _work_on(self, number: int) -> None:
        rng = random.Random(self.seed + number)
        try:
            while not self._stop.is_set():
                self._push_and_decide(number, rng)
        except AssertionError as error:
            self.wrong.append(f"pull request {number}: {error}")

    def _push_and_decide(self, number: int, rng: random.Random) -> None:
        commit = Commit(sha(f"{self.seed} {number} {len(self._pushed[number])}"))
        colors = {name: f"#{rng.randrange(16**6):06x}" for name in SHOTS}
        self._pushed[number].append(commit)
        self._patiently(lambda: self._project.push(number, commit.sha, colors))
        found = self._patiently(lambda: self._compare(number, commit.sha))
        commit.open = found["gate"]["open"]
        for shot in filter(is_open, found["shots"]):
            if rng.random() < 0.1 or self._stop.is_set():  # the next commit comes before the last decision
                break
            self._patiently(lambda shot=shot: self._approve(number, shot))
            time.sleep(rng.random() * 0.5)

    def _compare(self, number: int, commit_sha: str) -> dict[str, Any]:
        found = self._project.compare(number, commit_sha)
        if found["state"] != "compared":  # a process died: the job asks again
            raise httpx.ReadError(str(found["state"]))
        return found

    def _approve(self, number: int, shot: dict[str, Any]) -> None:
        self._project.decide(number, "approved", [shot]).raise_for_status()
        self.decisions += 1

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer: a client in CI also retries."""
        answers: list[Any] = []
        errors: list[str] = []

        def is_answered() -> bool:
            try:
                answers.append(ask())
            except httpx.HTTPError as error:
                errors.append(str(error))
                self.site.revive()
                time.sleep(0.1)
            return bool(answers)

        wait_until(is_answered, lambda: f"an answer; the last errors were {errors[-3:]}", PATIENCE_SECONDS)
        return answers[-1]

    # Checks

    def _check_audit_log(self) -> None:
        ((decisions, entries),) = self.site.snapshot(RECORDED)[0]
        if decisions != entries:
            self.wrong.append(f"{decisions} decisions, but {entries} entries in the audit log")

    def _check_everything(self) -> None:
        def are_all_sent() -> bool:
            return self.site.snapshot(WAITING)[0] == [(0,)]

        wait_until(are_all_sent, lambda: f"deliveries: {self._project.outbox()}", PATIENCE_SECONDS)
        for number, commits in self._pushed.items():
            commit_sha, statuses = self._project.expected(number)
            last, status = self.forge.statuses(commit_sha)[-1:], statuses["prshots"]
            if [each[:2] for each in last] != [status]:  # each replica has a URL of its own here
                self.wrong.append(f"pull request {number}: the last status is {last} instead of {status}")
            known = {commit.sha for commit in commits}
            arrived = [each for each in self.forge.arrived if each[0] in known]
            self.wrong += [f"pull request {number}: {each}" for each in wrong_order(commits, arrived)]
        self._check_audit_log()
        self.wrong += errors_in(self.site.log)

    def _figures(self) -> dict[str, int]:
        return {
            "commits": sum(map(len, self._pushed.values())),
            "decisions": self.decisions,
            "statuses": len(self.forge.arrived),
            "starts of the service": self.site.restarts,
        }


def wrong_order(commits: Sequence[Commit], arrived: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Yield the statuses of a pull request that arrived after newer ones."""
    order = {commit.sha: number for number, commit in enumerate(commits)}
    newest, fewest = -1, 0
    for commit_sha, state, words in arrived:
        number = order[commit_sha]
        if number < newest:
            yield f"{state} {words} of commit {number} arrived after a status of commit {newest}"
            continue
        if number > newest:
            newest, fewest = number, commits[number].open
        left = _open_in(state, words)
        if left is None and fewest < commits[number].open:
            yield f"{state} {words} of commit {number} arrived after a decision about it"
        elif left is not None and left > fewest:
            yield f"{state} {words} of commit {number} arrived when only {fewest} were open"
        fewest = fewest if left is None else min(left, fewest)


def _open_in(state: str, words: str) -> int | None:
    """Return how many changes a status calls open, or None if it has no comparison to count them in."""
    found = _OPEN.fullmatch(words)
    return int(found[1]) if found else 0 if state == "success" else None
