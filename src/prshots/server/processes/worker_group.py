"""The workers that serve one component, and the sockets that they listen on."""

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

# Opens the ports of the components, and spreads connections over the workers of each. If all workers accepted
# from one socket, the first to wake up would take all connections of a burst and keep them: with two delivery
# workers, one was idle. So on Linux each worker has its own socket on the port, and the kernel picks one for
# each connection by its addresses. The supervisor holds all sockets, so connections to a worker that dies
# wait for its successor. systemd can open the ports and keep them open, so that a restart refuses no
# connection: connections wait in the queue of the socket. It passes the sockets as descriptors 3 and up.
# LISTEN_FDS has their number, and LISTEN_PID the process that they are for.

PORT_SECONDS, PORT_PAUSE_SECONDS = 10.0, 0.1
"""How long we wait for a port, and between two attempts. A stopping service holds its ports during its grace
period, and the workers of a killed supervisor hold them for a moment."""

FIRST_FD = 3
_ON_LINUX = sys.platform == "linux"

_log = structlog.get_logger()


def listen(name: str, host: str, port: int, variable: str, workers: int = 1) -> list[socket.socket]:
    """Bind the port before anything starts, so that a conflict shows early. Raises SettingsError.

    Return a socket for each worker, or one for all.
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
            # Connections inherit this from the listener. Without it, a reply in several pieces, such as the
            # relay's in the web component, would wait 40 ms for the client to acknowledge the first piece.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listeners[0].bind(address)  # without SO_REUSEPORT, so that another service on the port is an error
        for listener in listeners if count > 1 else ():
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        for listener in listeners[1:]:
            listener.bind(address)
        for listener in listeners:
            listener.listen(BACKLOG)
        stack.pop_all()
        return listeners


def _find_systemd_socket(port: int) -> socket.socket | None:
    """Return systemd's socket for this port, if it has one."""
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
    """Further descriptors that the workers get."""

    @property
    def slots(self) -> list[str]:
        """The names of the workers. A restarted worker keeps the slot of its predecessor."""
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
