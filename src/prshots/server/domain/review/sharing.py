"""Share links: they show the changes of one open pull request to people without an account."""

import secrets
import time
from dataclasses import replace

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.replies import Review
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.people.login_flow import is_secret, new_secret
from prshots.server.domain.projects.credentials import hash_of
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import Reviewed, SharedPull, ShareLink
from prshots.server.domain.review.ports import ShareLinkRecords

DEFAULT_DAYS, MAX_DAYS, MAX_ACTIVE, MAX_LISTED = 7, 30, 50, 100


class ShareLinks:
    def __init__(self, records: ShareLinkRecords) -> None:
        self._records = records

    async def create(
        self, project: Project, pr_number: int, days: int, created_by: str
    ) -> tuple[ShareLink, str]:
        """Create a link. Return it and its secret, which is stored nowhere.

        Raises InvalidInputError, NotFoundError, ConflictError.
        """
        if not 1 <= days <= MAX_DAYS:
            raise InvalidInputError(f"days must be a whole number from 1 to {MAX_DAYS}")
        secret, now = new_secret(), int(time.time())
        until = now + days * SECONDS_PER_DAY
        link = ShareLink(secrets.token_hex(6), project.id, pr_number, hash_of(secret), created_by, now, until)
        await self._records.add(link, MAX_ACTIVE)
        return link, secret

    async def of_pull(self, project: Project, pr_number: int) -> list[ShareLink]:
        """Return the active links first, then the others, each newest first."""
        return await self._records.of_pull(project.id, pr_number, int(time.time()), MAX_LISTED)

    async def revoke(self, project: Project, pr_number: int, link_id: str, revoked_by: str) -> None:
        """End an active link. Raises NotFoundError."""
        if not await self._records.revoke(project.id, pr_number, link_id, revoked_by, int(time.time())):
            raise NotFoundError("not found")

    async def open(self, secret: str) -> SharedPull:
        """Return what a link shows. Raises NotFoundError unless it is active and the pull request open."""
        found = await self._records.find(hash_of(secret), int(time.time())) if is_secret(secret) else None
        if found is None:
            raise NotFoundError("not found")
        return found


def without_people(reviewed: Reviewed) -> Reviewed:
    """Return only the states of the reviews: not who decided, when, or with which note."""
    states = {shot: Review(review.state) for shot, review in reviewed.reviews.items()}
    approvals = {shot: given.without_people() for shot, given in reviewed.approvals.items()}
    return replace(reviewed, reviews=states, outdated_notes=(), approvals=approvals)
