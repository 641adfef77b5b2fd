"""The port for decisions, with the errors that each call raises."""

from collections.abc import Collection, Mapping
from typing import Protocol

from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.models import NewDecision, ReviewFacts


class ReviewRecords(Protocol):
    """The decisions of projects. Raises RecordsError. Writing also raises RecordsFullError."""

    async def decide(self, project_id: str, pr_number: int, decision: NewDecision, now: int) -> bool:
        """Record a decision and what it causes, in one transaction.

        Return False and change nothing unless all its pairs are in the newest comparison.
        """

    async def facts(
        self, project_id: str, shots: Mapping[int, Collection[ShotKey]], now: int
    ) -> dict[int, ReviewFacts]:
        """Return the facts about pull requests, by number. `shots` has the shots that differ in each."""

    async def version(self, project_id: str, pr_number: int, now: int) -> str:
        """Return a string that changes with `facts`, at a fraction of its cost."""

    async def notice(self, project_id: str, pr_number: int) -> int:
        """Return a number that rises when a pair that nobody has seen comes after a decision. 0 before."""
