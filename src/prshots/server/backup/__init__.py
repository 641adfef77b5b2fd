"""A backup of the embedded default, and the way back: one tar archive.

    images/<id[:2]>/<id>.<ext>   the images that the records name, and their thumbnails
    prshots.db                   the records
    signing-keys                 the keys that image URLs are signed with
    manifest.json                what this is, and the SHA-256 of all that stands before it

The manifest comes last: an archive without one is a half one.
"""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from prshots.contract.object_names import ORIGIN_KEY

FORMAT = 1
DATABASE, KEYS, IMAGES, MANIFEST = "prshots.db", "signing-keys", "images", "manifest.json"
"""The names in the archive, and in a data folder as well."""

_Count = Annotated[int, Field(ge=0)]


class Manifest(BaseModel):
    """What an archive says of itself."""

    model_config = ConfigDict(frozen=True, strict=True)

    format: Annotated[int, Field(ge=1)]
    prshots: str
    schema_version: Annotated[str, Field(pattern=r"^[0-9]{4}$")]
    installation_id: Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
    created_at: _Count
    images: _Count
    thumbnails: _Count
    image_bytes: _Count
    gone_meanwhile: _Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


IMAGE_MEMBER = re.compile(f"{IMAGES}/{ORIGIN_KEY.pattern}")
