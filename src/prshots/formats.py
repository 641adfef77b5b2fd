"""The image formats we take, and how each begins."""

from dataclasses import dataclass

LEADING_BYTES = 12


@dataclass(frozen=True, slots=True)
class ImageFormat:
    content_type: str
    ext: str
    label: str

    def matches(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes (`LEADING_BYTES` of them) is of this format."""
        match self.ext:
            case "png":
                return head.startswith(b"\x89PNG\r\n\x1a\n")
            case "jpg":
                return head.startswith(b"\xff\xd8\xff")
            case _:
                return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


FORMATS = (
    ImageFormat("image/png", "png", "PNG"),
    ImageFormat("image/jpeg", "jpg", "JPEG"),
    ImageFormat("image/webp", "webp", "WEBP"),
)
BY_CONTENT_TYPE = {image_format.content_type: image_format for image_format in FORMATS}
BY_EXT = {image_format.ext: image_format for image_format in FORMATS}
