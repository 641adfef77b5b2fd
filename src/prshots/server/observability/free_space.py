"""Free space on the disks that hold the database and the images."""

import os
from pathlib import Path

from prshots.contract.sizes import readable_size

LOW_BYTES = 100 * 1024**2
"""Below this, uploads are about to fail."""


def free_bytes(path: Path) -> int:
    """Return the space that this user can still fill on the disk of a path, or of its parent folder.

    Raises OSError.
    """
    disk = os.statvfs(path if path.exists() else path.parent)
    return disk.f_bavail * disk.f_frsize


def shortage(path: Path) -> str:
    """Return a message if the disk that holds the path is nearly full, else ""."""
    try:
        free = free_bytes(path)
    except FileNotFoundError:  # nothing is stored yet
        return ""
    return f"only {readable_size(free)} free at {path}: free up space" if free < LOW_BYTES else ""
