"""Listening sockets that systemd opens and keeps open, so that a restart refuses no connection.

systemd passes them as descriptors 3 and up. LISTEN_FDS has their number, and LISTEN_PID the process that they
are for. While the service restarts, connections wait in the queue of the socket.
"""

import os
import socket

FIRST_FD = 3


def find_socket(port: int) -> socket.socket | None:
    """Return systemd's socket for this port, if it has one."""
    for fd in _fds_for(os.getpid()):
        listener = socket.socket(fileno=fd)
        if listener.family in {socket.AF_INET, socket.AF_INET6} and listener.getsockname()[1] == port:
            # As for our own sockets: see `listeners._bind`.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener
        listener.detach()
    return None


def _fds_for(pid: int) -> range:
    if os.environ.get("LISTEN_PID") != str(pid):
        return range(0)
    return range(FIRST_FD, FIRST_FD + int(os.environ.get("LISTEN_FDS", "0")))
