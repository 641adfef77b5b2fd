"""A real HTTP proxy that misbehaves on request, in front of the service or a forge look-alike.

with UnreliableProxy(target) as front:
    front.will(refuse(429, {"Retry-After": "1"}), when="POST /v1/upload", times=2)
    front.will(CUT, when="POST /repos/")
    … front.url …

It forwards all other requests. `front.seen` lists every complete request as "METHOD /path?query".
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import httpx

from support.http_server import QuietHandler, serving

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "host", "keep-alive", "expect"}


@dataclass(frozen=True)
class Misbehaviour:
    """What to do with a request: wait, forward it or not, then reply or cut the connection."""

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


NEVER = Misbehaviour(wait=3600, cut=True)
"""Accept the request, and do nothing for longer than any test runs."""


CUT = Misbehaviour(cut=True)
"""Cut the connection without forwarding the request."""


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
        self.ended = threading.Event()

    def will(self, misbehaviour: Misbehaviour, *, when: str = "", times: int = 1) -> None:
        """Do this to the next `times` requests whose "METHOD /path" starts with `when`."""
        with self._lock:
            self._plans += [(when, misbehaviour)] * times

    def count(self, beginning: str) -> int:
        with self._lock:
            return sum(request.startswith(beginning) for request in self.seen)

    def __enter__(self) -> Self:
        self.url = self._running.enter_context(serving(_handler_of(self)))
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._running.close()
        self._client.close()

    def plan_for(self, request: str, headers: Mapping[str, str], body: bytes) -> Misbehaviour:
        self._on_request(request, body)
        with self._lock:
            self.seen.append(request)
            self.seen_headers.append({name.lower(): value for name, value in headers.items()})
            for index, (beginning, misbehaviour) in enumerate(self._plans):
                if request.startswith(beginning):
                    del self._plans[index]
                    return misbehaviour
        return Misbehaviour(passed_on=True)

    def pass_on(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        kept = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
        return self._client.request(method, self.target + path, headers=kept, content=body)


def _handler_of(front: UnreliableProxy) -> type[QuietHandler]:
    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) or self._chunks()
            if len(body) < length:  # it hung up halfway, and the next test may have begun
                self.close_connection = True
                return
            headers = dict(self.headers.items())
            plan = front.plan_for(f"{self.command} {self.path}", headers, body)
            front.ended.wait(plan.wait)
            reply = front.pass_on(self.command, self.path, headers, body) if plan.passed_on else None
            if plan.cut:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if reply is not None:
                self._reply(reply.status_code, reply.headers.multi_items(), reply.content)
            else:
                self._reply(plan.status, list(plan.headers.items()), plan.body)

        def _chunks(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return b""
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in HOP_BY_HOP | {"content-encoding"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_PURGE = do_any  # noqa: N815 - the library looks for these

    return Handler
