"""The objects of an image in the origin store: their names and content types.

An image is `<id[:2]>/<id>.<ext>`, and its thumbnail is `<id[:2]>/<id>.thumb.webp`. Its difference image,
`<id[:2]>/<id>.diff.jpg`, shows the changes since its base, and `<id[:2]>/<id>.closeup1.png` to `closeup6.png`
show the changed parts at full size. The URL alone determines the key, so delivery
needs no database. `deploy/nginx/prshots/ask-first.conf` has the same rule for nginx; a test compares the two.
"""

import re

from prshots.contract.formats import BY_EXT, FORMATS

SHARDS = [f"{number:02x}" for number in range(256)]
"""The first two digits of the ids: the folders of a store."""

THUMBNAIL_EXT = "thumb.webp"
DIFF_EXT = "diff.jpg"
CLOSEUP_EXTS = tuple(f"closeup{number}.png" for number in range(1, 7))

OWNER_MARK = ".installation"
"""The object that names the store's installation."""

CONTENT_TYPES = {image_format.ext: image_format.content_type for image_format in FORMATS} | {
    THUMBNAIL_EXT: BY_EXT["webp"].content_type,
    DIFF_EXT: BY_EXT["jpg"].content_type,
    **dict.fromkeys(CLOSEUP_EXTS, BY_EXT["png"].content_type),
}
"""Content types by extension."""

EXTENSION_PATTERN = "|".join(map(re.escape, CONTENT_TYPES))
OBJECT_NAME = re.compile(rf"[0-9a-f]{{32}}\.(?:{EXTENSION_PATTERN})")
ORIGIN_KEY = re.compile(rf"([0-9a-f]{{2}})/\1[0-9a-f]{{30}}\.(?:{EXTENSION_PATTERN})")


def origin_key(image_id: str, ext: str) -> str:
    return f"{image_id[:2]}/{image_id}.{ext}"


def origin_keys(image_id: str, ext: str) -> list[str]:
    """Return the keys of all objects that an image can have, whether or not they exist."""
    return [origin_key(image_id, each) for each in (ext, THUMBNAIL_EXT, DIFF_EXT, *CLOSEUP_EXTS)]


def image_id_of(key: str) -> str:
    return key.rpartition("/")[2].partition(".")[0]


def content_type_of(key: str) -> str:
    return CONTENT_TYPES[key.rpartition("/")[2].partition(".")[2]]
