"""One worker process of one component, which inherits its listening socket from the supervisor.

The supervisor runs `python -P -m prshots.server.processes.worker PART FDS…`. The descriptors are the
listening socket, a pipe that the worker closes when it is ready, the memory of the upload counter (API only),
and the lifeline. The worker stops on SIGTERM.
"""

import asyncio
import functools
import gc
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import structlog
import uvloop

from prshots.contract.errors import PrshotsError
from prshots.server.config.settings import Settings
from prshots.server.observability import metrics
from prshots.server.observability.logs import configure_logs
from prshots.server.observability.metrics_folder import RESTARTED_VARIABLE
from prshots.server.processes import settings_of_child
from prshots.server.processes.closing import last_accepted, requests_begun
from prshots.server.processes.kept_listeners import AFTER_WEB_SECONDS, is_kept
from prshots.server.processes.lifeline import hold

if TYPE_CHECKING:
    from prshots.server.http.asgi_server import ClosableApp
    from prshots.server.http.socket_server import SocketServer

MAX_CONNECTIONS = 16_384
"""Open connections of one worker. More wait until one closes."""

ENOUGH_CONNECTIONS = 2048
FILES_PER_CONNECTION = 2
"""A connection of the web component has another one to the API."""

OTHER_FILES = 256

READ_AHEAD, WEB_READ_AHEAD = 128 * 1024, 64 * 1024
"""How much of a body is read at a time. With less, large uploads take longer. Web holds each part twice: it
relays uploads to the API."""

Serve = Callable[[Settings, socket.socket, asyncio.Event, int], Awaitable[None]]

GARBAGE_THRESHOLD = 10_000
"""New objects of the API between two searches for garbage: a few megabytes. Python's default is 700."""


def main() -> None:
    part, *fds = sys.argv[1:]
    listener_fd, ready_fd, *memory_fds, lifeline_fd = map(int, fds)
    hold(lifeline_fd)
    settings = settings_of_child()
    configure_logs(settings.log_format, part)
    metrics.watch_disks({"database": settings.local_database, "images": settings.local_store})
    metrics.WORKER_RESTARTS.labels(part).inc(_is_restart())
    try:
        serving: dict[str, Serve] = {
            "web": _serve_web,
            "api": functools.partial(_serve_api, memory_fds),
            "delivery": _serve_delivery,
            "sweep": _serve_sweep_status,
        }
        raise_file_limit()
        with socket.socket(fileno=listener_fd) as listener:
            listener.setblocking(False)
            uvloop.run(_run(lambda stop: serving[part](settings, listener, stop, ready_fd)))
    except PrshotsError as error:
        structlog.get_logger().error(f"cannot start: {error}")
        sys.exit(1)


def raise_file_limit() -> None:
    """Allow as many open files as the most connections need, or as many as the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_PER_CONNECTION * MAX_CONNECTIONS + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    if most_connections() < ENOUGH_CONNECTIONS:
        structlog.get_logger().warning(
            "room for few connections: raise the limit of open files to 65536",
            connections=most_connections(),
        )


def most_connections() -> int:
    """Return how many connections fit into the limit of open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, (soft - OTHER_FILES) // FILES_PER_CONNECTION))


def _is_restart() -> bool:
    return RESTARTED_VARIABLE in os.environ


async def _run(serve: Callable[[asyncio.Event], Any]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await serve(stop)


async def _serve_delivery(
    settings: Settings, listener: socket.socket, stop: asyncio.Event, ready_fd: int
) -> None:
    from prshots.server.delivery.server import DeliveryServer
    from prshots.server.wiring.delivery import build_delivery

    decision, readiness = build_delivery(settings)
    await _serve_until_stopped(
        DeliveryServer(decision, listener, readiness), settings, listener, stop, ready_fd
    )


async def _leave(listener: socket.socket, stop_accepting: Callable[[], None], settings: Settings) -> float:
    """Drain, then stop accepting without losing a request. Return what is left of the grace period."""
    await asyncio.sleep(settings.drain_seconds)
    until = time.monotonic() + settings.grace_seconds
    port = listener.getsockname()[1]
    if not is_kept(listener):
        await last_accepted(listener)
    elif port != settings.web_port:  # web's last requests go to the API
        await asyncio.sleep(min(AFTER_WEB_SECONDS, settings.grace_seconds / 2))
    stop_accepting()
    listener.close()
    await requests_begun(port)
    return max(0.0, until - time.monotonic())


async def _serve_api(
    memory_fds: Sequence[int],
    settings: Settings,
    listener: socket.socket,
    stop: asyncio.Event,
    ready_fd: int,
) -> None:
    from prshots.server.wiring.api import build_api

    app = build_api(settings, is_restart=_is_restart(), counter_memory=next(iter(memory_fds), None))
    # The program itself never becomes garbage, and requests leave few cycles. Searching both as often as
    # Python does by default takes a few percent of an upload's time.
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    await _serve_app(app, settings, listener, stop, ready_fd)


async def _serve_web(settings: Settings, listener: socket.socket, stop: asyncio.Event, ready_fd: int) -> None:
    from prshots.server.wiring.web import build_web

    await _serve_app(build_web(settings), settings, listener, stop, ready_fd, read_ahead=WEB_READ_AHEAD)


async def _serve_sweep_status(
    settings: Settings, listener: socket.socket, stop: asyncio.Event, ready_fd: int
) -> None:
    from prshots.server.processes.sweep_status import sweep_status

    await _serve_app(sweep_status(), settings, listener, stop, ready_fd)


async def _serve_app(
    app: "ClosableApp",
    settings: Settings,
    listener: socket.socket,
    stop: asyncio.Event,
    ready_fd: int,
    *,
    read_ahead: int = READ_AHEAD,
) -> None:
    from prshots.server.http.asgi_server import AsgiServer

    await _serve_until_stopped(
        AsgiServer(app, listener, most_connections(), read_ahead), settings, listener, stop, ready_fd
    )


async def _serve_until_stopped(
    server: "SocketServer", settings: Settings, listener: socket.socket, stop: asyncio.Event, ready_fd: int
) -> None:
    server.start()
    os.close(ready_fd)
    await stop.wait()
    server.drain()
    seconds_left = await _leave(listener, server.stop_accepting, settings)
    await server.stop(seconds_left)


if __name__ == "__main__":
    main()
