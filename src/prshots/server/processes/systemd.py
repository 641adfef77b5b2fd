"""Reports the supervisor's state to systemd, which may be waiting for it (`Type=notify`, `WatchdogSec`)."""

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send a state such as READY=1. Does nothing without systemd."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending, contextlib.suppress(OSError):
            sending.setblocking(False)  # the supervisor never waits for systemd
            sending.sendto(state.encode(), address.replace("@", "\0", 1))
