"""The workers of one component, and the sockets that they listen on."""

import contextlib
import errno
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from prshots.contract.errors import SettingsError
from prshots.server.adapters.counters.upload_log import create_memory
from prshots.server.processes import BACKLOG

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings

# Opens the components' ports, and spreads connections over the workers of each component. If all workers
# accepted from one socket, the first to wake up would take every connection in a burst and keep them: of two
# delivery workers, one was idle. On Linux, each worker therefore has its own socket on the port, and the
# kernel picks a socket by the addresses of each connection. The supervisor holds all sockets, so connections
# to a dead worker wait for its successor. systemd can open the ports and keep them open, so a restart refuses
# no connections: they wait in the socket's queue. systemd passes the sockets as descriptors 3 and up.
# LISTEN_FDS is their number, and LISTEN_PID is the process that receives them.

PORT_SECONDS, PORT_PAUSE_SECONDS = 10.0, 0.1
"""How long to wait for a port, and how long between two attempts. A stopping service holds its ports during
its grace period, and the workers of a killed supervisor hold them briefly."""

FIRST_FD = 3
_ON_LINUX = sys.platform == "linux"

_log = structlog.get_logger()


def listen(name: str, host: str, port: int, variable: str, workers: int = 1) -> list[socket.socket]:
    """Bind the port before anything starts, so a conflict shows early. Raises SettingsError.

    Return one socket per worker, or one for all.
    """
    if kept := _find_systemd_socket(port):
        return [kept]
    until, has_warned = time.monotonic() + PORT_SECONDS, False
    while True:
        try:
            return _bind(host, port, workers if _ON_LINUX else 1)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                reason = error.strerror or error
                raise SettingsError(f"cannot listen on {host}:{port} for {name}: {reason}") from error
        if time.monotonic() > until:
            break
        if not has_warned:
            _log.warning(
                f"port {port} on {host} is in use, waiting up to {PORT_SECONDS:g} s until it is free"
            )
            has_warned = True
        time.sleep(PORT_PAUSE_SECONDS)
    raise SettingsError(
        f"port {port} on {host} is in use: stop the program that uses it, or set {variable} to another port"
    )


def _bind(host: str, port: int, count: int) -> list[socket.socket]:
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket(family, socket.SOCK_STREAM)) for _ in range(count)]
        for listener in listeners:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit this from the listener. Without it, a reply in several pieces, such as one
            # from web's relay, would wait 40 ms for the client to acknowledge the first piece.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listeners[0].bind(address)  # without SO_REUSEPORT, so another service on the port causes an error
        for listener in listeners if count > 1 else ():
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        for listener in listeners[1:]:
            listener.bind(address)
        for listener in listeners:
            listener.listen(BACKLOG)
        stack.pop_all()
        return listeners


def _find_systemd_socket(port: int) -> socket.socket | None:
    """Return systemd's socket for this port, or None."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    for fd in range(FIRST_FD, FIRST_FD + int(os.environ.get("LISTEN_FDS", "0"))):
        listener = socket.socket(fileno=fd)
        if listener.family in {socket.AF_INET, socket.AF_INET6} and listener.getsockname()[1] == port:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as for our own sockets
            return listener
        listener.detach()
    return None


@dataclass(frozen=True)
class WorkerGroup:
    component: str
    workers: int
    listeners: Sequence[socket.socket]
    inherits: tuple[int, ...] = ()
    """Additional descriptors that the workers inherit."""

    @property
    def slots(self) -> list[str]:
        """The workers' names. A restarted worker keeps its predecessor's slot."""
        return [f"{self.component}-{number}" for number in range(self.workers)]

    def listener(self, slot: str) -> socket.socket:
        return self.listeners[self.slots.index(slot) % len(self.listeners)]


def open_worker_groups(settings: "Settings", components: list[str]) -> list[WorkerGroup]:
    """Open the ports of these components. Raises SettingsError."""
    known = {
        "web": (settings.web_port, "PRSHOTS_WEB_PORT", 1),
        "api": (settings.api_port, "PRSHOTS_API_PORT", settings.api_workers),
        "delivery": (settings.img_port, "PRSHOTS_IMG_PORT", settings.img_workers),
    }
    if components == ["sweep"]:  # otherwise another component's port serves the sweep's metrics
        known = {"sweep": (settings.sweep_port, "PRSHOTS_SWEEP_PORT", 1)}
    return [
        WorkerGroup(
            component,
            workers,
            listen(component, settings.host, port, variable, workers),
            (create_memory(),) if component == "api" and settings.counts_in_memory else (),
        )
        for component, (port, variable, workers) in known.items()
        if component in components
    ]
