"""The uploads that the API workers of one supervisor counted, in memory that they share.

The supervisor creates the memory and its workers inherit it, so a worker that restarts finds what the others
and its predecessor counted. A worker can be killed at any moment:

- The kernel frees its lock.
- An upload is written behind the last one first, and then the number of uploads grows. Both are aligned words
  of 8 bytes, which the processor writes whole. So an upload is in the log or not, and never half.
"""

import fcntl
import mmap
import os
import tempfile
from bisect import bisect_right

CAPACITY = 2**19
"""How many uploads of a minute fit: 8,700 a second. They take 8 MB, but only once they happen."""

_WORD = 8
_COUNT = 0  # the place in the header of how many uploads were ever counted
_SIZE = mmap.PAGESIZE + 2 * CAPACITY * _WORD


def create_memory() -> int:
    """Return the descriptor of memory for a log, empty. It ends with the last process that has it."""
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("prshots-uploads")
    else:
        with tempfile.TemporaryFile() as file:
            memory = os.dup(file.fileno())
    os.ftruncate(memory, _SIZE)
    return memory


class UploadLog:
    """Entries in the order of their times: when a project uploaded, and the project's key.

    Without a descriptor from `create_memory`, nobody shares it. Use it in a `with` block, which keeps other
    processes out, and in one thread. The block raises BlockingIOError if another process is in one.
    """

    def __init__(self, memory: int | None) -> None:
        self._memory = memory
        mapped = memoryview(mmap.mmap(-1 if memory is None else memory, _SIZE))
        self._header = mapped[: mmap.PAGESIZE].cast("Q")
        entries = mapped[mmap.PAGESIZE :]
        self._times, self._keys = entries.cast("d"), entries.cast("Q")

    def __enter__(self) -> None:
        if self._memory is not None:
            fcntl.lockf(self._memory, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            fcntl.lockf(self._memory, fcntl.LOCK_UN)

    @property
    def end(self) -> int:
        """The position behind the newest entry. Positions never repeat."""
        return self._header[_COUNT]

    def time(self, position: int) -> float:
        return self._times[2 * (position % CAPACITY)]

    def key(self, position: int) -> int:
        return self._keys[2 * (position % CAPACITY) + 1]

    def first_after(self, time: float) -> int:
        """Return the position of the oldest entry that is later than this."""
        return bisect_right(range(self.end), time, max(0, self.end - CAPACITY), key=self.time)

    def append(self, key: int, time: float) -> None:
        """Add an entry in the place of the one that is `CAPACITY` older."""
        end = self.end
        place = 2 * (end % CAPACITY)
        self._times[place] = time
        self._keys[place + 1] = key
        self._header[_COUNT] = end + 1  # last: until now, the entry does not exist
