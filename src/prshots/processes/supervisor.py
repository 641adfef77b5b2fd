"""`prshots serve`: starts the parts, starts again what dies, sweeps every hour, and stops it all cleanly."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from prshots.errors import SettingsError
from prshots.settings import Settings

STOP_SECONDS = 4.7
SWEEP_INTERVAL_SECONDS = 3600.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 5.0
STEADY_SECONDS = 10.0
"""A worker that lived this long is started again at once; one that did not waits longer each time."""

_log = structlog.get_logger()


@dataclass(frozen=True)
class Part:
    name: str
    listener: socket.socket
    workers: int


def listen(name: str, host: str, port: int, variable: str) -> socket.socket:
    """Bind here, once, so that a port in use is known before anything starts. Raises SettingsError."""
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(address[0], socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address[4])
        listener.listen(1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(
                f"port {port} on {host} is in use: stop what listens there, or set {variable} to another"
            ) from error
        raise SettingsError(
            f"cannot listen on {host}:{port} for {name}: {error.strerror or error}"
        ) from error
    return listener


def parts_of(settings: Settings, names: list[str]) -> list[Part]:
    ports = {
        "api": (settings.api_port, "PRSHOTS_API_PORT"),
        "delivery": (settings.img_port, "PRSHOTS_IMG_PORT"),
    }
    return [
        Part(name, listen(name, settings.host, *ports[name]), settings.workers)
        for name in names
        if name in ports
    ]


@dataclass
class Supervisor:
    parts: list[Part]
    sweeps: bool
    config: Path | None
    on_ready: Callable[[], None] = lambda: None
    _children: set[asyncio.subprocess.Process] = field(default_factory=set)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _lifeline: int = -1
    _failed: bool = False

    async def run(self) -> int:
        """Run until told to stop; return the exit code."""
        self._lifeline, held_open = os.pipe()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        first_ready: list[asyncio.Future[None]] = []
        tasks = []
        for part in self.parts:
            for _ in range(part.workers):
                ready = loop.create_future()
                first_ready.append(ready)
                tasks.append(asyncio.create_task(self._keep_alive(part, ready)))
        tasks.append(asyncio.create_task(self._after_start(first_ready)))
        await self._stopping.wait()
        await self._stop_children()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        os.close(held_open)
        return 1 if self._failed else 0

    async def _after_start(self, first_ready: list["asyncio.Future[None]"]) -> None:
        await asyncio.gather(*first_ready)
        self.on_ready()
        while self.sweeps:
            await self._run_sweep()
            await asyncio.sleep(SWEEP_INTERVAL_SECONDS)

    async def _keep_alive(self, part: Part, first_ready: "asyncio.Future[None]") -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            started = time.monotonic()
            code = await self._run_worker(part, first_ready)
            if self._stopping.is_set():
                return
            if not first_ready.done():  # it has said why, on standard error
                self._failed = True
                self._stopping.set()
                return
            pause = FIRST_PAUSE_SECONDS if time.monotonic() - started > STEADY_SECONDS else pause * 2
            _log.error("worker died, starting it again", part=part.name, exit_code=code)
            await asyncio.sleep(min(pause, LONGEST_PAUSE_SECONDS))

    async def _run_worker(self, part: Part, first_ready: "asyncio.Future[None]") -> int:
        ready_read, ready_write = os.pipe()
        fds = (part.listener.fileno(), ready_write, self._lifeline)
        command = ["-m", "prshots.processes.worker", part.name, *map(str, fds)]
        with self._child(await self._spawn(command, fds)) as child:
            os.close(ready_write)
            watching = asyncio.create_task(_closed(ready_read))
            ended = asyncio.create_task(child.wait())
            await asyncio.wait([watching, ended], return_when=asyncio.FIRST_COMPLETED)
            # The pipe also closes when the worker dies; then it is not ready.
            await asyncio.wait([ended], timeout=0.05)
            if not ended.done() and not first_ready.done():
                first_ready.set_result(None)
            return await ended

    async def _run_sweep(self) -> None:
        with self._child(await self._spawn(["-m", "prshots.processes.sweeper"], ())) as child:
            if await child.wait() and not self._stopping.is_set():
                _log.error("sweep failed; the next one tries again", exit_code=child.returncode)

    async def _spawn(self, arguments: list[str], fds: tuple[int, ...]) -> asyncio.subprocess.Process:
        environment = dict(os.environ)
        if self.config:
            environment["PRSHOTS_CONFIG"] = str(self.config)
        return await asyncio.create_subprocess_exec(
            sys.executable, *arguments, pass_fds=fds, env=environment, stdin=asyncio.subprocess.DEVNULL
        )

    @contextlib.contextmanager
    def _child(self, child: asyncio.subprocess.Process) -> Iterator[asyncio.subprocess.Process]:
        self._children.add(child)
        if self._stopping.is_set():
            child.terminate()
        try:
            yield child
        finally:
            self._children.discard(child)

    async def _stop_children(self) -> None:
        waits = [asyncio.create_task(child.wait()) for child in self._children]
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        if waits:
            await asyncio.wait(waits, timeout=STOP_SECONDS)
        for child in set(self._children):
            with contextlib.suppress(ProcessLookupError):
                child.kill()


async def _closed(fd: int) -> None:
    """Wait until the other side of the pipe is closed."""
    loop = asyncio.get_running_loop()
    closed = loop.create_future()
    loop.add_reader(fd, lambda: None if closed.done() else closed.set_result(None))
    try:
        await closed
    finally:
        loop.remove_reader(fd)
        os.close(fd)
