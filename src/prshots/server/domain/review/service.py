"""Reviews of comparisons: what is open, and what people decide."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from prshots.contract import validate
from prshots.contract.errors import ConflictError, ForbiddenError, NotFoundError
from prshots.contract.gates import STATUS_NAME, describe_gate
from prshots.contract.replies import (
    MANUAL,
    NOT_COMPARED,
    ComparedShot,
    Comparison,
    ComparisonState,
    Decided,
    Gate,
    GateState,
    GateStatus,
    PullGate,
    Review,
    Verdict,
)
from prshots.contract.statements import message
from prshots.contract.validate import is_same_commit
from prshots.server.domain.comparison.groups import GroupedShots, group_shots
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    ComparisonSummary,
    PlannedShot,
    StoredComparison,
)
from prshots.server.domain.comparison.plan import has_diff, in_display_order, show_difference, verdict_counts
from prshots.server.domain.comparison.service import REPLY_SECONDS, Comparisons
from prshots.server.domain.images.ports import Overview
from prshots.server.domain.images.service import Images
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import Decision, NewDecision, Reviewed
from prshots.server.domain.review.noise import NOISE
from prshots.server.domain.review.parts import NO_APPROVALS, review_parts
from prshots.server.domain.review.ports import ReviewRecords
from prshots.server.domain.review.rules import list_statuses, review_pairs

CHANGED = "changed since you looked"
PASSED = Gate(GateState.PASSED, 0, "")
NOT_REVIEWED = Reviewed({}, NOT_COMPARED, (), describe_gate(NOT_COMPARED))
SKIPPED = Reviewed({}, PASSED, (), describe_gate(PASSED))


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
    ) -> None:
        """`forge_hosts` has the host of the forge that each login provider signs people in at."""
        self._records = records
        self._comparisons = comparisons
        self._overview = overview
        self._images = images
        self._forge_hosts = forge_hosts
        self._on_decided = on_decided

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
        facts = await self._records.facts(project.id, differing, int(time.time()))
        return {
            number: review_pairs(found.state, found.pairs, project.reviewed, facts[number])
            for number, found in compared.items()
        }

    async def version(self, project: Project, pr_number: int) -> str | None:
        """Return a string that changes with `latest`. Return None if that is unknown."""
        version = await self._comparisons.version(project, pr_number)
        if version is None:
            return None
        summary, reviewed = await self._newest(project, pr_number)
        commit_sha = summary.commit_sha if summary else ""
        statuses = await self._statuses(project, pr_number, reviewed or NOT_REVIEWED, commit_sha)
        return f"{version} {reviewed} {statuses}"

    async def notice(self, project: Project, pr_number: int) -> int:
        return await self._records.notice(project.id, pr_number)

    async def newest(self, project: Project, pr_number: int) -> Reviewed | None:
        """Return the review of the newest comparison, or None without one."""
        return (await self._newest(project, pr_number))[1]

    async def gate(
        self, project: Project, pr_number: int, *, needs_baseline: bool = True, newer_commit: str = ""
    ) -> PullGate:
        """Return the gate and what to post on the compared commit, or on a newer one that isn't compared.

        Without a comparison, it is blocked. Without `needs_baseline`, missing baselines don't block it.
        """
        summary, found = await self._newest(project, pr_number)
        own = found or NOT_REVIEWED
        if own.gate.reason == ComparisonState.NO_BASELINE and not needs_baseline:
            own = replace(own, gate=replace(own.gate, state=GateState.PASSED))
        commit_sha = newer_commit or (summary.commit_sha if summary else "")
        return await self._pull_gate(project, pr_number, own, commit_sha)

    async def skip(self, project: Project, pr_number: int, commit_sha: str, reason: str) -> PullGate:
        """Record that a commit's run takes no screenshots. Return the gate.

        The gate passes for this project, unless another run has compared screenshots of the commit.
        """
        takes_part = await self._records.skip(project.id, pr_number, commit_sha.lower(), int(time.time()))
        self._on_decided()
        skipped = replace(SKIPPED, words=message("skipped", reason=reason))
        own = await self._of_commit(project, pr_number, commit_sha) or skipped
        gate = await self._pull_gate(project, pr_number, own, commit_sha)
        if takes_part:
            return gate
        # The others don't know of this project. A sole other one posts only `prshots`, so it would never
        # renew a status of its own name.
        own_names = {STATUS_NAME, f"{STATUS_NAME}/{project.name}"}
        return replace(gate, statuses=[each for each in gate.statuses if each.context in own_names])

    async def siblings(self, project: Project, pr_number: int) -> int:
        """Return how many other projects take part in the pull request."""
        return max(len(await self._records.participants(project, pr_number)) - 1, 0)

    async def _pull_gate(self, project: Project, pr_number: int, own: Reviewed, commit_sha: str) -> PullGate:
        statuses = await self._statuses(project, pr_number, own, commit_sha)
        url = self._images.dashboard_url_of(project, pr_number)
        return PullGate(own.gate.state, own.gate.open, own.gate.reason, statuses, commit_sha, url)

    async def _newest(
        self, project: Project, pr_number: int
    ) -> tuple[ComparisonSummary | None, Reviewed | None]:
        compared = await self._comparisons.summaries(project, [pr_number])
        reviewed = await self.of_several(project, compared)
        return compared.get(pr_number), reviewed.get(pr_number)

    async def _of_commit(self, project: Project, pr_number: int, commit_sha: str) -> Reviewed | None:
        """Return the review of the newest comparison if it is about this commit."""
        summary, reviewed = await self._newest(project, pr_number)
        return reviewed if summary and is_same_commit(summary.commit_sha, commit_sha) else None

    async def _statuses(
        self, project: Project, pr_number: int, own: Reviewed, commit_sha: str
    ) -> list[GateStatus]:
        """Return what to post on this commit."""
        together = await self.of_projects(project, pr_number, commit_sha)
        by_name = {each.name: reviewed or own for each, reviewed in together}
        return list_statuses(own, by_name if len(by_name) > 1 else {})

    async def of_projects(
        self, project: Project, pr_number: int, commit_sha: str
    ) -> list[tuple[Project, Reviewed | None]]:
        """Return the pull request's projects, ordered by name, with the reviews of all but this one.

        The others block the pull request until they have compared or skipped this commit.
        """
        found: list[tuple[Project, Reviewed | None]] = []
        for each, skipped_commit in await self._records.participants(project, pr_number):
            if each.id == project.id:
                found.append((each, None))
                continue
            is_skipped = bool(skipped_commit) and is_same_commit(skipped_commit, commit_sha)
            without = SKIPPED if is_skipped else NOT_REVIEWED
            found.append((each, await self._of_commit(each, pr_number, commit_sha) or without))
        return found

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
        if not await self._records.decide(project.id, pr_number, decision, int(time.time())):
            raise ConflictError(CHANGED)
        self._on_decided()
        reviewed = await self.newest(project, pr_number)
        return Decided(len(decision.pairs), reviewed.gate if reviewed else NOT_COMPARED)

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
        reviewed = await self.of(project, stored)
        request = stored.request
        statuses = await self._statuses(project, request.pr_number, reviewed, request.commit_sha)
        reviewed = replace(reviewed, gate=replace(reviewed.gate, statuses=statuses))
        return reply(project, stored, reviewed, self._images, with_urls)


def reply(
    project: Project,
    stored: StoredComparison,
    reviewed: Reviewed,
    images: Images,
    with_urls: Collection[Verdict],
) -> Comparison:
    """Return the API's reply, without undecided shots. Only verdicts in `with_urls` get URLs."""
    request, grouped = stored.request, group_reviewed(stored, reviewed)
    shots = [
        _compared_shot(
            shot,
            verdict,
            grouped,
            request,
            images if verdict in with_urls else None,
            review=reviewed.reviews[shot.shot],
        )
        for shot in in_display_order(stored.shots)
        if (verdict := shot.result.verdict)
    ]
    return Comparison(
        request.pr_number,
        request.commit_sha,
        request.branch,
        stored.base_commit,
        stored.state,
        verdict_counts(Counter(shot.verdict for shot in shots)),
        shots,
        images.dashboard_url_of(project, request.pr_number),
        grouped.groups,
        reviewed.gate,
        reviewed.outdated_notes,
        sum(shot.pair == MANUAL for shot in shots),
    )


def group_reviewed(stored: StoredComparison, reviewed: Reviewed) -> GroupedShots:
    """Group the shots, and review their parts. Noise has no group, because nobody has to look at it."""
    shots = [shot for shot in stored.shots if reviewed.reviews[shot.shot].state not in NOISE]
    grouped = group_shots(shots)
    parts = {
        shot.shot: review_parts(
            shot.result,
            grouped.parts.get(shot.shot, ()),
            reviewed.reviews[shot.shot],
            reviewed.approvals.get(shot.shot, NO_APPROVALS),
        )
        for shot in shots
    }
    return replace(grouped, parts=parts)


def _compared_shot(
    shot: PlannedShot,
    verdict: Verdict,
    grouped: GroupedShots,
    request: ComparisonRequest,
    urls: Images | None,
    *,
    review: Review,
) -> ComparedShot:
    image, base = shot.image, shot.base.image if shot.base else None
    return ComparedShot(
        *shot.shot,
        verdict,
        shot.result.pixels,
        view_url=urls.url_of(image) if urls and image else None,
        before_url=urls.url_of(base) if urls and base else None,
        diff_url=urls.diff_url_of(image, base) if urls and image and base and has_diff(shot) else None,
        base_commit=shot.base.commit_sha or None if shot.base else None,
        pixels_before=shot.result.pixels_before,
        pixels_after=shot.result.pixels_after,
        review=review,
        ancestor=shot.base.is_listed if shot.base else True,
        reason=shot.result.reason,
        pair=MANUAL if shot.base and shot.base.is_before else "",
        commit_sha=_other_commit(shot, request),
        **show_difference(shot, grouped.parts.get(shot.shot, ()), urls),
    )


def _other_commit(shot: PlannedShot, request: ComparisonRequest) -> str:
    """Return the commit of the shot's image if it differs from the comparison's commit, else "".

    The commits differ for a pair that outlives its commit.
    """
    commit_sha = shot.image.commit_sha if shot.image else ""
    return "" if validate.is_same_commit(commit_sha, request.commit_sha) else commit_sha
