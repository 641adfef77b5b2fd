# What we use of multipart, for mypy only. The mcp SDK brings python-multipart, which has a package of this name too:
# it gives way to multipart when it runs, but mypy cannot see that.
from collections.abc import Iterator
from typing import Any

class MultipartError(ValueError): ...

class MultipartSegment:
    name: str | None
    filename: str | None
    content_type: str | None
    bytes_received: int

    def header(self, name: str, default: str | None = None) -> Any: ...

class PushMultipartParser:
    def __init__(self, boundary: str, *, max_segment_count: int) -> None: ...
    def parse(self, chunk: bytes | bytearray) -> Iterator[MultipartSegment | bytes | None]: ...

def parse_options_header(header: str) -> tuple[str, dict[str, str]]: ...
