"""Read a file for a request whose headers contain its length."""

import os
from typing import BinaryIO

from prshots.contract.errors import CallError


class FixedLengthFile:
    """A file that must not change while it is sent: its length is in the request's headers already."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._length = self._left = file.seek(0, os.SEEK_END)

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Rewind, or return the length. httpx asks for nothing else."""
        self._left = self._length
        return self._length if whence == os.SEEK_END else self._file.seek(offset)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0 or (self._left and not data):
            raise CallError("the file changed during the upload")
        return data
