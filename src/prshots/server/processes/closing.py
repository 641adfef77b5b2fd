"""Closes a listening socket that several processes share, without losing a connection.

Closing it resets the connections that wait in its queue, and a client cannot tell whether its upload arrived.
So it takes three steps:

1. The supervisor calls `turn_away`. The kernel drops new connection attempts from then on. Clients repeat a
   dropped attempt after a second.
2. The workers accept what is left in the queue (`last_accepted`).
3. All processes close the socket. Repeated attempts are refused, so a load balancer tries the next replica.

Step 1 works on Linux only. Elsewhere a connection that arrives in the last moment is reset.
"""

import asyncio
import contextlib
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from itertools import starmap
from pathlib import Path

HANDSHAKE_SECONDS = 0.1
"""How long a connection attempt from before `turn_away` may take until it is in the queue."""

LONGEST_SECONDS = 2.0
"""How long a worker waits for `turn_away`, and then for an empty queue. The supervisor first waits up to a
second for web, and does not turn clients away when somebody stops only one of its workers."""

FIRST_BYTE_SECONDS = 0.5
"""How long a client may take from connecting to the first byte of its request. A connection without one is
closed when its worker stops."""

POLL_SECONDS = 0.01
_OWN_DESCRIPTORS = Path("/proc/self/fd")

_ON_LINUX = sys.platform == "linux"
_SO_ATTACH_FILTER = _SO_GET_FILTER = 26  # the socket module has no names for them
_SYN, _ACK = 0x02, 0x10
_FLAGS_OFFSET = 13  # the filter sees a packet from its TCP header on
_QUEUED_OFFSET = 24  # tcpi_unacked in struct tcp_info: for a listening socket, the connections in its queue

_FILTER_BYTES = 40  # of the program below
_Instruction = struct.Struct("=HBBI")
_DROP_NEW_CONNECTIONS = (
    (0x30, 0, 0, _FLAGS_OFFSET),  # load the byte of flags
    (0x54, 0, 0, _SYN | _ACK),  # keep these two
    (0x15, 0, 1, _SYN),  # unless only SYN is set, skip an instruction
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # pass
)


class SocketProgram:
    """Instructions for the kernel's packet filter, kept in memory as long as this object."""

    def __init__(self, instructions: Sequence[tuple[int, int, int, int]]) -> None:
        import ctypes  # only now: 400 KB of each process

        self._address = ctypes.addressof
        self._packed = ctypes.create_string_buffer(b"".join(starmap(_Instruction.pack, instructions)))
        self._count = len(instructions)

    def attach(self, listener: socket.socket, option: int) -> None:
        program = struct.pack("@HP", self._count, self._address(self._packed))
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            listener.setsockopt(socket.SOL_SOCKET, option, program)


def turn_away(listener: socket.socket) -> None:
    """Drop new connection attempts, in every process that shares the socket."""
    if _ON_LINUX:
        SocketProgram(_DROP_NEW_CONNECTIONS).attach(listener, _SO_ATTACH_FILTER)


async def last_accepted(listener: socket.socket) -> None:
    """Wait until the others have been turned away and the queue is empty. Keep accepting meanwhile."""
    if not _ON_LINUX:
        await asyncio.sleep(HANDSHAKE_SECONDS)
        return
    await _polled(lambda: _turns_away(listener), LONGEST_SECONDS)
    await asyncio.sleep(HANDSHAKE_SECONDS)
    await _polled(lambda: not _queued(listener), LONGEST_SECONDS)


async def requests_begun(port: int) -> None:
    """Wait until every client has had time to send the first byte of its request."""
    await _polled(lambda: not _has_clients(port), FIRST_BYTE_SECONDS)


async def _polled(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:  # noqa: ASYNC110 - the kernel sends no event for it
        await asyncio.sleep(POLL_SECONDS)


def _turns_away(listener: socket.socket) -> bool:
    try:
        return bool(listener.getsockopt(socket.SOL_SOCKET, _SO_GET_FILTER, _FILTER_BYTES))
    except OSError:
        return False


def _queued(listener: socket.socket) -> int:
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int(struct.unpack_from("=I", info, _QUEUED_OFFSET)[0])


def _has_clients(port: int) -> bool:
    """Return whether this process has open connections that it accepted at this port."""
    if not _OWN_DESCRIPTORS.exists():
        return True
    return any(_is_connection_to(port, int(path.name)) for path in _OWN_DESCRIPTORS.iterdir())


def _is_connection_to(port: int, fd: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(fd)) as sock:
            sock.getpeername()
            return sock.family in {socket.AF_INET, socket.AF_INET6} and sock.getsockname()[1] == port
    except OSError:  # not a socket, not connected, or closed since
        return False
