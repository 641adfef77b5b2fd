"""Three API processes that count uploads in Valkey, and how they handle an outage and its end.

The processes are those of `prshots serve`, except that an upload waits longer than 50 ms for Valkey: on a busy machine
Valkey may take longer, and the service then correctly accepts the upload uncounted.
"""

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import support
from support.engine_servers import Valkey, running_valkey
from support.raw_requests import (
    MULTIPART,
    Reply,
    body_of,
    connect,
    image_part,
    read_reply,
    request_head,
    text_parts,
)
from support.service import Service
from support.waiting import wait_until

AT_ONCE, LIMIT = 140, 120
GONE, BACK = "rate counter unavailable, uploads are not limited", "rate counter is back"
WORKERS = 3
PATIENT_API_WORKER = Path(support.__file__).with_name("patient_api_worker.py")


@contextlib.contextmanager
def api_processes(service: Service, counter_url: str, counter_seconds: float) -> Iterator[None]:
    """Run three API processes on one socket. Their counter waits `counter_seconds` for Valkey."""
    service.settings |= {"WORKERS": str(WORKERS), "COUNTER_URL": counter_url}
    lifeline, held_open = os.pipe()
    with (
        socket.create_server(("127.0.0.1", service.api_port), backlog=1024) as listener,
        (service.folder / "serve.log").open("ab") as log,
    ):
        processes = []
        pings = []
        for _ in range(WORKERS):
            ours, theirs = socket.socketpair()
            fds = (listener.fileno(), theirs.fileno(), lifeline)
            command = [sys.executable, PATIENT_API_WORKER, str(counter_seconds), "api", *map(str, fds)]
            processes.append(subprocess.Popen(command, env=service.env, stdout=log, stderr=log, pass_fds=fds))
            theirs.close()
            assert ours.recv(1)  # the worker is ready
            pings.append(ours)
        try:
            yield
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
            codes = [process.wait(timeout=60) for process in processes]
            for ours in pings:
                ours.close()
            os.close(lifeline)
            os.close(held_open)
    assert codes == [0] * WORKERS
    assert "Traceback" not in service.log


def burst(service: Service, token: str) -> list[Reply]:
    """Send concurrent uploads, each over its own connection, so that all processes get some.

    This uses plain sockets: 140 HTTP clients would need more processor time than the service.
    """
    body = body_of([*text_parts(), image_part()])
    head = request_head(token, f"Content-Type: {MULTIPART}", f"Content-Length: {len(body)}")
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(service)) for _ in range(AT_ONCE)]
        for connection in connections:
            connection.sendall(head + body)
        return [read_reply(connection) for connection in connections]


def statuses(replies: list[Reply]) -> Counter[int]:
    return Counter(reply.status for reply in replies)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "counter_seconds"), [("stopped", 3600), ("frozen", 2)])
def test_three_processes_together_accept_exactly_the_limit_except_while_valkey_is_down(
    service: Service, how: str, counter_seconds: float
) -> None:
    with running_valkey() as valkey, api_processes(service, valkey.url, counter_seconds):
        token = service.new_token()
        replies = burst(service, token)
        if how == "stopped":  # its processes wait for Valkey as long as a busy machine takes
            assert statuses(replies) == {200: LIMIT, 429: AT_ONCE - LIMIT}
            assert {reply.headers["retry-after"] for reply in replies if reply.status == 429} == {"60"}
        before = service.log.count(GONE)
        with away(valkey, how):
            for _ in range(2):
                assert statuses(burst(service, token)) == {200: AT_ONCE}
        # One line for each process that noticed, not for each upload.
        assert service.log.count(GONE) >= 1
        assert service.log.count(GONE) - before <= WORKERS
        wait_until(lambda: limits_again(service), "uploads to be limited again")
        assert service.log.count(BACK) >= 1
        uncounted = re.findall(rf"{BACK}.*failed_requests=(\d+)", service.log)
        assert sum(map(int, uncounted)) > 0


@contextlib.contextmanager
def away(valkey: Valkey, how: str) -> Iterator[None]:
    if how == "frozen":
        with valkey.frozen():
            yield
        return
    valkey.stop()
    yield
    valkey.start()


def limits_again(service: Service) -> bool:
    """Tell whether enough processes count again to limit a project."""
    token = service.new_token(f"again-{secrets.token_hex(4)}")
    return statuses(burst(service, token))[429] > 0
