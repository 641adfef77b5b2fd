"""Hands `prshots serve` over from the command to a process that needs less memory.

The command replaces itself with `python -P -m prshots.server.supervise PLAN`, which has the same process id
and the same open ports. It leaves a copy of itself, the greeter, which prints the greeting when the service
is ready and then exits.
"""

import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

import structlog

from prshots.server.observability.logs import configure_logs
from prshots.server.processes.supervisor import Supervisor
from prshots.server.processes.worker_group import WorkerGroup

COMPONENT = "serve"
"""The component name in the supervisor's log lines."""

Greet = Callable[[Callable[[], bool]], None]
"""Called in the greeter with a function that waits until the service is ready. The function returns False if
it never will be."""


def exec_supervisor(supervisor: Supervisor, logs: tuple[str, str], greet: Greet) -> NoReturn:
    """Replace this process with one that runs the supervisor. `logs` are its log format and level."""
    greeter, ready = _start_greeter(supervisor.groups, greet)
    groups = [
        (group.component, group.workers, [listener.fileno() for listener in group.listeners], group.inherits)
        for group in supervisor.groups
    ]
    plan = {
        "groups": groups,
        "sweeps": supervisor.sweeps,
        "drain_seconds": supervisor.drain_seconds,
        "grace_seconds": supervisor.grace_seconds,
        "ping_seconds": supervisor.ping_seconds,
        "logs": logs,
        "greeter": greeter,
        "ready": ready,
    }
    for fd in (ready, *(fd for _, _, listeners, others in groups for fd in (*listeners, *others))):
        os.set_inheritable(fd, True)
    command = [sys.executable, "-P", "-m", "prshots.server.supervise", json.dumps(plan)]
    os.execv(sys.executable, command)  # noqa: S606 - our own command


def read_plan(plan: str) -> Supervisor:
    """Return the supervisor that was passed to `exec_supervisor`, in the process that runs it."""
    facts = json.loads(plan)
    log_format, log_level = facts["logs"]
    configure_logs(log_format, log_level, COMPONENT)
    greeter, ready = facts["greeter"], facts["ready"]
    os.set_inheritable(ready, False)
    return Supervisor(
        groups=[
            WorkerGroup(component, workers, [socket.socket(fileno=fd) for fd in listeners], tuple(others))
            for component, workers, listeners, others in facts["groups"]
        ],
        sweeps=facts["sweeps"],
        drain_seconds=facts["drain_seconds"],
        grace_seconds=facts["grace_seconds"],
        ping_seconds=facts["ping_seconds"],
        on_ready=lambda: _release_greeter(greeter, ready),
    )


def _start_greeter(groups: Iterable[WorkerGroup], greet: Greet) -> tuple[int, int]:
    """Fork. Return the greeter's process id, and the pipe that signals when the service is ready."""
    wait, ready = os.pipe()
    greeter = os.fork()
    if greeter:
        os.close(wait)
        return greeter, ready
    try:
        os.close(ready)
        for listener in (listener for group in groups for listener in group.listeners):
            listener.close()
        greet(lambda: os.read(wait, 1) != b"")
        sys.stdout.flush()
    except Exception:  # noqa: BLE001 - the service works without a greeting
        structlog.get_logger().exception("cannot print the greeting")
    finally:
        os._exit(0)


def _release_greeter(greeter: int, ready: int) -> None:
    with contextlib.suppress(OSError):  # the greeter was killed
        os.write(ready, b"\n")
    os.close(ready)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(greeter, 0)
