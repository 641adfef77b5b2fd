"""Run image jobs in worker processes: started when needed, reused, and replaced when they die."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from prshots.contract.errors import PictureTooLargeError, PictureWorkerDiedError, PictureWorkerError
from prshots.server.adapters.pictures.workers.jobs import PREFIX, PictureJob, result_of, unpack_pair
from prshots.server.domain.comparison.models import PairResult

WORKER = (sys.executable, "-P", "-m", "prshots.server.adapters.pictures.workers.worker")

INHERITED_VARIABLES = ("HOME", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")
"""The variables that Python may need to find its packages. Others may be secrets."""

SET_VARIABLES = {"OPENBLAS_NUM_THREADS": "1"}
"""numpy would reserve address space for a thread per processor."""

_TRIES = 2
"""Attempts per job. A worker may die for a reason unrelated to its job, for example while idle."""


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """The limits of a worker process.

    `memory_bytes` is address space: Python and Pillow take 30 MB of it, the largest allowed image 320 MB.
    `seconds` is real time. It ends a job that gets no processor time or waits for something. It is six times
    `cpu_seconds`, to decode a valid image even on a busy machine.
    """

    workers: int = 2
    waiting: int = 32
    cpu_seconds: int = 5
    memory_bytes: int = 400 * 1024**2
    seconds: float = 30.0
    idle_seconds: float = 60.0
    niceness: int = 0
    """If greater than 0, other processes on this machine get the processor first."""

    def shared_by(self, processes: int) -> "WorkerLimits":
        """Return the limits for each of several API processes. Each has at least one worker."""
        return replace(self, workers=max(1, self.workers // processes))


COMPARING = WorkerLimits(
    # One processor stays free: with all of them busy, even at low priority, an upload takes twice as long.
    workers=max(1, min(2, (os.cpu_count() or 1) - 1)),
    cpu_seconds=30,
    memory_bytes=980 * 1024**2,
    seconds=180.0,
    niceness=10,
)
"""For `PictureWorkers.compare`. Images of 40 megapixels take up to 730 MB, and OpenCV maps another 157 MB."""


class WorkerProcess:
    """A running worker. Its jobs and replies go through a socket. The lifeline ends it with this process."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        lifeline: int,
    ) -> None:
        self._process = process
        self._replies, self._jobs = streams
        self._lifeline = lifeline
        self.retirement: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, command: Sequence[str], limits: WorkerLimits) -> Self:
        """Start a worker. Raises OSError if the machine has no process, descriptor or memory left."""
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(None, _start_process, command, limits)
        try:
            process, ours, held_open = await asyncio.shield(starting)
            return cls(process, await asyncio.open_unix_connection(sock=ours), held_open)
        except asyncio.CancelledError:  # the thread finishes anyway
            starting.add_done_callback(_abandon)
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def reply(self, job: PictureJob) -> tuple[bytes, bytes]:
        """Return the reply's header and bytes. Raises IncompleteReadError or OSError if the worker dies."""
        self._jobs.write(job.pack())
        await self._jobs.drain()
        header_size, body_size = PREFIX.unpack(await self._replies.readexactly(PREFIX.size))
        return await self._replies.readexactly(header_size), await self._replies.readexactly(body_size)

    async def kill(self) -> int:
        """Kill the worker. Return its exit code. A negative code is the signal that ended it."""
        self._process.kill()  # does nothing if it has already ended
        # First, because the job, and with it this call, may be cancelled again.
        os.close(self._lifeline)
        self._jobs.close()
        waiting = asyncio.get_running_loop().run_in_executor(None, self._process.wait)
        exit_code = await asyncio.shield(waiting)
        with contextlib.suppress(OSError):
            await self._jobs.wait_closed()
        return exit_code


_Started = tuple["subprocess.Popen[bytes]", socket.socket, int]


def _start_process(command: Sequence[str], limits: WorkerLimits) -> _Started:
    """Return a worker, our end of its socket, and the descriptor that keeps its lifeline open."""
    with contextlib.ExitStack() as stack:
        ours, theirs = socket.socketpair()
        stack.enter_context(theirs)
        lifeline, held_open = os.pipe()
        stack.callback(os.close, lifeline)
        with contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            undo.callback(os.close, held_open)
            numbers = (limits.cpu_seconds, limits.memory_bytes, limits.niceness, lifeline)
            process = _popen([*command, *map(str, numbers)], theirs, lifeline)
            undo.pop_all()
        return process, ours, held_open


def _abandon(starting: "asyncio.Future[_Started]") -> None:
    """End a worker whose job was cancelled while it started."""
    if starting.cancelled() or starting.exception():
        return
    process, ours, held_open = starting.result()
    ours.close()
    os.close(held_open)
    process.kill()
    process.wait()


def _popen(arguments: list[str], both: socket.socket, lifeline: int) -> "subprocess.Popen[bytes]":
    """Start a worker that inherits only these two descriptors, and no secrets.

    The event loop's own function doesn't work here: children of uvloop inherit the listening socket. The
    worker has its own session, so Ctrl-C in a terminal doesn't reach it.
    """
    return subprocess.Popen(  # noqa: S603 - our own command
        arguments,
        stdin=both.fileno(),
        stdout=both.fileno(),
        pass_fds=(lifeline,),
        env={name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | SET_VARIABLES,
        start_new_session=True,
    )


class PictureWorkers:
    """A few worker processes that share a bounded queue of jobs. Idle workers end after a while."""

    def __init__(self, limits: WorkerLimits, command: Sequence[str] = WORKER) -> None:
        self._limits = limits
        self._command = command
        self._slots = asyncio.Semaphore(limits.workers)
        self._jobs = 0
        self._idle: list[WorkerProcess] = []
        self._retiring: set[asyncio.Task[int]] = set()

    async def thumbnail(self, data: bytes, tallness: float) -> bytes:
        return await self.run("thumbnail", data, tallness=tallness)

    async def compare(self, before: bytes, after: bytes, known: str = "") -> PairResult:
        return unpack_pair(await self.run("compare", before, after, known=known))

    async def identify(self, data: bytes) -> str:
        return (await self.run("identify", data)).decode()

    async def run(self, operation: str, *pictures: bytes, **options: float | str) -> bytes:
        """Return an operation's result.

        Raises PictureError if the images are at fault, PictureWorkerError if a retry may succeed, and
        PictureWorkerDiedError if the cause is unclear.
        """
        if self._jobs >= self._limits.workers + self._limits.waiting:
            raise PictureWorkerError("too many images wait to be decoded: try again later")
        self._jobs += 1
        try:
            async with self._slots:
                return await self._run(PictureJob(operation, pictures, options))
        finally:
            self._jobs -= 1

    async def close(self) -> None:
        """End the idle workers. Call this after the last job."""
        while self._idle:
            self._retire(self._idle[-1])
        await asyncio.gather(*self._retiring)

    async def _run(self, job: PictureJob) -> bytes:
        for _ in range(_TRIES):
            worker = await self._next()
            try:
                header, body = await self._reply(worker, job)
            except (asyncio.IncompleteReadError, OSError):
                exit_code = await worker.kill()
                if exit_code == -signal.SIGXCPU:
                    cpu_seconds = self._limits.cpu_seconds
                    raise PictureTooLargeError(f"takes more than {cpu_seconds} s of processor time") from None
            else:
                self._rest(worker)
                return result_of(header, body)
        raise PictureWorkerDiedError(f"the process that decoded it died with exit code {exit_code}")

    async def _next(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()
            if worker.retirement is not None:
                worker.retirement.cancel()
            if worker.is_alive:
                return worker
            await worker.kill()
        try:
            return await WorkerProcess.start(self._command, self._limits)
        except OSError as error:
            raise PictureWorkerError(f"cannot start a process to decode it: {error.strerror}") from error

    async def _reply(self, worker: WorkerProcess, job: PictureJob) -> tuple[bytes, bytes]:
        try:
            return await asyncio.wait_for(worker.reply(job), self._limits.seconds)
        except TimeoutError:
            await worker.kill()
            seconds = self._limits.seconds
            raise PictureWorkerDiedError(f"was not decoded within {seconds:g} s of real time") from None
        except asyncio.CancelledError:
            await worker.kill()  # its reply would be taken for the next job's
            raise

    def _rest(self, worker: WorkerProcess) -> None:
        """Keep the worker for the next job. If none arrives, end the worker, because it takes 30 MB."""
        self._idle.append(worker)
        loop = asyncio.get_running_loop()
        worker.retirement = loop.call_later(self._limits.idle_seconds, self._retire, worker)

    def _retire(self, worker: WorkerProcess) -> None:
        if worker.retirement is not None:
            worker.retirement.cancel()
        self._idle.remove(worker)
        task = asyncio.create_task(worker.kill())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
