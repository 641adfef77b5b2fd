"""Schedule images for expiry, in one transaction with their before images and the references to them."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, update

from prshots.server.adapters.sql.columns import ACTIVE, in_batches
from prshots.server.adapters.sql.database.schema import images


def schedule_images(connection: Connection, now: int, *which: ColumnElement[bool]) -> int:
    """Schedule the active images that meet these conditions, their before images and references to them.

    Return the number of images that meet the conditions.
    """
    marking = update(images).where(ACTIVE).values(scheduled_at=now)
    marked = connection.execute(marking.where(*which).returning(images.c.id, images.c.before_id)).all()
    before_ids = sorted(before_id for _, before_id in marked if before_id is not None)
    for some in in_batches(before_ids):
        connection.execute(marking.where(images.c.id.in_(some)))
    # A reference has no bytes without its source. One that was added meanwhile is found too: adding it locks
    # the source, so the statement above waited for it.
    for some in in_batches(sorted(image_id for image_id, _ in marked)):
        connection.execute(marking.where(images.c.source_id.in_(some)))
    return len(marked)


def mark_some(connection: Connection, project_id: str, seqs: Sequence[int], now: int) -> int:
    """Schedule these images of a project. Return how many weren't scheduled yet."""
    if not seqs:
        return 0
    return schedule_images(connection, now, images.c.project_id == project_id, images.c.seq.in_(seqs))
