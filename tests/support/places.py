"""An installation on SQLite and a disk, for tests of the sweep, of `prshots check` and of thumbnails."""

import os
import secrets
from pathlib import Path

from prshots.contract.object_names import origin_key
from prshots.server.domain.images.models import Image
from prshots.server.domain.projects.models import Project
from support.stores_and_records import (
    DAY,
    NOW,
    DiskStoreAt,
    a_project,
    an_image,
    engines_of,
    open_records,
)


class Place:
    """A database and a disk, whose clocks stand at NOW, with a project and images in both."""

    def __init__(self, folder: Path, store: DiskStoreAt | None = None) -> None:
        self.records, self.store = open_records(folder), store or DiskStoreAt(folder / "images")
        self.engines = engines_of(self.records, self.store)
        self.project = a_project()

    async def add_project(self, project: Project) -> Project:
        await self.records.add_project(project)
        return project

    async def image(self, project: Project | None = None, **changes: object) -> Image:
        """Add an image, whose file is a day old."""
        image = an_image(project or self.project, **changes)
        self.file(image.key)
        await self.records.add_image(image)
        return image

    def path(self, image: Image) -> Path:
        return self.store.root / image.key

    def file(self, key: str = "", age: float = DAY) -> Path:
        """Write a file, under a new key by default."""
        path = self.store.root / (key or origin_key(secrets.token_hex(16), "png"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        os.utime(path, (NOW - age, NOW - age))
        return path

    def files(self) -> set[str]:
        """Return the keys of all objects."""
        return {str(path.relative_to(self.store.root)) for path in self.store.root.glob("??/*")}

    async def close(self) -> None:
        await self.records.close()
        self.store.close()


def make_undeletable(path: Path) -> Path:
    """Put a folder in place of a file. Not even root can unlink it."""
    path.unlink(missing_ok=True)
    path.mkdir()
    os.utime(path, (0, 0))
    return path
