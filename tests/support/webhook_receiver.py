"""A server that receives messages of webhooks."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from support.http_server import Answer, answering
from support.waiting import wait_until


class Received(NamedTuple):
    id: str
    timestamp: str
    signatures: list[str]
    body: bytes
    headers: dict[str, str]

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """Verify as a receiver does."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = f"{self.id}.{self.timestamp}.".encode() + self.body
        expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        is_fresh = abs(time.time() - int(self.timestamp)) < 300
        return is_fresh and f"v1,{expected}" in self.signatures


@dataclass
class Receiver:
    url: str = ""
    reply: Callable[[Received], Answer | None] = lambda _: (204, {}, b"")
    received: list[Received] = field(default_factory=list)

    def answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> Answer | None:
        headers = {name.lower(): value for name, value in asked.headers.items()}
        signatures = headers["webhook-signature"].split(" ")
        got = Received(headers["webhook-id"], headers["webhook-timestamp"], signatures, body, headers)
        self.received.append(got)
        return self.reply(got)

    def of(self, event: str) -> list[Received]:
        return [each for each in self.received if each.message["type"] == event]

    def wait_for(self, event: str, count: int = 1) -> Received:
        wait_until(lambda: len(self.of(event)) >= count, lambda: f"{event}, got {self.received}")
        return self.of(event)[count - 1]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    with answering(receiver.answer) as url:
        receiver.url = f"{url}/hook?key=1"
        yield receiver
