"""`prshots serve`: starts the components, restarts workers that die, sweeps every hour, and shuts down."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from prshots.server.adapters.counters.upload_log import create_memory
from prshots.server.observability.metrics_folder import (
    FOLDER_VARIABLE,
    RESTARTED_VARIABLE,
    SLOT_VARIABLE,
    metrics_folder,
)
from prshots.server.processes.listening import listen

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings

BEYOND_GRACE_SECONDS, KILL_SECONDS = 0.6, 0.2
"""How long we wait for children beyond their own time to stop, and after that for killed ones."""

WEB_SECONDS = 1.0
"""How long the other components still accept connections after web, whose last requests go to the API."""

SWEEP_INTERVAL_SECONDS = 3600.0
SWEEP_RETRY_SECONDS = 300.0
"""After a sweep that failed, most likely because an engine is down."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 5.0
STEADY_SECONDS = 1.0
"""A worker that was up for this long is restarted immediately. Otherwise the pause doubles each time."""

KEEP_BUFFERS = {"MALLOC_MMAP_THRESHOLD_": str(2 * 1024**2), "MALLOC_TRIM_THRESHOLD_": str(32 * 1024**2)}
"""For glibc's malloc: keep the memory of an upload's chunks for the next upload. Returning it to the kernel
each time would cost a tenth of an upload in page faults."""

SWEEP_SLOT = "sweep"
HAS_SAID_WHY = 1
"""The exit code of a worker that cannot start and has logged why. After another code, or a signal such as the
kernel's when memory runs out, the next start may succeed."""

_log = structlog.get_logger()


@dataclass(frozen=True)
class Part:
    name: str
    workers: int
    listeners: Sequence[socket.socket]
    inherits: tuple[int, ...] = ()
    """Further descriptors that its workers get."""

    @property
    def slots(self) -> list[str]:
        """The names of its workers. A restarted worker keeps the slot of its predecessor."""
        return [f"{self.name}-{number}" for number in range(self.workers)]

    def listener(self, slot: str) -> socket.socket:
        return self.listeners[self.slots.index(slot) % len(self.listeners)]


def parts_of(settings: "Settings", names: list[str]) -> list[Part]:
    """Return the parts with their ports open. Raises SettingsError."""
    known = {
        "web": (settings.web_port, "PRSHOTS_WEB_PORT", 1),
        "api": (settings.api_port, "PRSHOTS_API_PORT", settings.api_workers),
        "delivery": (settings.img_port, "PRSHOTS_IMG_PORT", settings.img_workers),
    }
    if names == ["sweep"]:  # beside another component, that one's port shows the sweep's metrics
        known = {"sweep": (settings.sweep_port, "PRSHOTS_SWEEP_PORT", 1)}
    return [
        Part(
            name,
            workers,
            listen(name, settings.host, port, variable, workers),
            (create_memory(),) if name == "api" and settings.counts_in_memory else (),
        )
        for name, (port, variable, workers) in known.items()
        if name in names
    ]


@dataclass
class Supervisor:
    parts: list[Part]
    sweeps: bool
    config: Path | None
    drain_seconds: float
    grace_seconds: float
    on_ready: Callable[[], None] = lambda: None
    _children: set[asyncio.subprocess.Process] = field(default_factory=set)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _lifeline: int = -1
    _failed: bool = False

    async def run(self) -> int:
        """Run until a signal stops it. Return the exit code."""
        with self._shared_metrics():
            return await self._run()

    @contextlib.contextmanager
    def _shared_metrics(self) -> Iterator[None]:
        """Give the children one folder for metrics. Without one they still work, but count separately."""
        slots = [SWEEP_SLOT, *(slot for part in self.parts for slot in part.slots)]
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(metrics_folder(slots))
            except OSError as error:
                _log.warning("no folder for metrics; each process shows only its own", reason=str(error))
            else:
                os.environ[FOLDER_VARIABLE] = str(folder)
            yield

    async def _run(self) -> int:
        self._lifeline, held_open = os.pipe()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the handler is set now
        workers = [(part, slot) for part in self.parts for slot in part.slots]
        ready: list[asyncio.Future[None]] = [loop.create_future() for _ in workers]
        of_workers = [
            asyncio.create_task(self._keep_alive(part, slot, first_ready))
            for (part, slot), first_ready in zip(workers, ready, strict=True)
        ]
        tasks = [*of_workers, asyncio.create_task(self._after_start(ready))]
        for task in tasks:  # a task that ends by itself failed to start, or has a bug
            task.add_done_callback(lambda _: self._stopping.set())
        await self._stopping.wait()
        web = [task for (part, _), task in zip(workers, of_workers, strict=True) if part.name == "web"]
        await self._stop(tasks, web)
        os.close(self._lifeline)
        os.close(held_open)
        return 1 if self._failed or any(_is_fault(task) for task in tasks) else 0

    async def _after_start(self, ready: list["asyncio.Future[None]"]) -> None:
        await asyncio.gather(*ready)
        self.on_ready()
        while self.sweeps and not self._stopping.is_set():
            succeeded = await self._run_sweep()
            await self._pause(SWEEP_INTERVAL_SECONDS if succeeded else SWEEP_RETRY_SECONDS)
        await self._stopping.wait()

    async def _keep_alive(self, part: Part, slot: str, first_ready: "asyncio.Future[None]") -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            code, seconds_up = await self._run_worker(part, slot, first_ready)
            if self._stopping.is_set():
                break
            if not first_ready.done() and code == HAS_SAID_WHY:
                self._failed = True
                break
            steady = seconds_up > STEADY_SECONDS
            pause = FIRST_PAUSE_SECONDS if steady else min(2 * pause, LONGEST_PAUSE_SECONDS)
            when = "" if first_ready.done() else " before it was ready"
            _log.error(f"worker died{when}, starting it again", worker=slot, **_cause(code))
            await self._pause(pause)
        first_ready.cancel()  # do not wait for it any longer

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake up to stop."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _run_worker(
        self, part: Part, slot: str, first_ready: "asyncio.Future[None]"
    ) -> tuple[int | None, float]:
        """Run a worker until it ends. Return its exit code and how many seconds it was up."""
        ready_read, ready_write = os.pipe()
        watching = asyncio.create_task(_closed(ready_read))
        try:
            again = {RESTARTED_VARIABLE: "true"} if first_ready.done() else {}
            variables = {SLOT_VARIABLE: slot, **again}
            child = await self._spawn(
                "worker",
                part.name,
                fds=(part.listener(slot).fileno(), ready_write, *part.inherits),
                variables=variables,
            )
        except OSError as error:  # out of memory or processes
            _log.error("worker could not be started", worker=slot, reason=error.strerror)
            return None, 0.0
        finally:
            os.close(ready_write)
        with self._registered(child):
            ended = asyncio.create_task(child.wait())
            await watching
            # The pipe also closes when the worker dies; it is not ready then.
            await asyncio.wait([ended], timeout=0.05)
            if not ended.done() and not first_ready.done():
                first_ready.set_result(None)
            ready_at = time.monotonic()
            return await ended, time.monotonic() - ready_at

    async def _run_sweep(self) -> bool:
        """Return whether it succeeded."""
        try:
            child = await self._spawn("sweeper", fds=(), variables={SLOT_VARIABLE: SWEEP_SLOT})
        except OSError as error:
            _log.error("sweep could not be started; the next one tries again", reason=error.strerror)
            return False
        with self._registered(child):
            succeeded = await child.wait() == 0
            if not succeeded and not self._stopping.is_set():
                _log.error("sweep failed; the next one tries again", exit_code=child.returncode)
            return succeeded

    async def _spawn(
        self, module: str, *arguments: str, fds: tuple[int, ...], variables: dict[str, str]
    ) -> asyncio.subprocess.Process:
        environment = KEEP_BUFFERS | os.environ | variables
        if self.config:
            environment["PRSHOTS_CONFIG"] = str(self.config)
        fds = (*fds, self._lifeline)
        # -P: never import from the working directory, where others may be able to write.
        program = [sys.executable, "-P", "-m", f"prshots.server.processes.{module}"]
        command = [*program, *arguments, *map(str, fds)]
        with _sigint_blocked():
            return await asyncio.create_subprocess_exec(
                *command, pass_fds=fds, env=environment, stdin=asyncio.subprocess.DEVNULL
            )

    @contextlib.contextmanager
    def _registered(self, child: asyncio.subprocess.Process) -> Iterator[None]:
        self._children.add(child)
        if self._stopping.is_set():  # the signal came during the start
            _signal(child, signal.SIGTERM)
        try:
            yield
        finally:
            self._children.discard(child)

    async def _stop(self, tasks: list["asyncio.Task[None]"], web: list["asyncio.Task[None]"]) -> None:
        for listener in (listener for part in self.parts for listener in part.listeners):
            listener.close()  # the workers close theirs when they have accepted the last connection
        self._signal_all(signal.SIGTERM)
        await asyncio.wait(tasks, timeout=self.drain_seconds)
        until = time.monotonic() + self.grace_seconds + BEYOND_GRACE_SECONDS
        if web:
            await asyncio.wait(web, timeout=min(WEB_SECONDS, self.grace_seconds / 2))
        self._signal_all(signal.SIGTERM)  # web has ended: see worker.py
        await asyncio.wait(tasks, timeout=max(0.0, until - time.monotonic()))
        self._signal_all(signal.SIGKILL)
        await asyncio.wait(tasks, timeout=KILL_SECONDS)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self._children:
            _signal(child, number)


def _signal(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(number)


def _cause(code: int | None) -> dict[str, object]:
    """Return the log's fields for an exit code. A negative one is the signal that ended the process."""
    if code is None or code >= 0:
        return {"exit_code": code}
    return {"signal": next((known.name for known in signal.Signals if known == -code), -code)}


def _is_fault(task: "asyncio.Task[None]") -> bool:
    error = task.exception() if task.done() and not task.cancelled() else None
    if error:
        _log.error("internal error", exc_info=error)
    return error is not None


def hold_back_ctrl_c() -> None:
    """Delay Ctrl-C until the supervisor runs, because it would break an event loop that is being set up."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Start children with SIGINT blocked. The terminal sends them Ctrl-C too, but we stop them ourselves."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


async def _closed(fd: int) -> None:
    """Wait until the other end of the pipe is closed."""
    loop = asyncio.get_running_loop()
    closed = loop.create_future()
    loop.add_reader(fd, lambda: None if closed.done() else closed.set_result(None))
    try:
        await closed
    finally:
        loop.remove_reader(fd)
        os.close(fd)
