"""The noise of a project: its alternating shots, and its quarantine."""

import secrets
import time

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.server.domain.images.models import SECONDS_PER_DAY, ShotKey
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.noise import (
    BranchHistory,
    BranchPicture,
    Quarantine,
    find_alternating,
)
from prshots.server.domain.review.ports import NoiseRecords

MAX_QUARANTINES, MAX_QUARANTINE_DAYS, MAX_REASON = 1000, 30, 500
MAX_ALTERNATING = 100


class Noise:
    def __init__(self, records: NoiseRecords) -> None:
        self._records = records

    async def quarantines(self, project: Project) -> list[Quarantine]:
        return await self._records.quarantines(project.id, int(time.time()))

    async def quarantine(
        self, project: Project, shot: ShotKey, reason: str, days: int, created_by: str
    ) -> Quarantine:
        """Quarantine a shot, or replace its reason and end. Raises InvalidInputError, ConflictError."""
        if not 1 <= len(reason) <= MAX_REASON:
            raise InvalidInputError(f"reason must have 1 to {MAX_REASON} characters")
        if not 1 <= days <= MAX_QUARANTINE_DAYS:
            raise InvalidInputError(f"days must be a whole number from 1 to {MAX_QUARANTINE_DAYS}")
        now = int(time.time())
        until = now + days * SECONDS_PER_DAY
        given = Quarantine(secrets.token_hex(6), project.id, *shot, reason, created_by, now, until)
        stored = await self._records.quarantine(given, MAX_QUARANTINES)
        if stored is None:
            raise InvalidInputError(
                "unknown screenshot: name one that is a baseline or in an open pull request"
            )
        return stored

    async def end_quarantine(self, project: Project, quarantine_id: str) -> None:
        """End a quarantine. Raises NotFoundError."""
        if not await self._records.end_quarantine(project.id, quarantine_id, int(time.time())):
            raise NotFoundError("not found")

    async def alternating(self, project: Project) -> list[tuple[BranchHistory, list[BranchPicture]]]:
        """Return the shots that alternated on a branch in the last 30 days, those that changed last first.

        Each comes with the pictures that alternate.
        """
        histories = await self._records.histories(project.id, int(time.time()))
        found = [(each, pictures) for each in histories if (pictures := find_alternating(each))]
        return found[:MAX_ALTERNATING]
