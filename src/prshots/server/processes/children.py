"""The supervisor's child processes: starts and signals them, and ends them if the supervisor dies.

Each child inherits the lifeline, a pipe whose other end only the supervisor holds: see lifeline.py.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

KEEP_BUFFERS = {"MALLOC_MMAP_THRESHOLD_": str(2 * 1024**2), "MALLOC_TRIM_THRESHOLD_": str(32 * 1024**2)}
"""Tells glibc's malloc to keep the memory of an upload's chunks for the next upload. Returning it to the
kernel each time would spend a tenth of an upload's time on page faults."""


class Children:
    def __init__(self, config: Path | None) -> None:
        self._config = config
        self._running: set[asyncio.subprocess.Process] = set()
        self._is_stopping = False
        self._lifeline, self._held_open = os.pipe()

    async def start(
        self, module: str, *arguments: str, fds: tuple[int, ...], variables: dict[str, str]
    ) -> asyncio.subprocess.Process:
        """Start a module of this package with the descriptors as arguments. Raises OSError."""
        environment = KEEP_BUFFERS | os.environ | variables
        if self._config:
            environment["PRSHOTS_CONFIG"] = str(self._config)
        fds = (*fds, self._lifeline)
        # -P: never import from the working directory, because others may be able to write to it.
        program = [sys.executable, "-P", "-m", f"prshots.server.processes.{module}"]
        command = [*program, *arguments, *map(str, fds)]
        with _block_sigint():
            return await asyncio.create_subprocess_exec(
                *command, pass_fds=fds, env=environment, stdin=asyncio.subprocess.DEVNULL
            )

    @contextlib.contextmanager
    def track(self, child: asyncio.subprocess.Process) -> Iterator[None]:
        """Include the child in `stop` and `kill` for this block."""
        self._running.add(child)
        if self._is_stopping:  # `stop` was called while the child was starting
            _send(child, signal.SIGTERM)
        try:
            yield
        finally:
            self._running.discard(child)

    def stop(self) -> None:
        """Send SIGTERM to all children, including those that are starting."""
        self._is_stopping = True
        self._signal_all(signal.SIGTERM)

    def kill(self) -> None:
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self._running:
            _send(child, number)

    def close(self) -> None:
        os.close(self._lifeline)
        os.close(self._held_open)


def _send(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(number)


@contextlib.contextmanager
def _block_sigint() -> Iterator[None]:
    """Start children with SIGINT blocked. Ctrl-C would also reach them, but the supervisor stops them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
