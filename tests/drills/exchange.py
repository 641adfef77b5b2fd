"""Raw HTTP exchanges with a running service, many at once."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

ANSWER_SECONDS = 10.0
QUIET_SECONDS = 0.2
"""How long a connection may stay quiet before we tell the server that no more bytes come."""

MAX_HEAD = 256 * 1024
NO_BODY = frozenset({204, 304, 305})


class NoReplyError(Exception):
    """A request got no reply. `number` is its place among the requests that were sent at once."""

    def __init__(self, why: str, number: int = 0) -> None:
        super().__init__(why)
        self.number = number


class HungError(NoReplyError):
    """The server sent nothing for too long."""


class ClosedError(NoReplyError):
    """The server closed the connection without a complete reply."""


@dataclass(frozen=True)
class Reply:
    status: int
    head: bytes
    closes: bool
    body: bytes


class KeptConnection:
    """A connection for well-framed requests. It opens again when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, requests: Sequence[tuple[bytes, bool]]) -> list[Reply]:
        """Send these requests at once, each with whether it is a HEAD, and return their replies.

        When the connection closes between two replies, the rest goes over a new one. Raises NoReplyError for a
        request that gets none there either.
        """
        replies: list[Reply] = []
        while len(replies) < len(requests):
            is_new, answered = self._writer is None, len(replies)
            try:
                await self._ask_until_closed(requests[answered:], replies)
            except HungError as error:
                await self.close()
                if len(replies) == answered:
                    raise HungError(str(error), answered) from error
            except (ClosedError, OSError):
                await self.close()
            if is_new and len(replies) == answered:
                raise ClosedError("closed without a complete reply", answered)
        return replies

    async def _ask_until_closed(self, requests: Sequence[tuple[bytes, bool]], replies: list[Reply]) -> None:
        """Send the requests, and add their replies until the server closes the connection."""
        if self._writer is None:
            self._reader, self._writer = await connect(self._port)
        self._writer.write(b"".join(raw for raw, _ in requests))
        for _, is_head in requests:
            replies.append(await _reply(self._reader, is_head=is_head))
            if replies[-1].closes:
                await self.close()
                return

    async def close(self) -> None:
        if self._writer is not None:
            await _abort(self._writer)
            self._writer = None


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await asyncio.open_connection("127.0.0.1", port, limit=MAX_HEAD)
    except TimeoutError:
        raise HungError("no connection") from None


async def send_alone(port: int, raw: bytes) -> bytes:
    """Send bytes over their own connection, and return everything until the server closes it. Raises HungError.

    If the server waits for more, we end our side: it must close then.
    """
    reader, writer = await connect(port)
    received = b""
    try:
        writer.write(raw)
        received = await _until_quiet(reader)
        writer.write_eof()
        async with asyncio.timeout(ANSWER_SECONDS):
            while piece := await reader.read(1 << 16):
                received += piece
    except TimeoutError:  # before OSError, which includes it
        raise HungError(f"not closed, after {received[:200]!r}") from None
    except OSError:
        pass  # the server has closed it
    finally:
        await _abort(writer)
    return received


async def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _until_quiet(reader: asyncio.StreamReader) -> bytes:
    received = b""
    with contextlib.suppress(TimeoutError):
        while True:
            async with asyncio.timeout(QUIET_SECONDS):
                piece = await reader.read(1 << 16)
            if not piece:
                break
            received += piece
            if len(received) < (1 << 16):  # a reply came, and most have no second one
                break
    return received


async def _reply(reader: asyncio.StreamReader, *, is_head: bool) -> Reply:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                status = int(head[9:12])
                if status >= 200 or status == 101:
                    break
            lower = head.lower()
            has_body = not is_head and status not in NO_BODY
            body = await _body(reader, lower) if has_body else b""
            return Reply(status, head, b"\r\nconnection: close" in lower, body)
    except TimeoutError:
        raise HungError("no reply") from None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        raise ClosedError(str(error)) from error


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if b"\r\ncontent-length:" in head:
        length = int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        return await reader.readexactly(length) if length else b""
    pieces = []
    if b"\r\ntransfer-encoding: chunked" in head:
        while size := int((await reader.readline()).strip(), 16):
            pieces.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
    return b"".join(pieces)
