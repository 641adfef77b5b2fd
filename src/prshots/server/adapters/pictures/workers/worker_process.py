"""A picture worker's process, seen from its parent."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Self

from prshots.server.adapters.pictures.workers.jobs import PREFIX, PictureJob

WORKER = (sys.executable, "-P", "-m", "prshots.server.adapters.pictures.workers.worker")

INHERITED_VARIABLES = ("HOME", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")
"""The variables that Python may need to find its packages. Others may be secrets."""

SET_VARIABLES = {"OPENBLAS_NUM_THREADS": "1"}
"""numpy would reserve address space for a thread per processor."""


class WorkerProcess:
    """A running worker. Its jobs and replies go through a socket; the lifeline ends it with this process."""

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
    async def start(cls, command: Sequence[str], cpu_seconds: int, memory_bytes: int, niceness: int) -> Self:
        """Start a worker. Raises OSError if the machine has no process, descriptor or memory left."""
        with contextlib.ExitStack() as stack:
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            lifeline, held_open = os.pipe()
            stack.callback(os.close, lifeline)
            with contextlib.ExitStack() as undo:
                undo.callback(ours.close)
                undo.callback(os.close, held_open)
                arguments = [*command, *map(str, (cpu_seconds, memory_bytes, niceness, lifeline))]
                process = await asyncio.to_thread(_popen, arguments, theirs, lifeline)
                undo.pop_all()
            return cls(process, await asyncio.open_unix_connection(sock=ours), held_open)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def reply(self, job: PictureJob) -> tuple[bytes, bytes]:
        """Return the header and the bytes of the reply. Raises IncompleteReadError or OSError if it dies."""
        self._jobs.write(job.pack())
        await self._jobs.drain()
        header_size, body_size = PREFIX.unpack(await self._replies.readexactly(PREFIX.size))
        return await self._replies.readexactly(header_size), await self._replies.readexactly(body_size)

    async def kill(self) -> int:
        """Kill the worker. Return its exit code. A negative code is the signal that ended it."""
        self._process.kill()  # does nothing if it has already ended
        exit_code = await asyncio.to_thread(self._process.wait)
        os.close(self._lifeline)
        self._jobs.close()
        with contextlib.suppress(OSError):
            await self._jobs.wait_closed()
        return exit_code


def _popen(arguments: list[str], both: socket.socket, lifeline: int) -> "subprocess.Popen[bytes]":
    """Start a worker that inherits only these two descriptors, and no secret.

    The event loop's own function does not work here: uvloop's children inherit the socket that we listen on.
    The worker has its own session, so Ctrl-C in a terminal does not reach it.
    """
    return subprocess.Popen(  # noqa: S603 - our own command
        arguments,
        stdin=both.fileno(),
        stdout=both.fileno(),
        pass_fds=(lifeline,),
        env={name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | SET_VARIABLES,
        start_new_session=True,
    )
