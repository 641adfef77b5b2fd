"""Mutated requests against all three components: no 5xx from input, no hang, no restart.

Nine of ten requests keep their framing: they go over kept connections, several at once, and must get a reply. The
others are broken as bytes. Each has its own connection, and may be refused without a reply.
"""

import asyncio
import random
import re
from collections import Counter, deque
from dataclasses import dataclass, field

import uvloop

from drills import content_mutations, wire_mutations
from drills.drafts import PORTS, Draft, drafts, new_state, pick
from drills.exchange import HungError, KeptConnection, NoReplyError, send_alone
from drills.report import Progress, Result, errors_in, result_of
from support.service import UNTRUSTED_ISSUER, Service
from support.service_processes import WORKERS, component_pids, wait_for_first_sweep

CONNECTIONS = 24
WIRE_SHARE = 0.1
PIPELINED = (1, 1, 1, 2, 4, 8)
STATE_REQUESTS = 10_000
"""After this many requests the drill signs in again: they may have ended the session or deleted the project."""

MANY_VIOLATIONS = 50
SETTINGS = {"UPLOADS_PER_MINUTE": "100000000", "TRUSTED_ISSUERS": UNTRUSTED_ISSUER}
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (5\d\d) [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n[^\r\n]{0,200}")
_REQUEST_ID = re.compile(rb"\r\nx-request-id: ([\w.-]+)")
_DOCUMENTED = re.compile(
    rb"issuer unavailable, retry later|too many uploads in progress, retry later", re.IGNORECASE
)


@dataclass(frozen=True)
class Case:
    """A request to send: its port, its bytes, and whether it must get a reply."""

    port: str
    raw: bytes
    is_framed: bool
    is_head: bool = False


def case_from(draft: Draft, rng: random.Random) -> Case:
    changed = content_mutations.mutated(draft, rng)
    if rng.random() < WIRE_SHARE:
        return Case(
            draft.port, wire_mutations.mutated((changed if rng.random() < 0.3 else draft).wire(), rng), False
        )
    return Case(draft.port, changed.wire(), True, changed.method == "HEAD")


def is_violation(status: int, reply: bytes) -> bool:
    """Whether this reply must not be caused by input.

    A 501 to a transfer coding, and a 503 that says when to retry, are documented.
    """
    if status < 500 or (status == 501 and b"transfer coding not supported" in reply):
        return False
    return not (status == 503 and _DOCUMENTED.search(reply) and b"\r\nretry-after:" in reply.lower())


@dataclass
class RequestsDrill:
    service: Service
    count: int
    seed: int
    violations: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def run(self) -> Result:
        self._progress = Progress(self.count, "requests")
        self._ports = dict(
            zip(PORTS, (self.service.api_port, self.service.web_port, self.service.img_port), strict=True)
        )
        self._recent: deque[Case] = deque(maxlen=4 * CONNECTIONS)
        self._log_seen = 0
        wait_for_first_sweep(self.service)
        self._pids = self._workers()
        self._sent = 0
        uvloop.run(self._send_all())
        return result_of(
            "requests", self._progress, self.seed, dict(sorted(self.statuses.items())), self.violations
        )

    async def _send_all(self) -> None:
        batch = 0
        while self._sent < self.count and len(self.violations) < MANY_VIOLATIONS:
            self._drafts = drafts(await asyncio.to_thread(new_state, self.service))
            self._until = min(self.count, self._sent + STATE_REQUESTS)
            clients = [
                self._client(random.Random(f"{self.seed}/{batch}/{number}")) for number in range(CONNECTIONS)
            ]
            await asyncio.gather(*clients)
            self._inspect()
            batch += 1

    async def _client(self, rng: random.Random) -> None:
        kept = {port: KeptConnection(number) for port, number in self._ports.items()}
        while self._sent < self._until:
            case = case_from(pick(rng, self._drafts), rng)
            cases = [case]
            if case.is_framed:  # several at once, all to the same component
                more = (
                    case_from(rng.choice(self._drafts[case.port]), rng)
                    for _ in range(rng.choice(PIPELINED) - 1)
                )
                cases += [each for each in more if each.is_framed]
            self._sent += len(cases)
            self._recent.extend(cases)
            await (self._send_framed(kept[case.port], cases) if case.is_framed else self._send_wire(case))
            self._progress.note(self._progress.done + len(cases), len(self.violations))
        for connection in kept.values():
            await connection.close()

    async def _send_framed(self, connection: KeptConnection, cases: list[Case]) -> None:
        try:
            replies = await connection.ask([(case.raw, case.is_head) for case in cases])
        except NoReplyError as error:
            self._violate(repr(error), cases[error.number])
        else:
            for case, reply in zip(cases, replies, strict=True):
                self.statuses[f"{reply.status // 100}xx"] += 1
                if is_violation(reply.status, reply.head + reply.body):
                    self._violate(f"{reply.status} {reply.body[:200]!r} {self._logged(reply.head)}", case)

    async def _send_wire(self, case: Case) -> None:
        try:
            received = await send_alone(self._ports[case.port], case.raw)
        except HungError as error:
            self._violate(f"hung ({error})", case)
            return
        except OSError as error:
            self._violate(f"no connection ({error})", case)
            return
        self.statuses[f"{chr(received[9])}xx" if len(received) > 9 else "closed without a reply"] += 1
        for found in _STATUS_LINE.finditer(received):
            if is_violation(int(found[1]), found[0]):
                self._violate(f"{found[0][-300:]!r} {self._logged(found[0])}", case)

    def _violate(self, what: str, *cases: Case) -> None:
        self.violations += [f"{case.port}: {what}\n    {case.raw[:2000]!r}" for case in cases]

    def _logged(self, head: bytes) -> str:
        """Return what the service has logged about a request, by its id in the reply."""
        found = _REQUEST_ID.search(head)
        lines = self.service.log.splitlines() if found else []
        return " / ".join(line[:500] for line in lines if found and found[1].decode() in line)

    def _inspect(self) -> None:
        """Look for workers that were replaced, and for errors in the log."""
        pids = self._workers()
        if pids != self._pids:
            self._violate(f"workers were {self._pids}, are {pids}", *self._recent)
            self._pids = pids
        log = self.service.log
        self.violations += errors_in(log[self._log_seen :])
        self._log_seen = len(log)

    def _workers(self) -> dict[str, int]:
        found = component_pids(self.service)
        return {part: pid for part, pid in found.items() if part in WORKERS}
