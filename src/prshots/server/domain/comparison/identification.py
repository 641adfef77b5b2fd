"""Identifies the pixels of images that need no comparison, and of new baselines in the background."""

import asyncio
import contextlib
from collections import deque

from prshots.contract import errors
from prshots.server.domain.comparison.ports import ComparisonRecords, IdentifyPicture
from prshots.server.domain.comparison.turns import Turns
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.projects.models import Project

MAX_WAITING = 2_000
"""How many baselines can wait. The first comparison with any other baseline identifies it."""

AT_ONCE = 50
"""How many identities to record in one write."""


class Identification:
    def __init__(
        self, records: ComparisonRecords, store: ObjectStore, identify: IdentifyPicture, turns: Turns
    ) -> None:
        self._records = records
        self._store = store
        self._identify = identify
        self._turns = turns
        self._waiting: deque[tuple[Project, Image]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def pixels_of(
        self, image: Image, organization_id: str, run: str = "", *, is_urgent: bool = True
    ) -> str | None:
        """Return the identity of the image's pixels, "" if they can't be decoded, or None if it's unknown.

        Never raises: a missing identity must not fail a comparison.
        """
        async with self._turns.take(organization_id, image.project_id, run, is_urgent=is_urgent):
            try:
                data = await self._store.read(image.key)
                return None if data is None else await self._identify(data)
            except errors.PictureError:
                return ""
            except (errors.StoreError, errors.PictureWorkerError):
                return None

    def later(self, project: Project, image: Image) -> None:
        """Identify a baseline while no comparison is waiting. A restart loses it until its next reuse."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append((project, image))
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while self._waiting:
            found = dict[str, str]()
            while self._waiting and len(found) < AT_ONCE:
                project, image = self._waiting.popleft()
                pixels = await self.pixels_of(image, project.organization_id, is_urgent=False)
                if pixels is not None:
                    found[image.id] = pixels
            with contextlib.suppress(errors.RecordsError):
                await self._records.identify(found)
