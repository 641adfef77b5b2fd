"""A server of ours in a thread of the test, on a real socket."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self

import httpx
import uvloop

from prshots.server.http.socket_server import SocketServer


class ServerInThread:
    def __init__(self, make: Callable[[socket.socket], SocketServer]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self.listener.getsockname()
        self.url = f"http://{self.address[0]}:{self.address[1]}"
        self.server: Any = make(self.listener)
        self.unhandled: list[object] = []
        self.loop = uvloop.new_event_loop()
        self.loop.set_exception_handler(lambda _, context: self.unhandled.append(context))
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.loop.call_soon_threadsafe(self.server.start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(90)

    def end(self) -> None:
        self.run(self.server.stop(0))
        self.run(_end_tasks())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
        self.listener.close()
        assert self.unhandled == []

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False)


async def _end_tasks() -> None:
    """Cancel what still runs, as `uvloop.run` does at the end of a worker. It closes its connections then."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
