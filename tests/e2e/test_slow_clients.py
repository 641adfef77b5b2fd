"""Thousands of slow clients keep no one else waiting, and use little memory."""

import contextlib
import json
import selectors
import socket
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from support.open_files import many_files  # noqa: F401 - a fixture
from support.raw_requests import MULTIPART, image_head, read_reply, request_head
from support.service import MAX_BYTES, Service, png, upload
from support.service_processes import component_pids, resident_bytes
from support.signed_in_people import sign_in
from support.waiting import wait_until

CONNECTIONS = 2000
STALLED_UPLOADS = 200
MEMORY_MB = 400

HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: "


def unfinished_upload(token: str) -> bytes:
    return request_head(token, f"Content-Type: {MULTIPART}", f"Content-Length: {MAX_BYTES}") + image_head()


@contextlib.contextmanager
def connections(address: str, number: int, *, each_sends: bytes = b"") -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(number):
            where = urlsplit(address)
            opened.append(stack.enter_context(socket.create_connection((where.hostname, where.port), 60)))
            opened[-1].sendall(each_sends)
        yield opened


def trickle(slow: list[socket.socket]) -> None:
    """Send one more byte over each connection that is still open."""
    for each in slow:
        with contextlib.suppress(OSError):
            each.send(b"a")


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize(
    "each_sends", [b"", HALF_A_HEAD, unfinished_upload("none")], ids=["idle", "half a head", "half a body"]
)
@pytest.mark.parametrize(
    ("component", "path"), [("base_url", "/v1/limits"), ("web_url", "/v1/limits"), ("img_url", "/healthz")]
)
def test_2000_slow_connections_keep_no_one_else_waiting(
    shared_service: Service, component: str, path: str, each_sends: bytes
) -> None:
    address = getattr(shared_service, component)
    with connections(address, CONNECTIONS, each_sends=each_sends) as slow:
        for _ in range(3):
            if each_sends:
                trickle(slow)
            # 128 idle connections used to block everyone for 29.5 s.
            assert httpx.get(f"{address}{path}", timeout=25).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("component", ["base_url", "web_url"])
def test_a_body_without_a_valid_token_is_not_read_to_its_end(shared_service: Service, component: str) -> None:
    address = getattr(shared_service, component)
    with connections(address, 1, each_sends=unfinished_upload("none")) as [stranger]:
        reply = read_reply(stranger)
        assert (reply.status, reply.error) == (401, "unauthorized")
        assert stranger.recv(1) == b""


def send_as_much_as_is_taken(slow: list[socket.socket], data: bytes) -> None:
    """Send the data over each connection, until the service takes no more of any."""
    left = dict.fromkeys(slow, memoryview(data))
    with selectors.DefaultSelector() as selector:
        for each in slow:
            each.setblocking(False)
            selector.register(each, selectors.EVENT_WRITE)
        while ready := selector.select(timeout=1):
            for key, _ in ready:
                sent = key.fileobj.send(left[key.fileobj])
                left[key.fileobj] = left[key.fileobj][sent:]
                if not left[key.fileobj]:
                    selector.unregister(key.fileobj)


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_stalled_uploads_use_little_memory_and_others_still_upload(service: Service) -> None:
    service.start()
    for component, tokens in (("base_url", 1), ("web_url", 10)):
        stall_uploads(service, component, tokens)


@pytest.mark.slow
def test_stalled_uploads_of_one_project_leave_room_for_others(shared_service: Service) -> None:
    """The project has six tokens. Another project uploads and expires, even one of the same organization."""
    with sign_in(shared_service) as owner, contextlib.ExitStack() as stack:
        project, tokens_of_others = (
            owner.project(),
            (owner.token(owner.project()), shared_service.new_token()),
        )
        slow = []
        for _ in range(6):
            first = unfinished_upload(owner.token(project))
            slow += stack.enter_context(connections(shared_service.base_url, 18, each_sends=first))
        send_as_much_as_is_taken(slow, png(MAX_BYTES - 100_000))
        for token in tokens_of_others:
            with shared_service.client(token) as client:
                assert upload(client, png(MAX_BYTES - 1)).status_code == 200
                assert client.post("/v1/expire", json={"pr_number": 7}).json()["expired"] == 1
        still_open = list(filter(is_silent, slow))
        assert still_open


def is_silent(stalled: socket.socket) -> bool:
    """Return whether the service is still waiting for the rest of the upload."""
    try:
        stalled.recv(1)
    except BlockingIOError:
        return True
    return False


def stall_uploads(service: Service, component: str, tokens: int) -> None:
    pids = component_pids(service)
    with contextlib.ExitStack() as stack:
        slow = []
        for _ in range(tokens):
            first = unfinished_upload(service.new_token())
            number = STALLED_UPLOADS // tokens
            slow += stack.enter_context(connections(getattr(service, component), number, each_sends=first))
        send_as_much_as_is_taken(slow, png(MAX_BYTES - 100_000))
        if tokens == 1:
            with service.client(service.new_token()) as client:
                assert upload(client).status_code == 200
        refused = Counter(wait_for_refusals(slow))
        assert refused[(503, "too many uploads in progress, retry later", "5")] > STALLED_UPLOADS // 2
        assert sum(refused.values()) < STALLED_UPLOADS  # some uploads are under way
        assert sum(resident_bytes(pids[part]) for part in ("web", "api")) / 1024**2 < MEMORY_MB


def wait_for_refusals(slow: list[socket.socket]) -> list[tuple[int, str, str]]:
    """Return the status, message and Retry-After of each reply, once enough have arrived."""
    replies: dict[socket.socket, bytes] = dict.fromkeys(slow, b"")

    def enough() -> bool:
        for each in slow:
            with contextlib.suppress(OSError):
                replies[each] += each.recv(65536)
        return len(whole_ones()) > STALLED_UPLOADS // 2

    def whole_ones() -> list[bytes]:
        """Return the replies whose JSON has arrived: head and body can arrive one after the other."""
        return [reply for reply in replies.values() if reply.endswith(b"}")]

    wait_until(enough, "refusals")
    return [refusal(reply) for reply in whole_ones()]


def refusal(reply: bytes) -> tuple[int, str, str]:
    head, _, body = reply.decode().partition("\r\n\r\n")
    status, *fields = head.split("\r\n")
    headers = dict(field.lower().split(": ", 1) for field in fields)
    return int(status.split()[1]), json.loads(body)["error"], headers.get("retry-after", "")
