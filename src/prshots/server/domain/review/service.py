"""Reviews of comparisons: what is open, and what people decide."""

import time
from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

from prshots.contract.errors import ConflictError, ForbiddenError, NotFoundError
from prshots.contract.replies import NOT_COMPARED, Comparison, Decided, Gate, Verdict
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    ComparisonSummary,
    StoredComparison,
)
from prshots.server.domain.comparison.service import REPLY_SECONDS, Comparisons
from prshots.server.domain.images.ports import Overview
from prshots.server.domain.images.service import Images
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import Decision, NewDecision, Reviewed
from prshots.server.domain.review.ports import ReviewRecords
from prshots.server.domain.review.reply import reply
from prshots.server.domain.review.rules import review_pairs

CHANGED = "changed since you looked"


class Reviews:
    def __init__(
        self,
        *,
        records: ReviewRecords,
        comparisons: Comparisons,
        overview: Overview,
        images: Images,
        forge_hosts: Mapping[str, str],
        on_decided: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`forge_hosts` has the host of the forge that each login provider signs people in at."""
        self._records = records
        self._comparisons = comparisons
        self._overview = overview
        self._images = images
        self._forge_hosts = forge_hosts
        self._on_decided = on_decided
        self._clock = clock

    # Reading

    async def compare(
        self, project: Project, request: ComparisonRequest, seconds: float = REPLY_SECONDS
    ) -> Comparison:
        """Compare images. Return the result, or a partial one after `seconds`. Raises RecordsError."""
        stored = await self._comparisons.compare(project, request, seconds)
        return await self._reply(project, stored, tuple(Verdict))

    async def latest(
        self, project: Project, pr_number: int, with_urls: Collection[Verdict] = tuple(Verdict)
    ) -> Comparison | None:
        """Return the comparison of the newest compared commit. Only verdicts in `with_urls` get URLs.

        Signing all URLs would take longer than the rest.
        """
        stored = await self._comparisons.latest(project, pr_number)
        return await self._reply(project, stored, with_urls) if stored else None

    async def of(self, project: Project, stored: StoredComparison) -> Reviewed:
        """Return the reviews of a comparison's shots."""
        number = stored.request.pr_number
        return (await self.of_several(project, {number: stored}))[number]

    async def of_several(
        self, project: Project, compared: Mapping[int, StoredComparison | ComparisonSummary]
    ) -> dict[int, Reviewed]:
        """Return the reviews in several pull requests. A summary's are those of the shots that differ."""
        differing = {
            number: [pair.key.shot for pair in found.pairs if pair.verdict is not Verdict.UNCHANGED]
            for number, found in compared.items()
        }
        facts = await self._records.facts(project.id, differing, self._now())
        return {
            number: review_pairs(found.state, found.pairs, project.reviewed, facts[number])
            for number, found in compared.items()
        }

    async def version(self, project: Project, pr_number: int) -> str | None:
        """Return a string that changes with `latest`. Return None if that is unknown."""
        version = await self._comparisons.version(project, pr_number)
        return version and f"{version} {await self._of_newest(project, pr_number)}"

    async def notice(self, project: Project, pr_number: int) -> int:
        return await self._records.notice(project.id, pr_number)

    async def gate(self, project: Project, pr_number: int) -> Gate | None:
        """Return the gate, or None if no commit was compared."""
        reviewed = await self._of_newest(project, pr_number)
        return reviewed.gate if reviewed else None

    # Deciding

    async def decide(self, project: Project, pr_number: int, user: User, decision: NewDecision) -> Decided:
        """Record a person's decision. Raises ConflictError, ForbiddenError, RecordsError."""
        if decision.decision is Decision.APPROVED and project.four_eyes:
            await self._require_other_author(project, pr_number, user)
        return await self._record(project, pr_number, decision)

    async def reject(self, project: Project, pr_number: int, decision: NewDecision) -> Decided:
        """Record a rejection, which needs no person. Raises ConflictError, RecordsError."""
        return await self._record(project, pr_number, decision)

    async def _record(self, project: Project, pr_number: int, decision: NewDecision) -> Decided:
        if not await self._records.decide(project.id, pr_number, decision, self._now()):
            raise ConflictError(CHANGED)
        self._on_decided()
        reviewed = await self._of_newest(project, pr_number)
        return Decided(len(decision.pairs), reviewed.gate if reviewed else NOT_COMPARED)

    async def _of_newest(self, project: Project, pr_number: int) -> Reviewed | None:
        compared = await self._comparisons.summaries(project, [pr_number])
        return (await self.of_several(project, compared)).get(pr_number)

    async def _require_other_author(self, project: Project, pr_number: int, user: User) -> None:
        """Raise ForbiddenError if the user wrote the pull request, or if its author isn't known."""
        pull = await self._overview.pull(project.id, pr_number)
        if pull is None:
            raise NotFoundError("not found")
        if not pull.author:
            raise ForbiddenError(
                "prshots doesn't know the author of this pull request, and this project doesn't let authors "
                "approve their own changes: upload again with a current client, which sends the author"
            )
        forge = urlsplit(project.repository).hostname or ""
        is_same_forge = self._forge_hosts.get(user.provider, "") == forge
        if is_same_forge and pull.author.lower() == user.login.lower():
            raise ForbiddenError("you wrote this pull request: someone else has to approve it")

    async def _reply(
        self, project: Project, stored: StoredComparison, with_urls: Collection[Verdict]
    ) -> Comparison:
        return reply(project, stored, await self.of(project, stored), self._images, with_urls)

    def _now(self) -> int:
        return int(self._clock())
