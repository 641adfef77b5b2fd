"""The ports for decisions, noise and share links, with the errors that each call raises."""

from collections.abc import Collection, Mapping
from typing import Protocol

from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import NewDecision, ReviewFacts, SharedPull, ShareLink
from prshots.server.domain.review.noise import BranchHistory, Quarantine


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

    async def participants(self, project: Project, pr_number: int) -> list[tuple[Project, str]]:
        """Return the projects of a pull request, ordered by name, each with the commit that it skipped or "".

        These are the project itself, and those of its organization with the same repository that have a
        comparison or images of the pull request.
        """

    async def skip(self, project_id: str, pr_number: int, commit_sha: str, now: int) -> bool:
        """Remember that this commit takes no screenshots. Return False if the pull request never had any."""

    async def notice(self, project_id: str, pr_number: int) -> int:
        """Return a number that rises when a pair that nobody has seen comes after a decision. 0 before."""


class NoiseRecords(Protocol):
    """Histories of shots, and quarantines. Raises RecordsError. Writing also raises RecordsFullError."""

    async def histories(self, project_id: str, now: int) -> list[BranchHistory]:
        """Return the histories with enough changes to alternate, those that changed last first.

        Returns a limited number.
        """

    async def quarantines(self, project_id: str, now: int) -> list[Quarantine]:
        """Return the quarantines that haven't ended, in order of their end."""

    async def quarantine(self, quarantine: Quarantine, most: int) -> Quarantine | None:
        """Add a quarantine, or replace the reason, person and end of the shot's current one.

        Return it as stored, or None if neither a baseline nor an open pull request has the shot. Raises
        ConflictError if the project has `most` already.
        """

    async def end_quarantine(self, project_id: str, quarantine_id: str, now: int) -> bool:
        """Remove a quarantine. Return False if it isn't there."""

    async def discard_old(self, now: int, limit: int) -> int:
        """Remove up to `limit` changes that nobody needs, and quarantines that have ended. Return how many.

        A change is needed until the branch has had another image for 30 days.
        """


class ShareLinkRecords(Protocol):
    """Share links. Raises RecordsError. Adding also raises RecordsFullError.

    `close_pr` ends the active links of its pull request.
    """

    async def add(self, link: ShareLink, most: int) -> None:
        """Add a link. Raises NotFoundError, or ConflictError for a closed pull request or `most` links."""

    async def of_pull(self, project_id: str, pr_number: int, now: int, limit: int) -> list[ShareLink]:
        """Return the pull request's links: active ones first, then the others, each newest first."""

    async def find(self, sha256: str, now: int) -> SharedPull | None:
        """Return what an active link shows, or None. A link of a closed pull request is never active."""

    async def revoke(self, project_id: str, pr_number: int, link_id: str, revoked_by: str, now: int) -> bool:
        """End an active link. Return False if there is none."""

    async def discard_old(self, until: int, now: int, limit: int) -> int:
        """Remove up to `limit` links that were over at this time. Return how many.

        Also ends the links of pull requests that a process of an older version has closed.
        """
