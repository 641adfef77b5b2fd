"""Image files that are small and valid enough to upload, and expensive or impossible to decode."""

import io
import struct
import zlib

from PIL import Image

_LARGEST_RUN = 32_767
"""The most blocks that one symbol of a progressive JPEG can leave empty."""


def encoded(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def jpeg_with_scans(scans: int, width: int = 65_500, height: int = 610) -> bytes:
    """Build a progressive JPEG of scans that refine nothing: 66 bytes each, and a slow pass over all pixels."""
    blocks = -(-width // 8) * -(-height // 8)
    bits = ("0" + "1" * 14) * -(-blocks // _LARGEST_RUN)
    bits += "1" * (-len(bits) % 8)
    nothing = int(bits, 2).to_bytes(len(bits) // 8).replace(b"\xff", b"\xff\x00")
    return b"".join(
        [
            b"\xff\xd8",
            _segment(0xDB, b"\0" + b"\x01" * 64),
            _segment(0xC2, struct.pack(">BHHB3B", 8, height, width, 1, 1, 0x11, 0)),
            _segment(0xC4, b"\x10" + b"\x01" + bytes(15) + b"\xe0"),  # one symbol: a run of empty blocks
            *[_segment(0xDA, b"\x01\x01\x00\x01\x3f\x10") + nothing] * scans,
            b"\xff\xd9",
        ]
    )


def jpeg_with_segments(segments: int) -> bytes:
    jpeg = encoded(Image.new("RGB", (64, 48), "red"), "JPEG")
    return jpeg[:2] + _segment(0xE1, b"") * segments + jpeg[2:]


def jpeg_of_kind(marker: int, bits: int = 8) -> bytes:
    """Return a JPEG whose header claims another kind: 0xC9 is arithmetic coding, 0xC3 is lossless."""
    jpeg = encoded(Image.new("RGB", (64, 48), "red"), "JPEG")
    at = jpeg.index(b"\xff\xc0")
    return jpeg[:at] + bytes([0xFF, marker]) + jpeg[at + 2 : at + 4] + bytes([bits]) + jpeg[at + 5 :]


def png_with_chunks(chunks: int, kind: bytes = b"IDAT", content: bytes = b"") -> bytes:
    """Return a PNG with more chunks of this kind before its pixels."""
    png = encoded(Image.new("RGB", (64, 48), "red"), "PNG")
    at = png.index(b"IDAT") - 4
    return png[:at] + png_chunk(kind, content) * chunks + png[at:]


def png_with_profile_bomb(megabytes: int) -> bytes:
    """Return a PNG whose color profile is a thousand times as large when decompressed."""
    return png_with_chunks(1, b"iCCP", b"profile\0\0" + zlib.compress(bytes(megabytes * 1024**2), 9))


def png_with_text_bombs(texts: int) -> bytes:
    """Return a PNG with texts that decompress to 1 MB each."""
    return png_with_chunks(texts, b"zTXt", b"Comment\0\0" + zlib.compress(bytes(1024**2 - 64), 9))


def animated(kind: str, frames: int, size: tuple[int, int] = (8, 8)) -> bytes:
    """Return an animated PNG or WebP. For a WebP, the second frame is repeated."""
    first, second = Image.new("RGB", size, "red"), Image.new("RGB", size, "blue")
    if kind == "PNG":
        return encoded(first, kind, save_all=True, append_images=[second, first] * (frames // 2), duration=20)
    webp = encoded(first, kind, save_all=True, append_images=[second], duration=20, lossless=True)
    at = webp.rindex(b"ANMF")
    body = webp[8:] + webp[at:] * (frames - 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
