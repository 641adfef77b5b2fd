"""Backup and restore of the embedded setup (SQLite, images on disk): one tar archive.

    images/<id[:2]>/<id>.<ext>   the recorded images, and their thumbnails
    prshots.db                   the records
    signing-keys                 the keys that sign image URLs
    manifest.json                a description, and the SHA-256 of everything before it

The manifest comes last, so an archive without one is incomplete.
"""

import re

from prshots.contract.object_names import ORIGIN_KEY

DATABASE, KEYS, IMAGES, MANIFEST = "prshots.db", "signing-keys", "images", "manifest.json"
"""The names in the archive. A data folder has the same names, except for the manifest."""

IMAGE_MEMBER = re.compile(f"{IMAGES}/{ORIGIN_KEY.pattern}")
