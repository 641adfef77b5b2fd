"""The messages between the API and a picture worker: a JSON header, then bytes.

A job names an operation and its options; its bytes are the images. A reply's bytes are the result, unless its
header names an error. A comparison packs its result in the same way.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, BinaryIO

from prshots.contract import errors
from prshots.server.domain.comparison.encoding import decode_difference, encode_difference
from prshots.server.domain.comparison.models import PairResult, PartPicture

PREFIX = struct.Struct(">II")
"""The lengths of the header and of all the bytes after it."""

_ERRORS: dict[str, type[errors.PictureError]] = {
    kind.reason: kind
    for kind in (errors.DamagedPictureError, errors.UnsupportedPictureError, errors.PictureTooLargeError)
}

_PLAIN = ("verdict", "pixels", "pixels_before", "pixels_after")


@dataclass(frozen=True, slots=True)
class PictureJob:
    operation: str
    pictures: Sequence[bytes]
    options: dict[str, Any] = field(default_factory=dict)

    def pack(self) -> bytes:
        sizes = [len(picture) for picture in self.pictures]
        return _pack({"operation": self.operation, "options": self.options, "sizes": sizes}, *self.pictures)


def read_job(stream: BinaryIO) -> PictureJob | None:
    """Wait for the next job. Return None when the other side has closed."""
    prefix = stream.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    header_size, body_size = PREFIX.unpack(prefix)
    header, body = stream.read(header_size), stream.read(body_size)
    if len(header) < header_size or len(body) < body_size:
        return None
    facts = json.loads(header)
    return PictureJob(facts["operation"], _cut(body, facts["sizes"]), facts["options"])


def pack_result(result: bytes) -> bytes:
    return _pack({"error": None}, result)


def pack_error(error: errors.PictureError) -> bytes:
    return _pack({"error": error.reason, "words": str(error)})


def result_of(header: bytes, body: bytes) -> bytes:
    """Return the result in a reply, or raise its PictureError."""
    facts = json.loads(header)
    if facts["error"] is not None:
        raise _ERRORS[facts["error"]](facts["words"])
    return body


def pack_pair(result: PairResult) -> bytes:
    bodies = [result.marked, *(closeup.picture for closeup in result.closeups)]
    facts = {
        **{name: getattr(result, name) for name in _PLAIN},
        **encode_difference(result),
        "closeups": [(closeup.region, closeup.pieces) for closeup in result.closeups],
        "sizes": [len(body) for body in bodies],
    }
    return _pack(facts, *bodies)


def unpack_pair(packed: bytes) -> PairResult:
    header_size, _ = PREFIX.unpack_from(packed)
    end = PREFIX.size + header_size
    facts = json.loads(packed[PREFIX.size : end])
    marked, *pictures = _cut(packed[end:], facts["sizes"])
    closeups = tuple(
        PartPicture(tuple(region), tuple(pieces), picture)
        for (region, pieces), picture in zip(facts["closeups"], pictures, strict=True)
    )
    plain = {name: facts[name] for name in _PLAIN}
    return PairResult(**plain, **decode_difference(facts), marked=marked, closeups=closeups)


def _cut(body: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Return the parts of these sizes."""
    return [body[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def _pack(header: dict[str, Any], *bodies: bytes) -> bytes:
    encoded = json.dumps(header).encode()
    return b"".join([PREFIX.pack(len(encoded), sum(map(len, bodies))), encoded, *bodies])
