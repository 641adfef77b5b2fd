"""Read an upload's multipart body as it streams in, holding no more of it than a valid upload needs."""

from collections.abc import AsyncIterator

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from prshots.errors import InvalidInputError
from prshots.images import UploadedFile, UploadForm, payload_too_large

MAX_PARTS = 64
MAX_FIELD_BYTES = 16 * 1024
"""A field is kept up to here: far more than the longest valid one, so a longer one fails its own check."""

MAX_OVERHEAD_BYTES = 1024**2
"""What may come with the image: boundaries, headers, fields, and fields we do not know."""

ABSURD_FACTOR = 4
"""A body of this many times the largest image is not read to find out what else is wrong with it."""


async def read_upload_form(
    content_type: str, content_length: str, body: AsyncIterator[bytes], max_image_bytes: int
) -> UploadForm:
    """Raise InvalidInputError when it is not multipart, PayloadTooLargeError when it is absurdly large."""
    absurd = ABSURD_FACTOR * max_image_bytes
    form = _Form(max_image_bytes)
    try:
        parser = PushMultipartParser(_boundary(content_type), max_segment_count=MAX_PARTS)
        if _declared(content_length) > absurd:
            raise payload_too_large(max_image_bytes)
        received = 0
        async for chunk in body:
            received += len(chunk)
            if received > absurd:
                raise payload_too_large(max_image_bytes)
            if chunk and not parser.closed:
                for event in parser.parse(chunk):
                    form.take(event)
        parser.close()
    except MultipartError as error:
        raise _invalid() from error
    return form.finished(oversized=received > max_image_bytes + MAX_OVERHEAD_BYTES)


class _Form:
    """Collects the parts; of the image at most `max_image_bytes` are kept, but all are counted."""

    def __init__(self, max_image_bytes: int) -> None:
        self._max_image_bytes = max_image_bytes
        self._fields: dict[str, bytearray] = {}
        self._image: MultipartSegment | None = None
        self._chunks: list[bytes] = []
        self._part: MultipartSegment | None = None
        self._names: set[str] = set()

    def take(self, event: MultipartSegment | bytes | bytearray | None) -> None:
        if isinstance(event, MultipartSegment):
            self._begin(event)
        elif event is not None:
            self._add(event)

    def _begin(self, part: MultipartSegment) -> None:
        if not part.name or part.name in self._names:  # which of two would be meant?
            raise _invalid()
        self._names.add(part.name)
        self._part = part
        if part.name == "image" and _is_file(part):
            self._image = part
        else:
            self._fields[part.name] = bytearray()

    def _add(self, data: bytes | bytearray) -> None:
        part = self._part
        if part is None:
            return
        if part is not self._image:
            field = self._fields[part.name]
            field += data[: MAX_FIELD_BYTES - len(field)]
        elif part.bytes_received < self._max_image_bytes:
            self._chunks.append(bytes(data))
        else:
            self._chunks.clear()

    def finished(self, *, oversized: bool) -> UploadForm:
        try:
            fields = {name: value.decode("utf-8") for name, value in self._fields.items()}
        except UnicodeDecodeError as error:
            raise _invalid() from error
        return UploadForm(self._file(), fields, oversized)

    def _file(self) -> UploadedFile | None:
        part = self._image
        if part is None or (not part.filename and not part.size):  # a browser's file input left empty
            return None
        return UploadedFile(part.content_type or "", self._chunks, part.size)


def _is_file(part: MultipartSegment) -> bool:
    return part.filename is not None or part.header("Content-Type") is not None


def _boundary(content_type: str) -> str:
    media_type, options = parse_options_header(content_type)
    boundary = options.get("boundary")
    if media_type != "multipart/form-data" or not boundary:
        raise _invalid()
    return boundary


def _declared(content_length: str) -> int:
    # The server has checked the header; a length of many digits is large enough without being a number.
    return int(content_length[:18]) if content_length.isdecimal() else 0


def _invalid() -> InvalidInputError:
    return InvalidInputError("invalid multipart/form-data body")
