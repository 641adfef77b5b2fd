"""A real HTTP proxy that misbehaves on request, in front of the service or a forge look-alike.

with UnreliableProxy(target) as front:
    front.will(refuse(429, {"Retry-After": "1"}), when="POST /v1/upload ", times=2)
    front.will(CUT, when="POST /repos/")
    … front.url …

It forwards all other requests. `front.seen` lists every complete request as "METHOD /path?query".
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Self

import httpx

from support.http_server import Answer, answering, relay


@dataclass(frozen=True)
class Misbehaviour:
    """What to do with a request: cut the connection, wait and forward it, reply with `status`, or never reply."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    wait: float = 0.0
    passed_on: bool = False
    cut: bool = False


def refuse(status: int, headers: Mapping[str, str] | None = None, body: object = None) -> Misbehaviour:
    """Send this reply instead of forwarding the request. The body is sent as JSON."""
    said = {"error": f"status {status}"} if body is None else body
    return Misbehaviour(
        status, {"Content-Type": "application/json", **(headers or {})}, json.dumps(said).encode()
    )


def slow(seconds: float) -> Misbehaviour:
    """Forward the request after a delay."""
    return Misbehaviour(wait=seconds, passed_on=True)


NEVER = Misbehaviour()
"""Accept the request, and do nothing."""

CUT = Misbehaviour(cut=True)
"""Cut the connection without forwarding the request."""

LOST_REPLY = Misbehaviour(passed_on=True, cut=True)
"""Forward the request, and cut the connection instead of replying."""


class UnreliableProxy:
    """A proxy that runs inside `with` and handles concurrent requests."""

    def __init__(
        self, target: str, on_request: Callable[[str, bytes], None] = lambda _request, _body: None
    ) -> None:
        self.target = target.rstrip("/")
        self.seen: list[str] = []
        self.seen_headers: list[dict[str, str]] = []
        self._on_request = on_request
        self._plans: list[tuple[str, Misbehaviour]] = []
        self._lock = threading.Lock()
        self._client = httpx.Client(
            timeout=60,
            trust_env=False,
            verify=False,  # plain HTTP; loading the certificates takes 50 ms
            limits=httpx.Limits(max_connections=64),
        )
        self._running = contextlib.ExitStack()

    def will(self, misbehaviour: Misbehaviour, *, when: str = "", times: int = 1) -> None:
        """Do this to the next `times` requests whose "METHOD /path " starts with `when`."""
        with self._lock:
            self._plans += [(when, misbehaviour)] * times

    def count(self, beginning: str) -> int:
        with self._lock:
            return sum(f"{request} ".startswith(beginning) for request in self.seen)

    def __enter__(self) -> Self:
        self.url = self._running.enter_context(answering(self._answer))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()
        self._client.close()

    def _answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> Answer | None:
        plan = self._plan_for(f"{asked.command} {asked.path}", asked.headers, body)
        reply = (plan.status, plan.headers, plan.body) if plan.status else None
        if plan.passed_on:
            time.sleep(plan.wait)
            reply = relay(asked, body, self._client, self.target + asked.path)
        if plan.cut:
            asked.connection.shutdown(socket.SHUT_RDWR)
            return None
        return reply

    def _plan_for(self, request: str, headers: Mapping[str, str], body: bytes) -> Misbehaviour:
        self._on_request(request, body)
        with self._lock:
            self.seen.append(request)
            self.seen_headers.append({name.lower(): value for name, value in headers.items()})
            for index, (beginning, misbehaviour) in enumerate(self._plans):
                if f"{request} ".startswith(beginning):
                    del self._plans[index]
                    return misbehaviour
        return Misbehaviour(passed_on=True)
