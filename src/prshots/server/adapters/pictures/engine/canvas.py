"""A decoded, upright image, whose rows can be compared with those of another image."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from prshots.contract.formats import BY_EXT, LEADING_BYTES, format_of
from prshots.contract.image_structure import webp_chunks
from prshots.server.adapters.pictures.engine.decoding import (
    band,
    bands,
    open_image,
    orientation_of,
    pillow_errors_as_ours,
    turn_upright,
)

Pixels = npt.NDArray[np.uint8]
"""Rows, columns, channels."""

_OPAQUE = 255
_BINS = 32
"""The sections of a row in a sketch. On a page of 1280 px, each has 40 px."""


class Canvas:
    """The pixels of an image. Raises PictureError if they can't be decoded.

    A transparent pixel has its color multiplied by its opacity, and the opacity as a fourth channel. The
    hidden color of a fully transparent pixel therefore has no effect.
    """

    def __init__(self, data: bytes) -> None:
        picture = open_image(data)
        with pillow_errors_as_ours():
            orientation = orientation_of(picture)
            picture.load()
            self.image = turn_upright(picture, orientation)
            self.is_transparent = _is_transparent(self.image)
        self.is_lossy = _is_lossy(data)
        self.width, self.height = self.image.size

    def rows(self, top: int, bottom: int, width: int, *, transparent: bool) -> Pixels:
        """Return the first `width` pixels of some rows, with three channels, or four if `transparent`."""
        box = (0, top, width, bottom)
        if transparent:
            return np.asarray(band(self.image, box, "RGBA").convert("RGBa"))
        return np.asarray(band(self.image, box, "RGB"))

    def row_hashes(self, width: int, *, transparent: bool) -> list[int]:
        """Return a number for each row. Equal rows have equal numbers, within this process."""
        hashes: list[int] = []
        for top, bottom in bands(0, self.height, width):
            rows = self.rows(top, bottom, width, transparent=transparent)
            hashes.extend(hash(row.tobytes()) for row in rows)
        return hashes

    def row_sketches(self, top: int, bottom: int, width: int) -> npt.NDArray[np.float32]:
        """Return the mean brightness of 32 sections of each row. Rows that look alike have similar values."""
        starts = np.unique(np.linspace(0, width, _BINS, endpoint=False).astype(int))
        widths = np.diff(np.append(starts, width)).astype(np.float32)
        sketches = [
            np.add.reduceat(np.asarray(band(self.image, (0, start, width, end), "L")), starts, 1, np.float32)
            for start, end in bands(top, bottom, width)
        ]
        return (np.concatenate(sketches) / widths).astype(np.float32)


def _is_transparent(picture: Image.Image) -> bool:
    if picture.mode == "RGBA":
        lowest, _ = picture.getchannel("A").getextrema()
        return lowest != _OPAQUE
    return picture.has_transparency_data


def _is_lossy(data: bytes) -> bool:
    """Return whether the format stores pixels inexactly: JPEG, and WebP unless it is lossless."""
    kind = format_of(data[:LEADING_BYTES])
    if kind == BY_EXT["webp"]:
        return b"VP8L" not in webp_chunks(data)
    return kind == BY_EXT["jpg"]
