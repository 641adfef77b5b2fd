"""One request and its reply, as an ASGI app sees them: `receive` and `send`."""

import asyncio
from typing import Protocol

from prshots.server.http.error_boundary import Message
from prshots.server.http.reply_heads import ReplyHead, reply_head
from prshots.server.http.request_heads import BadHeadError, RequestHead

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Client(Protocol):
    """The connection that the request came on."""

    is_closed: bool

    def read_on(self) -> None: ...

    def write(self, data: bytes) -> None: ...

    async def written(self) -> None: ...


class Exchange:
    def __init__(self, client: Client, head: RequestHead, date_field: bytes, read_ahead: int) -> None:
        """Read so many bytes of the body ahead, and at a time."""
        self._client, self._head, self._date_field = client, head, date_field
        self._read_ahead = read_ahead
        self.scope = head.scope()
        self._chunks: list[bytes] = []
        self._ahead = 0  # bytes in the chunks
        self._arrival: asyncio.Future[None] | None = None
        self._has_told_end = False
        self.has_left = False  # the client sends no more: it is gone, or reads the reply only
        self.keeps_alive = head.keeps_alive
        self._start: Message = {}
        self._reply: ReplyHead | None = None
        self.is_answered = False

    # What arrives

    @property
    def wanted(self) -> int:
        """How many bytes of the body to read now."""
        if self._ahead >= self._read_ahead:
            return 0
        return self._read_ahead if self._head.is_chunked else min(self._head.body_left, self._read_ahead)

    @property
    def is_received(self) -> bool:
        return self._head.has_ended if self._head.is_chunked else not self._head.body_left

    def take(self, data: bytes) -> bytes:
        """Take what arrived of the body. Return what follows it."""
        if self._head.is_chunked:
            try:
                self._head.feed_chunked(data, self._add)
            except BadHeadError:
                self.leave()
            rest = b""
        else:
            mine, rest = data[: self._head.body_left], data[self._head.body_left :]
            self._head.body_left -= len(mine)
            self._add(mine)
        self._wake()
        return rest

    def _add(self, chunk: bytes) -> None:
        if chunk:
            self._head.asks_first = False
            self._chunks.append(chunk)
            self._ahead += len(chunk)

    def leave(self) -> None:
        """Note that the client sends no more, before or after the end of the body."""
        self.has_left = True
        self.keeps_alive = False
        self._wake()

    def _wake(self) -> None:
        if self._arrival and not self._arrival.done():
            self._arrival.set_result(None)

    async def receive(self) -> Message:
        while True:
            if self._chunks:
                chunk = self._chunks.pop(0)
                self._ahead -= len(chunk)
                self._client.read_on()
                self._has_told_end = self.is_received and not self._chunks
                return {"type": "http.request", "body": chunk, "more_body": not self._has_told_end}
            if self.is_received and not self._has_told_end:
                self._has_told_end = True
                return {"type": "http.request", "body": b"", "more_body": False}
            if self.has_left or self._client.is_closed or self.is_answered:
                return {"type": "http.disconnect"}
            if self._head.asks_first:
                self._head.asks_first = False
                if self._reply is None:
                    self._client.write(_CONTINUE)
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival

    # What is sent

    async def send(self, message: Message) -> None:
        if self._client.is_closed:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        data, is_last = message.get("body", b""), not message.get("more_body")
        begins = self._reply is None
        reply = self._reply = self._reply or self._begun(len(data) if is_last else None)
        framed = reply.framed(data, is_last=is_last)
        self.is_answered = is_last
        self._client.write(reply.data + framed if begins else framed)
        if is_last:
            self._wake()
        else:
            await self._client.written()

    def _begun(self, length: int | None) -> ReplyHead:
        reply = reply_head(
            self._start["status"],
            self._start.get("headers", []),
            method=self.scope["method"],
            version=self.scope["http_version"],
            # What is left of the request's body would look like the next request.
            keeps_alive=self.keeps_alive and self.is_received,
            date_field=self._date_field,
            length=length,
        )
        self.keeps_alive = reply.keeps_alive
        return reply
