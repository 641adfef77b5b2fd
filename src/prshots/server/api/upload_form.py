"""Parses an upload's multipart body as a stream. Keeps only as much as a valid upload needs."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from prshots.contract.errors import InvalidInputError
from prshots.server.domain.images.checks import UploadedFile, payload_too_large

TEXT_FIELDS = {"name", "pr_number", "commit_sha", "viewport", "theme", "branch", "repository"}
FILE_FIELDS = {"image", "before"}
KNOWN_FIELDS = FILE_FIELDS | TEXT_FIELDS
MAX_PARTS = 64
MAX_BOUNDARY_CHARACTERS = 70  # RFC 2046
MAX_FIELD_BYTES = 16 * 1024
"""Fields are cut off here. Valid fields are far shorter, so a cut field fails its own check."""

MAX_OVERHEAD_BYTES = 1024**2
"""The limit for everything except the files: boundaries, headers and fields."""

ABSURD_FACTOR = 4
"""A body of this many times the largest image is refused without further checks."""

_UNENCODED = {"7bit", "8bit", "binary"}


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A parsed form that isn't validated yet. `oversized` means that it is too large without its files.

    `before` is the before image, if the client sent one.
    """

    image: UploadedFile | None
    fields: Mapping[str, str]
    oversized: bool
    before: UploadedFile | None


async def read_upload_form(
    content_type: str, declared: int | None, body: AsyncIterator[bytes], max_image_bytes: int
) -> UploadForm:
    """Parse a form.

    Raises InvalidInputError if it isn't multipart, PayloadTooLargeError if it is far too large.
    """
    absurd = ABSURD_FACTOR * max_image_bytes
    form = _Form(max_image_bytes)
    try:
        parser = PushMultipartParser(_boundary(content_type), max_segment_count=MAX_PARTS)
        if declared is not None and declared > absurd:
            raise payload_too_large(max_image_bytes)
        received = 0
        async for chunk in body:
            received += len(chunk)
            if received > absurd:
                raise payload_too_large(max_image_bytes)
            if chunk:
                form.take(parser.parse(chunk))
        form.take(parser.parse(b""))  # the end of the body: raises if the final boundary is missing
    except MultipartError as error:
        raise _invalid() from error
    return form.finish(received)


class _Form:
    """Collects the parts. Keeps at most `max_image_bytes` of each file, but counts all bytes."""

    def __init__(self, max_image_bytes: int) -> None:
        self._max_image_bytes = max_image_bytes
        self._seen: set[str] = set()
        self._fields: dict[str, bytearray] = {}
        self._files: dict[str, tuple[MultipartSegment, list[bytes]]] = {}
        # The current part, and its field or file if the form keeps it.
        self._part: MultipartSegment | None = None
        self._field: bytearray | None = None
        self._chunks: list[bytes] | None = None

    def take(self, events: Iterable[MultipartSegment | bytes | None]) -> None:
        for event in events:
            if isinstance(event, MultipartSegment):
                self._begin(event)
            elif event is not None:
                self._add(event)

    def _begin(self, part: MultipartSegment) -> None:
        if not part.name or part.name in self._seen:  # a repeated field is ambiguous
            raise _invalid()
        if part.header("Content-Transfer-Encoding", "binary").lower() not in _UNENCODED:
            raise _invalid()  # RFC 7578 deprecates encodings such as base64
        self._part, self._field, self._chunks = part, None, None
        is_file = part.filename is not None or part.header("Content-Type") is not None
        if part.name in TEXT_FIELDS:
            self._field = self._fields[part.name] = bytearray()
        elif part.name in FILE_FIELDS and (is_file or part.name != "image"):
            self._chunks = []
            self._files[part.name] = part, self._chunks
        if part.name in KNOWN_FIELDS:  # unknown fields are ignored
            self._seen.add(part.name)

    def _add(self, data: bytes) -> None:
        if self._field is not None:
            self._field += data[: MAX_FIELD_BYTES - len(self._field)]
        elif self._part is not None and self._chunks is not None:
            if self._part.bytes_received < self._max_image_bytes:
                self._chunks.append(data)
            else:
                self._chunks.clear()

    def finish(self, received: int) -> UploadForm:
        fields = {name: _text(value) for name, value in self._fields.items()}
        image, before = self._file("image"), self._file("before")
        most = self._max_image_bytes * (2 if before else 1) + MAX_OVERHEAD_BYTES
        return UploadForm(image, fields, received > most, before)

    def _file(self, name: str) -> UploadedFile | None:
        part, chunks = self._files.get(name, (None, []))
        if part is None or not (part.filename or part.bytes_received):  # an empty file input in a browser
            return None
        return UploadedFile(part.content_type or "", chunks, part.bytes_received)


def _text(value: bytearray) -> str:
    """Return the field's text. If it isn't UTF-8, return a NUL, which no field accepts."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return "\0"
    return text.replace("\r\n", "\n")  # browsers send every newline as CRLF


def _boundary(content_type: str) -> str:
    media_type, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if media_type != "multipart/form-data" or not 1 <= len(boundary) <= MAX_BOUNDARY_CHARACTERS:
        raise _invalid()
    return boundary


def _invalid() -> InvalidInputError:
    return InvalidInputError("invalid multipart/form-data body")
