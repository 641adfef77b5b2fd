"""The images and upload bodies for the servers."""

import os
import struct
import zlib

BOUNDARY = "prshots-bench-7f3a91c2"
CONTENT_TYPE = f"multipart/form-data; boundary={BOUNDARY}"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(size: int) -> bytes:
    """Return a valid PNG of exactly `size` bytes: one gray pixel, and noise that doesn't compress."""
    head = _SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    tail = _chunk(b"IDAT", zlib.compress(b"\x00\x80")) + _chunk(b"IEND", b"")
    return head + _chunk(b"fiLl", os.urandom(size - len(head) - len(tail) - len(_chunk(b"fiLl", b"")))) + tail


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def upload_body(image: bytes, pr_number: int) -> bytes:
    return form_body(
        image,
        name="Checkout, dark mode",
        pr_number=str(pr_number),
        commit_sha="3f9c2ab17d5e",
        viewport="1280x800",
    )


def form_body(image: bytes, **fields: str) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    parts.append(
        f"--{BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="image"; filename="shot.png"\r\n'
        "Content-Type: image/png\r\n\r\n".encode()
    )
    return b"".join([*parts, image, f"\r\n--{BOUNDARY}--\r\n".encode()])
