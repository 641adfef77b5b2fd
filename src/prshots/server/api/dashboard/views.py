"""What the dashboard's API answers with: records in, JSON out. `web/src/lib/types.ts` says it once more."""

import base64
import json
from collections.abc import Callable, Container, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

from prshots.contract.errors import InvalidInputError
from prshots.contract.formats import BY_EXT
from prshots.server.domain.comment import image_markdown
from prshots.server.domain.images import Images
from prshots.server.domain.models import (
    SECONDS_PER_DAY,
    DayOfUploads,
    Image,
    Member,
    Organization,
    ProjectSummary,
    PullRequest,
    Role,
    Trust,
    UploadToken,
    User,
)
from prshots.server.http.headers import origin_of

CARD_DAYS = 30
MAX_INTEGER = 2**63
"""What no column holds."""

Json = dict[str, Any]
T = TypeVar("T")


def user_view(user: User, avatar_origins: Container[str]) -> Json:
    """Show a user; without the picture, where a page would not be let load it."""
    return {
        "id": user.id,
        "login": user.login,
        "name": user.name,
        "avatar_url": user.avatar_url if origin_of(user.avatar_url) in avatar_origins else "",
        "provider": user.provider,
    }


def member_view(member: Member, viewer: User, avatar_origins: Container[str]) -> Json:
    return user_view(member.user, avatar_origins) | {"role": member.role, "you": member.user.id == viewer.id}


def organization_view(organization: Organization, role: Role) -> Json:
    return {
        "id": organization.id,
        "name": organization.name,
        "personal": organization.personal,
        "role": role,
    }


def project_view(summary: ProjectSummary, days: Sequence[DayOfUploads], today: int) -> Json:
    project = summary.project
    return {
        "id": project.id,
        "name": project.name,
        "organization": {"id": project.organization_id, "name": project.organization},
        "role": summary.role,
        "policy": project.policy,
        "retain_days": project.retain_days,
        "created_at": project.created_at,
        "images": summary.images,
        "bytes": summary.bytes,
        "open_pulls": summary.open_pulls,
        "last_upload_at": summary.last_upload_at,
        "uploads_per_day": [day.uploads for day in every_day(days, today, CARD_DAYS)],
    }


def image_view(image: Image, images: Images) -> Json:
    url = images.url_of(image)
    return {
        "id": image.id,
        "pr_number": image.pr_number,
        "name": image.name,
        "viewport": image.viewport,
        "commit_sha": image.commit_sha,
        "type": BY_EXT[image.ext].content_type,
        "size": image.size,
        "uploaded_at": image.uploaded_at,
        "url": url,
        "markdown": image_markdown(image.name, url),
        "thumbnail": image.thumbnail,
        "thumbnail_url": images.thumbnail_url_of(image) if image.thumbnail == "made" else None,
    }


def pull_view(pull: PullRequest) -> Json:
    return {
        "pr_number": pull.pr_number,
        "images": pull.images,
        "bytes": pull.bytes,
        "last_upload_at": pull.last_upload_at,
        "last_commit": pull.last_commit,
        "closed_at": pull.closed_at,
    }


def token_view(token: UploadToken) -> Json:
    return {
        "id": token.id,
        "label": token.label,
        "hint": token.hint,
        "created_at": token.created_at,
        "created_by": token.created_by,
        "last_used_at": token.last_used_at,
        "revoked_at": token.revoked_at,
    }


def trust_view(trust: Trust) -> Json:
    return {
        "id": trust.id,
        "issuer": trust.issuer,
        "claims": dict(trust.claims),
        "created_at": trust.created_at,
        "created_by": trust.created_by,
        "last_used_at": trust.last_used_at,
    }


def day_view(day: DayOfUploads) -> Json:
    date = datetime.fromtimestamp(day.day * SECONDS_PER_DAY, UTC).date()
    return {"day": date.isoformat(), "uploads": day.uploads, "bytes": day.bytes}


def every_day(known: Sequence[DayOfUploads], today: int, count: int) -> list[DayOfUploads]:
    """Return each of the last `count` days, the oldest first, those without an upload too."""
    by_day = {day.day: day for day in known}
    return [by_day.get(day, DayOfUploads(day, 0, 0)) for day in range(today - count + 1, today + 1)]


@lru_cache(maxsize=32)
def rendered(markdown: str) -> str:
    """Return the comment's HTML, as a forge would make it. Pages that stay open ask for the same again."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").render(markdown))


def page_view(
    name: str,
    found: Sequence[T],
    limit: int,
    view: Callable[[T], Json],
    key: Callable[[T], tuple[str | int, ...]],
) -> Json:
    """Show a page of a list. `next` packs the key of its last entry, to be handed back as `after`."""
    full = len(found) == limit
    return {
        name: [view(entry) for entry in found],
        "next": base64.urlsafe_b64encode(json.dumps(key(found[-1])).encode()).decode() if full else None,
    }


def key_of(after: str | None, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    """Unpack a cursor; None for the first page. Raises InvalidInputError."""
    if not after:
        return None
    try:
        key = json.loads(base64.urlsafe_b64decode(after.encode()))
    except ValueError as error:
        raise InvalidInputError("after is not a cursor of this list") from error
    if not isinstance(key, list) or tuple(map(type, key)) != kinds or not all(map(_storable, key)):
        raise InvalidInputError("after is not a cursor of this list")
    return tuple(key)


def _storable(part: str | int) -> bool:
    return part.isprintable() if isinstance(part, str) else abs(part) < MAX_INTEGER
