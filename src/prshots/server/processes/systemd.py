"""Reports the supervisor's state to systemd, which may be waiting for it (`Type=notify`, `WatchdogSec`)."""

import contextlib
import os
import socket

FOREVER = 3600.0


def notify(state: str) -> None:
    """Send a state such as READY=1. Does nothing without systemd."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending, contextlib.suppress(OSError):
            sending.setblocking(False)  # the supervisor never waits for systemd
            sending.sendto(state.encode(), address.replace("@", "\0", 1))


def watchdog_seconds() -> float:
    """Return how long systemd waits between two reports, or a long time if it doesn't wait for any."""
    return int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6 or FOREVER
