"""Identify an image by its decoded pixels, regardless of encoding."""

import hashlib
import struct

from PIL import Image

from prshots.contract.formats import BY_EXT, LEADING_BYTES, format_of, orientation_of, webp_chunks
from prshots.server.adapters.pictures.engine import decoding

_HIDDEN = [255] + [0] * 255
"""By opacity: a mask of the fully transparent pixels."""


class DecodedPicture:
    """An image's upright pixels and their identity. Raises PictureError if they can't be decoded."""

    def __init__(self, data: bytes, known: str = "") -> None:
        """`known` is the identity, if it is known. Hashing takes a fifth as long as decoding."""
        picture = decoding.open_image(data)
        self.is_lossy = _is_lossy(data)
        with decoding.pillow_errors_as_ours():
            picture.load()
            self.image = decoding.turn_upright(picture, orientation_of(data))
            self.pixels = known or _hash_pixels(self.image)


def identify(data: bytes) -> bytes:
    """Return the identity of an image's pixels, in hexadecimal digits. Raises PictureError."""
    return DecodedPicture(data).pixels.encode()


def _hash_pixels(picture: Image.Image) -> str:
    """Return the SHA-256 of width, height and RGBA pixels. Hidden colors count as 0."""
    width, height = picture.size
    found = hashlib.sha256(struct.pack(">II", width, height))
    for top, bottom in decoding.bands(0, height, width):
        rows = decoding.band(picture, (0, top, width, bottom), "RGBA")
        if picture.has_transparency_data:
            rows.paste((0, 0, 0, 0), mask=rows.getchannel("A").point(_HIDDEN))
        found.update(rows.tobytes())
    return found.hexdigest()


def _is_lossy(data: bytes) -> bool:
    """Return whether the format stores pixels inexactly: JPEG, and WebP unless it is lossless."""
    image_format = format_of(data[:LEADING_BYTES])
    if image_format == BY_EXT["webp"]:
        return all(kind != b"VP8L" for kind, _, _ in webp_chunks(data))
    return image_format == BY_EXT["jpg"]
