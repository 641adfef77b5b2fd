"""`prshots serve`: starts the components, restarts workers that die, sweeps every hour, and shuts down.

One task per worker keeps its slot occupied: it starts the worker, waits until it dies, and starts the next
one. It also kills a worker that no longer answers its pings. Once every worker is ready, another task runs
the sweeps. A signal, or a worker that can't start, sets `_stopping`. The supervisor then stops all children
within the grace period.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import structlog

from prshots import __version__
from prshots.server.observability.metrics_folder import (
    FOLDER_VARIABLE,
    RESTARTED_VARIABLE,
    SLOT_VARIABLE,
    metrics_folder,
)
from prshots.server.processes import WEB_SECONDS
from prshots.server.processes.worker_group import WorkerGroup

KEEP_BUFFERS = {"MALLOC_MMAP_THRESHOLD_": str(2 * 1024**2), "MALLOC_TRIM_THRESHOLD_": str(32 * 1024**2)}
"""Tells glibc's malloc to keep the memory of an upload's chunks for the next upload. Returning it to the
kernel each time would spend a tenth of an upload's time on page faults."""


class Children:
    """The supervisor's child processes. They inherit the lifeline, which ends them with it: see `hold`."""

    def __init__(self) -> None:
        self._running: set[asyncio.subprocess.Process] = set()
        self._is_stopping = False
        self._lifeline, self._held_open = os.pipe()

    async def start(
        self, module: str, *arguments: str, fds: tuple[int, ...], variables: dict[str, str]
    ) -> asyncio.subprocess.Process:
        """Start a module of this package with the descriptors as arguments. Raises OSError."""
        environment = KEEP_BUFFERS | os.environ | variables
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


FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 5.0
STEADY_SECONDS = 1.0
"""A worker that ran for this long restarts after the shortest pause, because its clients are waiting.
Otherwise the pause doubles each time, so a worker that can't start uses little processor time."""

SWEEP_INTERVAL_SECONDS = 3600.0
SWEEP_RETRY_SECONDS = 300.0
"""The pause after a failed sweep. Most likely, an engine is down and will be back within minutes."""

BEYOND_GRACE_SECONDS, KILL_SECONDS = 0.6, 0.2
"""How long to wait for children after their grace period, which each child counts from when it handles the
signal, and then for killed children, which the kernel ends within milliseconds."""

PING_SECONDS, MISSED_PINGS = 5.0, 4
"""How often to ping a worker, and after how many unanswered pings in a row it counts as hung. Counting pings
instead of seconds spares the workers of a machine that was suspended as a whole."""

READY_SECONDS, READY_PAUSE_SECONDS = 5.0, 1.0
"""How long `/readyz` may take at the start, and how long to wait before asking again."""

SWEEP_SLOT = "sweep"
CANNOT_START = 1
"""The exit code of a worker that can't start and has logged the reason. After any other code, or a signal
such as the one for running out of memory, the next start may succeed."""

_log = structlog.get_logger()


def hold_back_ctrl_c() -> None:
    """Delay Ctrl-C until the supervisor runs, because it would break an event loop during setup."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@dataclass
class Supervisor:
    groups: list[WorkerGroup]
    sweeps: bool
    drain_seconds: float
    grace_seconds: float
    ping_seconds: float = PING_SECONDS
    on_ready: Callable[[], None] = lambda: None
    _children: Children = field(init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _failed: bool = False

    async def run(self) -> int:
        """Run until a signal arrives or a worker can't start. Return the exit code."""
        self._children = Children()
        with self._share_metrics():
            self._stop_on_signals()
            tasks = self._start()
            await self._stopping.wait()
            await self._stop(tasks)
            self._children.close()
        return 1 if self._failed or any(_log_bug(task) for task in tasks) else 0

    @contextlib.contextmanager
    def _share_metrics(self) -> Iterator[None]:
        """Give the children a shared metrics folder. Without one, each shows only its own metrics."""
        slots = [SWEEP_SLOT, *(slot for group in self.groups for slot in group.slots)]
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(metrics_folder(slots))
            except OSError as error:
                _log.warning("no folder for metrics; each process shows only its own", reason=str(error))
            else:
                os.environ[FOLDER_VARIABLE] = str(folder)
            yield

    def _stop_on_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # ends `hold_back_ctrl_c`

    def _start(self) -> list["asyncio.Task[None]"]:
        """Start the tasks, each named after its component."""
        tasks, ready = [], []
        for group in self.groups:
            for slot in group.slots:
                first_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                keeping = self._keep_alive(group, slot, first_ready)
                tasks.append(asyncio.create_task(keeping, name=group.component))
                ready.append(first_ready)
        tasks.append(asyncio.create_task(self._greet_and_sweep(ready), name="sweep"))
        tasks.append(asyncio.create_task(self._feed_watchdog(), name="watchdog"))
        for task in tasks:
            # A task that ends by itself either failed to start its worker or has a bug.
            task.add_done_callback(lambda _: self._stopping.set())
        return tasks

    async def _keep_alive(self, group: WorkerGroup, slot: str, first_ready: "asyncio.Future[None]") -> None:
        """Run one worker after another. Stop the service if the first one can't start."""
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            code, seconds_up = await self._run_worker(group, slot, first_ready)
            if self._stopping.is_set():
                break
            if not first_ready.done() and code == CANNOT_START:
                self._failed = True
                break
            steady = seconds_up > STEADY_SECONDS
            pause = FIRST_PAUSE_SECONDS if steady else min(2 * pause, LONGEST_PAUSE_SECONDS)
            when = "" if first_ready.done() else " before it was ready"
            _log.error(f"worker died{when}, starting it again", worker=slot, **_cause(code))
            await self._pause(pause)
        first_ready.cancel()  # it will never be ready

    async def _run_worker(
        self, group: WorkerGroup, slot: str, first_ready: "asyncio.Future[None]"
    ) -> tuple[int | None, float]:
        """Run a worker until it ends. Return its exit code and its uptime in seconds."""
        # The worker sends a byte when it is ready, and then one for each ping.
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        restarted = {RESTARTED_VARIABLE: "true"} if first_ready.done() else {}
        try:
            child = await self._children.start(
                "worker",
                group.component,
                fds=(group.listener(slot).fileno(), theirs.fileno(), *group.inherits),
                variables={SLOT_VARIABLE: slot, **restarted},
            )
        except OSError as error:  # out of memory or processes
            _log.error("worker could not be started", worker=slot, reason=error.strerror)
            ours.close()
            return None, 0.0
        finally:
            theirs.close()
        with ours, self._children.track(child):
            # Nothing arrives if the worker dies before it is ready.
            if await asyncio.get_running_loop().sock_recv(ours, 1) and not first_ready.done():
                first_ready.set_result(None)
            ready_at = time.monotonic()
            await self._ping_until_end(child, ours, slot)
            return await child.wait(), time.monotonic() - ready_at

    async def _ping_until_end(
        self, child: asyncio.subprocess.Process, worker: socket.socket, slot: str
    ) -> None:
        """Ping a worker until it ends or the service stops. Kill it if it hangs."""
        ended, missed = asyncio.create_task(child.wait()), 0
        while not self._stopping.is_set():
            with contextlib.suppress(OSError):  # it has just died
                worker.send(b".")
            await asyncio.wait([ended], timeout=self.ping_seconds)
            if ended.done():
                return
            missed = 0 if _has_answered(worker) else missed + 1
            if missed == MISSED_PINGS:
                _log.error("worker does not answer, killing it", worker=slot)
                child.kill()
                return

    async def _greet_and_sweep(self, ready: list["asyncio.Future[None]"]) -> None:
        await asyncio.gather(*ready)
        _notify("READY=1")
        self.on_ready()
        await asyncio.gather(self._log_when_ready(), self._sweep_every_hour())

    async def _log_when_ready(self) -> None:
        """Log once that every component is ready. Workers accept requests even while an engine is down."""
        for group in self.groups:
            while not self._stopping.is_set() and not await _is_ready(group.listeners[0]):
                await self._pause(READY_PAUSE_SECONDS)
        if not self._stopping.is_set():
            parts = [group.component for group in self.groups] + (["sweep"] if self.sweeps else [])
            _log.info("ready", version=__version__, components=list(dict.fromkeys(parts)))

    async def _sweep_every_hour(self) -> None:
        while self.sweeps and not self._stopping.is_set():
            succeeded = await self._run_sweep()
            await self._pause(SWEEP_INTERVAL_SECONDS if succeeded else SWEEP_RETRY_SECONDS)
        await self._stopping.wait()

    async def _feed_watchdog(self) -> None:
        """Tell systemd that the supervisor isn't hung, so that it can restart one that is."""
        seconds = int(os.environ.get("WATCHDOG_USEC", "0")) / 2e6  # half the time that systemd waits
        while seconds and not self._stopping.is_set():
            _notify("WATCHDOG=1")
            await self._pause(seconds)
        await self._stopping.wait()

    async def _run_sweep(self) -> bool:
        """Run one sweep. Return whether it succeeded."""
        try:
            child = await self._children.start("sweeper", fds=(), variables={SLOT_VARIABLE: SWEEP_SLOT})
        except OSError as error:
            _log.error("sweep could not be started; the next one tries again", reason=error.strerror)
            return False
        with self._children.track(child):
            succeeded = await child.wait() == 0
            if not succeeded and not self._stopping.is_set():
                _log.error("sweep failed; the next one tries again", exit_code=child.returncode)
            return succeeded

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake up early if the service stops."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _stop(self, tasks: list["asyncio.Task[None]"]) -> None:
        """Stop web first, then the others. Kill children that outlast the grace period."""
        _notify("STOPPING=1")
        for listener in (listener for group in self.groups for listener in group.listeners):
            listener.close()  # the workers close theirs after they have accepted the last connection
        self._children.stop()
        await asyncio.wait(tasks, timeout=self.drain_seconds)
        until = time.monotonic() + self.grace_seconds + BEYOND_GRACE_SECONDS
        if web := [task for task in tasks if task.get_name() == "web"]:
            await asyncio.wait(web, timeout=min(WEB_SECONDS, self.grace_seconds / 2))
        self._children.stop()  # the second signal means that web has ended: see worker.py
        await asyncio.wait(tasks, timeout=max(0.0, until - time.monotonic()))
        self._children.kill()
        await asyncio.wait(tasks, timeout=KILL_SECONDS)


async def _is_ready(listener: socket.socket) -> bool:
    """Return whether the component at this address currently answers 200 at `/readyz`."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            with contextlib.closing(writer):
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
    except OSError:  # including a timeout
        return False


def _has_answered(worker: socket.socket) -> bool:
    try:
        return worker.recv(MISSED_PINGS) != b""
    except OSError:  # nothing to read, or it has just died
        return False


def _cause(code: int | None) -> dict[str, object]:
    """Return the log fields for an exit code. A negative code is the signal that ended the process."""
    if code is None or code >= 0:
        return {"exit_code": code}
    return {"signal": next((known.name for known in signal.Signals if known == -code), -code)}


def _log_bug(task: "asyncio.Task[None]") -> bool:
    """Log the task's exception. Return whether it has one."""
    error = task.exception() if task.done() and not task.cancelled() else None
    if error:
        _log.error("internal error", exc_info=error)
    return error is not None


def _notify(state: str) -> None:
    """Tell systemd a state such as READY=1, if it waits for one (`Type=notify`, `WatchdogSec`)."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending, contextlib.suppress(OSError):
            sending.setblocking(False)  # the supervisor never waits for systemd
            sending.sendto(state.encode(), address.replace("@", "\0", 1))
