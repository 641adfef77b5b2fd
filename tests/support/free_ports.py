"""Ports for the servers that tests start."""

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

PORTS = range(10_000, 20_000)
"""Below 32,768, where the kernel starts to pick ports for connections: it could take one before the test does."""

ALSO_OPENED = 10_000
"""SeaweedFS also opens the port this far above each of its ports."""

_ours: set[int] = set()


def free_port() -> int:
    """Return a port that no other test gets, in this process, another worker or another run."""
    if len(_ours) > len(PORTS) // 4:  # the first tests are done with theirs
        _ours.clear()
    while True:
        port = random.choice(PORTS)
        if port not in _ours and _claim(port) and _is_free(port) and _is_free(port + ALSO_OPENED):
            _ours.add(port)
            return port


def _claim(port: int) -> bool:
    """Lock the port's byte in a file that all runs share. The kernel unlocks it when this process ends."""
    try:
        fcntl.lockf(_claims(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _claims() -> int:
    path = Path(tempfile.gettempdir(), f"prshots-test-ports-{os.getuid()}")
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
