"""Schedule images for expiry. A before is scheduled in the transaction that schedules its after."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Update, bindparam, update

from prshots.server.adapters.sql.columns import ACTIVE
from prshots.server.adapters.sql.database.schema import images

BEFORES_AT_ONCE = 1000


def scheduling(*which: ColumnElement[bool]) -> Update:
    """Return the statement for `schedule_images`: active images that meet these conditions."""
    return (
        update(images)
        .where(*which, ACTIVE)
        .values(scheduled_at=bindparam("now"))
        .returning(images.c.before_id)
    )


_SCHEDULE_BEFORES = (
    update(images)
    .where(images.c.id.in_(bindparam("before_ids", expanding=True)), ACTIVE)
    .values(scheduled_at=bindparam("now"))
)


def schedule_images(connection: Connection, statement: Update, given: dict[str, object]) -> int:
    """Schedule images and their befores. Return how many, without the befores. `given` has `now`."""
    marked: Sequence[str | None] = connection.execute(statement, given).scalars().all()
    befores = sorted(before_id for before_id in marked if before_id is not None)
    for start in range(0, len(befores), BEFORES_AT_ONCE):
        some = befores[start : start + BEFORES_AT_ONCE]
        connection.execute(_SCHEDULE_BEFORES, {"before_ids": some, "now": given["now"]})
    return len(marked)


_SOME = scheduling(
    images.c.project_id == bindparam("of_project"), images.c.seq.in_(bindparam("seqs", expanding=True))
)


def mark_some(connection: Connection, project_id: str, seqs: Sequence[int], now: int) -> int:
    """Schedule these images of a project. Return how many were not scheduled before."""
    marks: dict[str, object] = {"of_project": project_id, "seqs": seqs, "now": now}
    return schedule_images(connection, _SOME, marks) if seqs else 0
