"""Builds the API's reply to a comparison, without any I/O."""

from collections import Counter
from collections.abc import Collection

from prshots.contract import validate
from prshots.contract.replies import MANUAL, ComparedShot, Comparison, Review, Verdict
from prshots.server.domain.comparison.groups import GroupedShots, group_shots
from prshots.server.domain.comparison.models import ComparisonRequest, PlannedShot, StoredComparison
from prshots.server.domain.comparison.plan import closeups_of, has_diff, in_display_order, verdict_counts
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.models import Reviewed
from prshots.server.domain.review.noise import NOISE


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
    """Group the shots. Noise has no group, because nobody has to look at it."""
    return group_shots([shot for shot in stored.shots if reviewed.reviews[shot.shot].state not in NOISE])


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
        shot.result.regions,
        shot.result.shift,
        view_url=urls.url_of(image) if urls and image else None,
        before_url=urls.url_of(base) if urls and base else None,
        diff_url=urls.diff_url_of(image, base) if urls and image and base and has_diff(shot) else None,
        base_commit=shot.base.commit_sha or None if shot.base else None,
        pixels_before=shot.result.pixels_before,
        pixels_after=shot.result.pixels_after,
        closeups=closeups_of(shot, urls, grouped.in_several) if urls else (),
        review=review,
        group=grouped.id_of.get(shot.shot, ""),
        ancestor=shot.base.is_listed if shot.base else True,
        reason=shot.result.reason,
        pair=MANUAL if shot.base and shot.base.is_before else "",
        commit_sha=_other_commit(shot, request),
    )


def _other_commit(shot: PlannedShot, request: ComparisonRequest) -> str:
    """Return the commit of the shot's image if it differs from the comparison's commit, else "".

    The commits differ for a pair that outlives its commit.
    """
    commit_sha = shot.image.commit_sha if shot.image else ""
    return "" if validate.is_same_commit(commit_sha, request.commit_sha) else commit_sha
