"""The engines that are slow to start: one instance per run, shared by all workers.

The main pytest process starts and stops them, also after Ctrl-C and when a worker crashes. A worker asks it for an
engine over a socket.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from multiprocessing.connection import Client, Listener

from support.engine_servers import Server, running_postgresql, running_seaweedfs

ENGINES: dict[str, Callable[[], AbstractContextManager[Server]]] = {
    "postgresql": lambda: running_postgresql(18),
    "postgresql_15": lambda: running_postgresql(15),
    "seaweedfs": running_seaweedfs,
}


class SharedEngines:
    """Start an engine on first use, and stop all of them at the end."""

    def __init__(self) -> None:
        self._listener = Listener(family="AF_UNIX")
        self._running: dict[str, Server] = {}
        self._to_stop = ExitStack()
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address to pass to `engine`."""
        return str(self._listener.address)

    def stop(self) -> None:
        with Client(self.address) as connection:
            connection.send(None)
        self._thread.join()  # waits for an engine that is still starting
        self._listener.close()
        self._to_stop.close()

    def _answer(self) -> None:
        while True:
            with self._listener.accept() as connection:
                name = connection.recv()
                if name is None:
                    return
                try:
                    connection.send(self._started(name))
                except Exception as error:  # noqa: BLE001 - the worker that asked raises it
                    connection.send(error)

    def _started(self, name: str) -> Server:
        if name not in self._running:
            self._running[name] = self._to_stop.enter_context(ENGINES[name]())
        return self._running[name].seen_from_elsewhere()


def engine(address: str, name: str) -> Server:
    """Return the engine of this name once it is up. Only `SharedEngines` at this address can stop it."""
    with Client(address) as connection:
        connection.send(name)
        answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Server)
    return answer
