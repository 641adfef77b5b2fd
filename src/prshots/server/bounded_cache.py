"""A cache of limited size."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Caches up to `size` values by key. If a new value doesn't fit, all others are dropped first.

    The cache doesn't track which value was used last, because that would take longer than the read itself.
    `get` is the dict's own method, because delivery calls it for every image. Several threads may use the
    cache. If they call `put` at the same moment, it may hold one more value per thread until the next `put`.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[K, V] = {}
        self.get: Callable[[K], V | None] = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def put(self, key: K, value: V) -> None:
        if len(self._values) >= self._size and key not in self._values:
            self._values.clear()
        self._values[key] = value

    def clear(self) -> None:
        self._values.clear()
