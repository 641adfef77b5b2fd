"""The uploads that the API workers of one supervisor have counted, in shared memory.

The supervisor creates the memory and its workers inherit it. A restarted worker therefore finds the uploads
that the others and its predecessor counted. A worker can be killed at any moment:

- The kernel frees its lock.
- A worker first writes an upload after the last one, then increments the number of uploads. Both are aligned
  words of 8 bytes, which the processor writes whole. An upload is therefore never half in the log.
"""

import fcntl
import mmap
import os
import tempfile
from bisect import bisect_right

CAPACITY = 2**19
"""How many uploads fit: 8,700 a second over a minute. They take 8 MB, but only once they happen."""

_WORD = 8
_COUNT = 0  # the header position of the number of uploads ever counted
_SIZE = mmap.PAGESIZE + 2 * CAPACITY * _WORD


def create_memory() -> int:
    """Return the descriptor of an empty log's memory. The memory ends with the last process that has it."""
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("prshots-uploads")
    else:
        with tempfile.TemporaryFile() as file:
            memory = os.dup(file.fileno())
    os.ftruncate(memory, _SIZE)
    return memory


class UploadLog:
    """Entries in order of time: when a project uploaded, and the project's key.

    Without a descriptor from `create_memory`, the log isn't shared. Use it in one thread, in a `with` block,
    which keeps other processes out. Entering the block raises BlockingIOError if another process is in one.
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
        """The position after the newest entry. Positions never repeat."""
        return self._header[_COUNT]

    def time(self, position: int) -> float:
        return self._times[2 * (position % CAPACITY)]

    def key(self, position: int) -> int:
        return self._keys[2 * (position % CAPACITY) + 1]

    def first_after(self, time: float) -> int:
        """Return the position of the oldest entry after this time."""
        return bisect_right(range(self.end), time, max(0, self.end - CAPACITY), key=self.time)

    def append(self, key: int, time: float) -> None:
        """Add an entry, replacing the one that is `CAPACITY` older."""
        end = self.end
        place = 2 * (end % CAPACITY)
        self._times[place] = time
        self._keys[place + 1] = key
        self._header[_COUNT] = end + 1  # last: the entry doesn't exist until here
