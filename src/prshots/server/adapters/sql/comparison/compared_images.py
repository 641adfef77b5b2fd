"""The images of a comparison: those of a commit, and pairs that were uploaded together."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, bindparam, func, or_, select

from prshots.server.adapters.sql.columns import ACTIVE, IMAGE, given, in_batches
from prshots.server.adapters.sql.database.schema import images
from prshots.server.domain.images.models import Image, ShotKey

SHORTEST_SHA = 7

OF_PR = given(images, "project_id", "pr_number")
_ACTIVE_WITH_IDS = select(*IMAGE).where(images.c.id.in_(bindparam("image_ids", expanding=True)), ACTIVE)
_later = images.alias()
_is_replaced = (
    select(_later.c.seq)
    .where(
        *(_later.c[name] == images.c[name] for name in ("project_id", "pr_number", *ShotKey._fields)),
        _later.c.seq > images.c.seq,
        _later.c.scheduled_at.is_(None),
    )
    .exists()
)


def at_commit(commit_sha: str) -> ColumnElement[bool]:
    """Match a commit, ignoring case. Both the uploads and the request may name the commit by a prefix."""
    sha = func.lower(images.c.commit_sha)
    asked = commit_sha.lower()
    prefixes = [asked[:length] for length in range(SHORTEST_SHA, len(asked) + 1)]
    return or_(sha.in_(prefixes), sha.like(f"{asked}%"))


def pairs_at(
    connection: Connection, project_id: str, pr_number: int, commit_sha: str
) -> list[tuple[Image, Image]]:
    query = (
        select(*IMAGE)
        .where(*OF_PR, images.c.before_id.is_not(None), ACTIVE, or_(at_commit(commit_sha), ~_is_replaced))
        .order_by(images.c.seq)
    )
    of_pr = {"project_id": project_id, "pr_number": pr_number}
    afters = [Image(*row) for row in connection.execute(query, of_pr)]
    before_images = active_images(connection, {after.before_id for after in afters if after.before_id})
    return [(after, before_images[after.before_id]) for after in afters if after.before_id in before_images]


def active_images(connection: Connection, image_ids: Collection[str]) -> dict[str, Image]:
    active = {}
    for some in in_batches(sorted(image_ids)):
        for image in map(Image._make, connection.execute(_ACTIVE_WITH_IDS, {"image_ids": some})):
            active[image.id] = image
    return active
