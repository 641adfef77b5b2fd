"""A cache of things that can be found again, with a limit to its size."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Remembers up to `size` values by key. If a new one does not fit, all others are forgotten first.

    Which of them was used last is not known: to note that would take longer than the read itself. `get` is
    that of a dict, because delivery reads it for every image. Several threads may use it. If they put at the
    same moment, it may hold one more value per thread until the next one.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[K, V] = {}
        self.get: Callable[[K], V | None] = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: K, value: V) -> None:
        if len(self._values) >= self._size and key not in self._values:
            self._values.clear()
        self._values[key] = value

    def clear(self) -> None:
        self._values.clear()
