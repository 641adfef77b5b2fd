"""The ports for links to images, with the errors that each call raises."""

from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol, runtime_checkable

from prshots.server.links.signing import KeyRing


class OpenObject(NamedTuple):
    """An open file in the origin store. The receiver must close it."""

    fd: int
    size: int


@runtime_checkable
class FileReader(Protocol):
    """Reads a local store for delivery, which sends its files with sendfile."""

    def open(self, key: str) -> OpenObject | None:
        """Open an object for reading. Return None if it doesn't exist. Raises StoreError."""

    def check(self) -> None:
        """Raise StoreError if the store can't currently read objects."""


class ObjectStream(NamedTuple):
    """An object that is being received from a remote store. The receiver must close `chunks`.

    `size` is the size of the whole object, even if only a range was requested. `chunks` raises StoreError if
    the transfer is interrupted.
    """

    size: int
    chunks: AsyncGenerator[bytes, None]


class RemoteReader(Protocol):
    """Reads a remote store for delivery, one chunk at a time."""

    async def size(self, key: str) -> int | None:
        """Return an object's size, or None if it doesn't exist. Raises StoreError."""

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        """Start reading an object or a range of it. Return None if it doesn't exist. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if the store can't currently read objects."""


class KeySource(Protocol):
    def ring(self) -> KeyRing:
        """Return the keys, at most a few seconds old. Fast enough for every request."""

    def fresh_ring(self) -> KeyRing:
        """Return the current keys, for a URL signed with an unknown key."""
