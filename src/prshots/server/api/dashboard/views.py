"""Converts records to the JSON of the dashboard's API."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar, cast

from prshots.contract.formats import BY_EXT
from prshots.contract.replies import GateState, Review
from prshots.contract.sizes import readable_size
from prshots.server.api.dashboard import view_types
from prshots.server.domain.audit.models import Action, AuditEntry
from prshots.server.domain.comparison.groups import GroupedShots
from prshots.server.domain.comparison.models import ComparisonSummary, PlannedShot, StoredComparison
from prshots.server.domain.comparison.plan import has_diff, in_display_order, show_difference, verdict_counts
from prshots.server.domain.images.markdown import image_markdown
from prshots.server.domain.images.models import SECONDS_PER_DAY, Image, PullRequestRecord, StagedImage
from prshots.server.domain.images.service import Images
from prshots.server.domain.outbox.models import NO_CHECK, PullDeliveries
from prshots.server.domain.people.models import Invitation, InvitationLink, Member, User
from prshots.server.domain.projects.models import DayOfUploads, ProjectSummary, Trust
from prshots.server.domain.review.models import Reviewed
from prshots.server.domain.review.noise import BranchHistory, BranchPicture
from prshots.server.domain.review.service import group_reviewed
from prshots.server.domain.storage.models import FileKind, UsageDay
from prshots.server.domain.webhooks.models import ListedDelivery, Webhook
from prshots.server.http.headers import origin_of

V = TypeVar("V")

CARD_DAYS = 30

_BEFORE_AND_AFTER = (Action.PROJECT_CHANGED, Action.MEMBER_ROLE_CHANGED, Action.AUTHOR_CHANGED)
"""Actions whose lists have the value before and after."""


def view_of(kind: type[V], record: object, **others: object) -> V:
    """Return a view with these fields.

    All other fields come from the record's attributes of the same name.
    """
    copied = {name: getattr(record, name) for name in kind.__annotations__ if name not in others}
    return cast("V", copied | others)


def user_view(user: User, avatar_origins: Container[str]) -> view_types.UserView:
    """Return a user's view, without an avatar that the page's Content-Security-Policy would block."""
    is_allowed = origin_of(user.avatar_url) in avatar_origins
    return view_of(view_types.UserView, user, avatar_url=user.avatar_url if is_allowed else "")


def member_view(member: Member, viewer: User, avatar_origins: Container[str]) -> view_types.MemberView:
    return {
        **user_view(member.user, avatar_origins),
        "role": member.role,
        "you": member.user.id == viewer.id,
        "from_group": member.from_group,
    }


def audit_entry_view(entry: AuditEntry) -> view_types.AuditEntryView:
    separator = " → " if entry.action in _BEFORE_AND_AFTER else ", "
    write = _quota if entry.action == Action.QUOTA_CHANGED else partial(_detail, separator=separator)
    return view_of(
        view_types.AuditEntryView,
        entry,
        actor={"kind": entry.actor.kind, "name": entry.actor.name, "address": entry.actor.address},
        details={name: write(value) for name, value in entry.details.items()},
    )


def _quota(stored: object) -> str:
    """Return a quota in the words of `prshots quota`."""
    if stored is None:
        return "default"
    return readable_size(int(str(stored))) if stored else "no limit"


def _detail(value: object, separator: str) -> str:
    """Return a value of JSON in words."""
    match value:
        case list():
            return separator.join(_detail(each, ", ") for each in value)
        case dict():
            return ", ".join(f"{name}={_detail(each, ', ')}" for name, each in value.items())
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case _:
            return str(value)


def invitation_view(invitation: Invitation, avatar_origins: Container[str]) -> view_types.InvitationView:
    organization = {"id": invitation.organization.id, "name": invitation.organization.name}
    user = user_view(invitation.user, avatar_origins)
    return view_of(view_types.InvitationView, invitation, organization=organization, user=user)


def offer_view(link: InvitationLink, *, is_member: bool) -> view_types.OfferView:
    organization = {"id": link.organization.id, "name": link.organization.name}
    return view_of(view_types.OfferView, link, organization=organization, is_member=is_member)


def project_view(summary: ProjectSummary, days: Sequence[DayOfUploads], today: int) -> view_types.ProjectView:
    project = summary.project
    return view_of(
        view_types.ProjectView,
        project,
        organization={"id": project.organization_id, "name": project.organization},
        role=summary.role,
        review_verdicts=sorted(project.reviewed),
        images=summary.images,
        bytes=summary.bytes,
        open_pulls=summary.open_pulls,
        last_upload_at=summary.last_upload_at,
        uploads_per_day=[day.uploads for day in every_day(days, today, CARD_DAYS)],
    )


def date_of(day: int) -> str:
    """Return a day (since 1970, UTC) as a date such as 2026-11-15."""
    return datetime.fromtimestamp(day * SECONDS_PER_DAY, UTC).date().isoformat()


def every_day(known: Sequence[DayOfUploads], today: int, count: int) -> list[DayOfUploads]:
    """Return each of the last `count` days, oldest first, including days without uploads."""
    by_day = {day.day: day for day in known}
    return [by_day.get(day, DayOfUploads(day, 0, 0)) for day in range(today - count + 1, today + 1)]


def measured_view(days: Sequence[UsageDay]) -> view_types.MeasuredView:
    kinds: list[view_types.FilesView] = [
        {"kind": cast("FileKind", kind), "files": files, "bytes": size}
        for kind, (files, size) in (days[-1].kinds.items() if days else ())
    ]
    return {
        "day": date_of(days[-1].day) if days else None,
        "estimated": bool(days) and days[-1].is_estimated,
        "kinds": sorted(kinds, key=lambda each: -each["bytes"]),
        "days": [{"day": date_of(day.day), "bytes": day.bytes} for day in days],
    }


def image_view(image: Image, images: Images) -> view_types.ImageView:
    url = images.url_of(image)
    return view_of(
        view_types.ImageView,
        image,
        type=BY_EXT[image.ext].content_type,
        url=url,
        markdown=image_markdown(image.name, url),
        thumbnail_url=images.thumbnail_url_of(image) if image.thumbnail == "made" else None,
    )


def compared_shot_view(
    shot: PlannedShot, grouped: GroupedShots, review: Review, images: Images
) -> view_types.ComparedShotView:
    image, base = shot.image, shot.base and shot.base.image
    return view_of(
        view_types.ComparedShotView,
        shot.result,
        **shot.shot._asdict(),
        after=image_view(image, images) if image else None,
        before=image_view(base, images) if base else None,
        diff_url=images.diff_url_of(image, base) if image and base and has_diff(shot) else None,
        is_pair=shot.base is not None and shot.base.is_before,
        base_commit=shot.base.commit_sha or None if shot.base else None,
        ancestor=shot.base.is_listed if shot.base else True,
        **show_difference(shot, grouped.parts.get(shot.shot, ()), images),
        review=review,
    )


def comparison_view(
    stored: StoredComparison, reviewed: Reviewed, images: Images, sent: PullDeliveries = (NO_CHECK, [])
) -> view_types.ComparisonView:
    check, failing = sent
    grouped = group_reviewed(stored, reviewed)
    return {
        "commit_sha": stored.request.commit_sha,
        "state": stored.state,
        "counts": verdict_counts(Counter(shot.result.verdict for shot in stored.shots)),
        "branch": stored.request.branch,
        "base_commit": stored.base_commit,
        "missing": stored.missing,
        "groups": grouped.groups,
        "gate": reviewed.gate,
        "check": check,
        "blocked": reviewed.words if reviewed.gate.state is GateState.BLOCKED else "",
        "unreadable": reviewed.unreadable,
        "outdated_notes": reviewed.outdated_notes,
        "outbox": [view_of(view_types.FailureView, each) for each in failing],
        "shots": [
            compared_shot_view(shot, grouped, reviewed.reviews[shot.shot], images)
            for shot in in_display_order(stored.shots)
        ],
    }


def comparison_summary_view(summary: ComparisonSummary) -> view_types.ComparisonSummaryView:
    return view_of(view_types.ComparisonSummaryView, summary, counts=verdict_counts(summary.counts))


def alternating_shot_view(
    history: BranchHistory, pictures: Sequence[BranchPicture], found: Mapping[str, Image], images: Images
) -> view_types.AlternatingShotView:
    """`found` has the images that still exist, by id."""
    return view_of(
        view_types.AlternatingShotView,
        history,
        **history.shot._asdict(),
        pictures=[
            {
                "pixels": each.pixels,
                "image": image_view(image, images) if (image := found.get(each.image_id)) else None,
                "at": each.at,
            }
            for each in pictures
        ],
        changes=len(history.pictures) - 1,
        last_at=history.pictures[-1].at,
    )


def staged_view(staged: StagedImage, images: Images) -> view_types.StagedView:
    return {
        "image": image_view(staged.image, images),
        "before": image_view(staged.before, images) if staged.before else None,
        "branch": staged.place.branch,
        "repository": staged.place.repository,
        "expires_at": staged.expires_at,
    }


def pull_view(pull: PullRequestRecord, repository: str) -> view_types.PullRequestView:
    return view_of(
        view_types.PullRequestView, pull, url=repository + pull.path if repository and pull.path else ""
    )


def trust_view(trust: Trust) -> view_types.TrustView:
    return view_of(view_types.TrustView, trust, pins=trust.pins or {}, refused_ids=trust.refused_ids or {})


def webhook_view(webhook: Webhook) -> view_types.WebhookView:
    return view_of(
        view_types.WebhookView,
        webhook,
        project_id=webhook.project_id or None,
        old_secret_until=webhook.old_until or None,
    )


def delivery_view(delivery: ListedDelivery) -> view_types.WebhookDeliveryView:
    return view_of(
        view_types.WebhookDeliveryView,
        delivery,
        project_id=delivery.project_id or None,
        pr_number=delivery.pr_number or None,
        next_at=delivery.due_at,
        status=delivery.status or None,
    )
