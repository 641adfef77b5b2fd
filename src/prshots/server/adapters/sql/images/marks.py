"""Schedule images for expiry. An image and its before image are scheduled in the same transaction."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Update, bindparam, update

from prshots.server.adapters.sql.columns import ACTIVE, in_batches
from prshots.server.adapters.sql.database.schema import images


def schedule_statement(*which: ColumnElement[bool]) -> Update:
    """Return the statement for `schedule_images`. It marks active images that meet these conditions."""
    return (
        update(images)
        .where(*which, ACTIVE)
        .values(scheduled_at=bindparam("now"))
        .returning(images.c.before_id)
    )


_SCHEDULE_BEFORE_IMAGES = (
    update(images)
    .where(images.c.id.in_(bindparam("before_ids", expanding=True)), ACTIVE)
    .values(scheduled_at=bindparam("now"))
)


def schedule_images(connection: Connection, statement: Update, given: dict[str, object]) -> int:
    """Schedule images and their before images. Return the number of images without counting before images.

    `given` has `now`.
    """
    marked: Sequence[str | None] = connection.execute(statement, given).scalars().all()
    before_ids = sorted(before_id for before_id in marked if before_id is not None)
    for some in in_batches(before_ids):
        connection.execute(_SCHEDULE_BEFORE_IMAGES, {"before_ids": some, "now": given["now"]})
    return len(marked)


_SOME = schedule_statement(
    images.c.project_id == bindparam("of_project"), images.c.seq.in_(bindparam("seqs", expanding=True))
)


def mark_some(connection: Connection, project_id: str, seqs: Sequence[int], now: int) -> int:
    """Schedule these images of a project. Return how many weren't scheduled yet."""
    marks: dict[str, object] = {"of_project": project_id, "seqs": seqs, "now": now}
    return schedule_images(connection, _SOME, marks) if seqs else 0
