"""The ports that links to images need, and how each call can fail."""

from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol, runtime_checkable

from prshots.server.links.signing import KeyRing


class OpenObject(NamedTuple):
    """An open file of the origin store. The receiver must close it."""

    fd: int
    size: int


@runtime_checkable
class FileReader(Protocol):
    """Reads a local store for delivery, which sends its files with sendfile."""

    def open(self, key: str) -> OpenObject | None:
        """Open an object for reading. None if it does not exist. Raises StoreError."""

    def check(self) -> None:
        """Raise StoreError if objects cannot be read now."""


class ObjectStream(NamedTuple):
    """An object of a remote store as it arrives. The receiver must close `chunks`.

    `size` is the size of the whole object, even if only a range was requested. `chunks` raises StoreError if
    the transfer breaks off.
    """

    size: int
    chunks: AsyncGenerator[bytes, None]


class RemoteReader(Protocol):
    """Reads a remote store for delivery, one chunk at a time."""

    async def size(self, key: str) -> int | None:
        """Return an object's size. None if it does not exist. Raises StoreError."""

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        """Start to read an object or a range of it. None if it does not exist. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if objects cannot be read now."""


class KeySource(Protocol):
    def ring(self) -> KeyRing:
        """Return the keys, at most a few seconds old. Cheap enough for every request."""

    def fresh_ring(self) -> KeyRing:
        """Return the current keys, for a URL signed with an unknown key."""
