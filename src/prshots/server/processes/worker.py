"""One worker process of a component. It inherits its listening socket from the supervisor.

The supervisor runs `python -P -m prshots.server.processes.worker COMPONENT FDS…`. The descriptors are the
listening socket, a socket for the supervisor's pings, the upload counter's memory (API only), and the
lifeline. The worker stops on SIGTERM.
"""

import asyncio
import contextlib
import functools
import gc
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import uvloop

from prshots.contract.errors import PrshotsError
from prshots.server.config.settings import Settings
from prshots.server.observability import metrics
from prshots.server.observability.logs import configure_logs
from prshots.server.observability.metrics_folder import RESTARTED_VARIABLE
from prshots.server.processes import WEB_SECONDS, hold, settings_of_child

if TYPE_CHECKING:
    from prshots.server.http.app_server import ClosableApp
    from prshots.server.http.socket_server import SocketServer

MAX_CONNECTIONS = 16_384
"""The maximum number of open connections per worker. Others wait until one closes."""

ENOUGH_CONNECTIONS = 2048
"""Below this limit, a worker logs a warning."""

FILES_PER_CONNECTION = 2
"""Each connection to the web component has a second one to the API."""

OTHER_FILES = 256
"""Files other than connections: the database, the store, libraries."""

Build = Callable[[Settings, socket.socket], "SocketServer"]

GARBAGE_THRESHOLD = 10_000
"""New objects in the API between two garbage collections: a few megabytes. Python's default is 700."""


def main() -> None:
    component, *fds = sys.argv[1:]
    listener_fd, pings_fd, *memory_fds, lifeline_fd = map(int, fds)
    hold(lifeline_fd)
    settings = settings_of_child()
    configure_logs(settings.log_format, settings.log_level, component)
    metrics.announce_process()
    metrics.watch_disks({"database": settings.local_database, "images": settings.local_store})
    metrics.WORKER_RESTARTS.labels(component).inc(_is_restart())
    build: dict[str, Build] = {
        "web": _build_web,
        "api": functools.partial(_build_api, memory_fds),
        "delivery": _build_delivery,
        "sweep": _build_sweep_status,
    }
    try:
        raise_file_limit()
        with socket.socket(fileno=listener_fd) as listener, socket.socket(fileno=pings_fd) as pings:
            listener.setblocking(False)
            pings.setblocking(False)
            uvloop.run(_serve(build[component], settings, listener, pings))
    except PrshotsError as error:
        structlog.get_logger().error(f"cannot start: {error}")
        sys.exit(1)


def raise_file_limit() -> None:
    """Allow as many open files as MAX_CONNECTIONS needs, or as many as the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_PER_CONNECTION * MAX_CONNECTIONS + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    if most_connections() < ENOUGH_CONNECTIONS:
        structlog.get_logger().warning(
            "too few connections allowed: raise the limit on open files to 65536",
            connections=most_connections(),
        )


def most_connections() -> int:
    """Return how many connections the limit on open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, (soft - OTHER_FILES) // FILES_PER_CONNECTION))


def _is_restart() -> bool:
    return RESTARTED_VARIABLE in os.environ


async def _serve(build: Build, settings: Settings, listener: socket.socket, pings: socket.socket) -> None:
    """Serve until SIGTERM.

    A second SIGTERM means that web has ended and sends no more requests to the API.
    """
    stopping, web_has_ended = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        (web_has_ended if stopping.is_set() else stopping).set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    server = build(settings, listener)
    server.start()
    _answer_pings(pings)
    await stopping.wait()
    server.drain()
    await asyncio.sleep(settings.drain_seconds)
    until = time.monotonic() + settings.grace_seconds
    if listener.getsockname()[1] != settings.web_port:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(web_has_ended.wait(), min(WEB_SECONDS, settings.grace_seconds / 2))
    server.stop_accepting()
    listener.close()
    await server.stop(max(0.0, until - time.monotonic()))


def _answer_pings(pings: socket.socket) -> None:
    """Tell the supervisor that this worker is ready, and answer its pings from the event loop."""

    def answer() -> None:
        with contextlib.suppress(OSError):  # the supervisor has ended, and the lifeline ends this process
            pings.send(pings.recv(1))

    asyncio.get_running_loop().add_reader(pings, answer)
    pings.send(b".")


def _build_delivery(settings: Settings, listener: socket.socket) -> "SocketServer":
    from prshots.server.delivery.decision import Delivery
    from prshots.server.delivery.server import DeliveryServer
    from prshots.server.http.readiness import Readiness
    from prshots.server.links import FileReader
    from prshots.server.wiring import awaited_keys, open_reader

    # Delivery only verifies, so a key that it created itself would be useless. It waits for the API's keys.
    reader, keys = open_reader(settings), awaited_keys(settings)

    async def check_keys() -> None:
        keys.ring()

    async def check_store() -> None:
        if isinstance(reader, FileReader):  # a disk may hang
            await asyncio.to_thread(reader.check)
        else:
            await reader.check()

    readiness = Readiness({"keys": check_keys, "store": check_store})
    return DeliveryServer(Delivery(reader, keys, settings.cache_seconds), listener, readiness)


def _build_api(memory_fds: Sequence[int], settings: Settings, listener: socket.socket) -> "SocketServer":
    from prshots.server.wiring.api import build_api

    app = build_api(settings, is_restart=_is_restart(), counter_memory=next(iter(memory_fds), None))
    app.start()
    # The program itself never becomes garbage, and requests leave few cycles. With Python's default,
    # collections would take a few percent of an upload's time.
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    return _build_server(app, listener, refuses_slow_bodies=True)


def _build_web(settings: Settings, listener: socket.socket) -> "SocketServer":
    from prshots.server.web import app
    from prshots.server.wiring import avatar_origins

    web = app.Web(
        files=Path(app.__file__).with_name("dashboard"),
        api_url=settings.api_url,
        base_url=settings.base_url,
        web_url=settings.web_url,
        img_url=settings.img_url,
        avatar_origins=avatar_origins(settings),
        log_requests=settings.log_requests,
    )
    return _build_server(web, listener)


def _build_sweep_status(_: Settings, listener: socket.socket) -> "SocketServer":
    """Build the health and metrics routes for a service that only sweeps. It is ready while it runs."""
    from starlette.routing import Router

    from prshots.server.http.error_boundary import ErrorBoundary
    from prshots.server.http.readiness import Readiness
    from prshots.server.http.telemetry import service_routes

    readiness = Readiness({})
    router = Router(service_routes(readiness), redirect_slashes=False)
    return _build_server(ErrorBoundary(router, readiness), listener)


def _build_server(
    app: "ClosableApp", listener: socket.socket, *, refuses_slow_bodies: bool = False
) -> "SocketServer":
    """Return a server for the app. Web forwards all bodies to the API, which refuses slow ones."""
    from prshots.server.http.app_server import AppServer

    return AppServer(app, listener, most_connections(), refuses_slow_bodies=refuses_slow_bodies)


if __name__ == "__main__":
    main()
