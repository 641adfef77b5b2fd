"""Small pages to compare, drawn without a browser."""

import hashlib
import io

from PIL import Image, ImageDraw

WIDTH, HEIGHT = 320, 240


def sha(text: str) -> str:
    """Return a commit's SHA for a readable name."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def drawn_page(
    label: str = "",
    *,
    button: str = "#0060df",
    banner: int = 0,
    badge: str = "",
    encoding: str = "PNG",
    compress: int = 1,
    scale: int = 1,
) -> bytes:
    """Draw a page with text and a button. A banner pushes both down, and a badge stands beside the text.

    Other encodings have the same pixels.
    """
    picture = Image.new("RGB", (WIDTH, HEIGHT + banner), "white")
    draw = ImageDraw.Draw(picture)
    if banner:
        draw.rectangle((0, 0, WIDTH, banner - 1), fill="#ffe9a8")
    for line in range(6):
        draw.text((20, banner + 12 + 22 * line), f"{label} line {line} of the page", fill="#222222")
    draw.rectangle((20, banner + 180, 120, banner + 210), fill=button)
    if badge:
        draw.text((250, banner + 60), badge, fill="#222222")
    picture = picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(
        buffer, encoding, **({"quality": 95} if encoding == "JPEG" else {"compress_level": compress})
    )
    return buffer.getvalue()
