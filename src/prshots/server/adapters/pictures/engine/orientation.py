"""The EXIF orientation of an image: how its rows and columns are shown."""

from PIL import ExifTags, Image

UPRIGHT = 1
ROTATED = {5, 6, 7, 8}
"""Orientations that show the file's rows as columns."""

TOP_AT_END = {3, 4, 7, 8}
"""Orientations whose top is the file's last row or column."""

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def orientation_of(picture: Image.Image) -> int:
    exif = Image.Exif()
    try:
        # Not `getexif()`: it decodes a PNG, and then hides errors in its pixels.
        exif.load(picture.info.get("exif", b""))
        return int(exif.get(ExifTags.Base.Orientation, UPRIGHT))
    except Exception:  # noqa: BLE001 - unreadable metadata does not make the image invalid
        return UPRIGHT


def turn_upright(picture: Image.Image, orientation: int) -> Image.Image:
    """Turn decoded pixels the way they are shown."""
    return picture.transpose(_TURNS[orientation]) if orientation in _TURNS else picture
