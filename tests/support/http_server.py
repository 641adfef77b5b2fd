"""A real HTTP server in a thread, whose replies the test decides."""

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

Answer = tuple[int, Mapping[str, str], bytes]
"""A status, headers and a body."""

_NOT_RELAYED = {
    *("connection", "keep-alive", "host", "expect"),
    *("content-length", "content-encoding", "transfer-encoding"),
}
"""Headers about the connection, and about a body that httpx decodes."""


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing, not even a client that hangs up: some tests do so on purpose."""

    wbufsize = -1  # send head and body together, or the kernel delays the body by 40 ms

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextlib.contextmanager
def serving(
    handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[str]:
    """Serve inside the `with` block, by default on any free port, and return the address."""
    with _Server(("127.0.0.1", port), handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def as_json(status: int, said: object) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(said).encode()


def relay(asked: BaseHTTPRequestHandler, body: bytes, client: httpx.Client, url: str) -> Answer:
    """Send the request to this URL, and return the reply."""
    reply = client.request(asked.command, url, headers=_relayed(asked.headers), content=body)
    return reply.status_code, _relayed(reply.headers), reply.content


def _relayed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _NOT_RELAYED}


def answering(
    answer: Callable[[BaseHTTPRequestHandler, bytes], Answer | None], tls: ssl.SSLContext | None = None
) -> contextlib.AbstractContextManager[str]:
    """Serve what `answer` returns for each request and its body. If that is None, never reply."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) or self._chunks()
            if len(body) < length:  # the client hung up halfway, and the next test may have begun
                return
            reply = answer(self, body)
            if reply is None:
                self.rfile.read()  # until the client disconnects
                return
            status, headers, body = reply
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _chunks(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return b""
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_PURGE = do_any  # noqa: N815 - the library looks for these

    return serving(Handler, tls)


@contextlib.contextmanager
def dripping() -> Iterator[str]:
    """Serve replies whose headers arrive one by one, for 8 s."""
    ended = threading.Event()

    def drip(asked: BaseHTTPRequestHandler, _: bytes) -> None:
        asked.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(400):
            if ended.wait(0.02):
                return
            asked.wfile.write(b"X-%d: y\r\n" % number)
            asked.wfile.flush()

    with answering(drip) as url:
        try:
            yield url
        finally:
            ended.set()
