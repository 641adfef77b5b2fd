"""Kill -9 while people decide: every decision's message arrives, in order, and never with another body.

The clients are those of the outbox drill, and so are its checks. The project also has a webhook, whose receiver
takes its time and refuses some messages after it has read them. Any message may arrive several times.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from drills.outbox import PATIENCE_SECONDS, REPLY_SECONDS, OutboxDrill
from drills.outbox import SETTINGS as CONNECTED
from support.http_server import Answer
from support.waiting import wait_until
from support.webhook_receiver import Received, Receiver, receiving

SETTINGS = {**CONNECTED, "WEBHOOK_NETWORKS": "127.0.0.0/8"}
REFUSED = 0.2
WAITING = "SELECT count(*) FROM webhook_deliveries WHERE due_at IS NOT NULL"
SENT = "SELECT id FROM webhook_deliveries WHERE event = 'decided' AND pr_number = {} ORDER BY seq"
DECIDED = "SELECT count(*) FROM decisions"


@contextmanager
def hesitant_receiver() -> Iterator[Receiver]:
    def reply(_: Received) -> Answer:
        time.sleep(random.random() * REPLY_SECONDS)
        return (500 if random.random() < REFUSED else 204), {}, b""

    with receiving() as receiver:
        receiver.reply = reply
        yield receiver


@dataclass(kw_only=True)
class WebhooksDrill(OutboxDrill):
    receiver: Receiver
    name: ClassVar = "webhooks"

    def _set_up(self) -> None:
        super()._set_up()
        asked = {"url": self.receiver.url, "format": "standard", "events": ["compared", "decided", "gate"]}
        with self._project.person() as person:
            made = person.ask("POST", "/organizations/local/webhooks", **asked, project_id=self._project.id)
            assert made.status_code == 201, made.text

    def _check_everything(self) -> None:
        def are_all_sent() -> bool:
            return self.site.snapshot(WAITING)[0] == [(0,)]

        wait_until(are_all_sent, "the messages", PATIENCE_SECONDS)
        self.wrong += wrong_messages(self.receiver.received)
        decided = [each.id for each in self.receiver.of("decided")]
        in_records = self.site.snapshot(DECIDED)[0][0][0]
        if not self.decisions <= in_records == len(set(decided)):
            self.wrong.append(
                f"{self.decisions} acknowledged decisions, {in_records} in the records, "
                f"{len(set(decided))} arrived"
            )
        for number in self._pushed:
            expected = [row[0] for row in self.site.snapshot(SENT.format(number))[0]]
            arrived = [each for each in dict.fromkeys(decided) if each in expected]
            if arrived != expected:
                self.wrong.append(f"pull request {number}: {arrived} arrived instead of {expected}")
            self.wrong += self._wrong_gate(number)
        super()._check_everything()

    def _wrong_gate(self, number: int) -> Iterator[str]:
        """Yield a difference between the gate and the last one that arrived."""
        gates = [each.message["data"] for each in self.receiver.of("gate")]
        sent = [data["gate"]["state"] for data in gates if data["pull_request"]["number"] == number]
        state = self._project.latest(number)["gate"]["state"]
        if sent[-1:] != [state]:
            yield f"pull request {number}: the gate is {state}, and {sent[-1:]} arrived last"

    def _figures(self) -> dict[str, int]:
        return super()._figures() | {
            "messages": len({each.id for each in self.receiver.received}),
            "arrivals": len(self.receiver.received),
        }


def wrong_messages(received: list[Received]) -> Iterator[str]:
    """Yield the messages that arrived with different bodies under one id."""
    bodies: dict[str, bytes] = {}
    for each in received:
        if bodies.setdefault(each.id, each.body) != each.body:
            yield f"{each.id} arrived as {each.body!r} and as {bodies[each.id]!r}"
