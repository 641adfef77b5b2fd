"""A PairResult as bytes, which a picture worker sends to the API: a JSON header, then the marked image."""

import json
import struct

from prshots.server.domain.comparison.models import PairResult

_HEADER_SIZE = struct.Struct(">I")


def pack(result: PairResult) -> bytes:
    facts = {
        "verdict": result.verdict,
        "pixels": result.pixels,
        "regions": result.regions,
        "shift": result.shift,
    }
    header = json.dumps(facts).encode()
    return _HEADER_SIZE.pack(len(header)) + header + result.marked


def unpack(data: bytes) -> PairResult:
    (size,) = _HEADER_SIZE.unpack_from(data)
    end = _HEADER_SIZE.size + size
    facts = json.loads(data[_HEADER_SIZE.size : end])
    regions = tuple((left, top, width, height) for left, top, width, height in facts["regions"])
    return PairResult(facts["verdict"], facts["pixels"], regions, facts["shift"], data[end:])
