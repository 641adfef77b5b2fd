"""Add images, and update the dashboard's totals in the transactions of uploads and expiries.

To prevent deadlocks, the code locks rows in the order that `row_locks.py` describes, and within a table in
key order. Project totals come last, because all uploads and expiries of a project share that one row.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, text, update

from prshots.server.adapters.sql.columns import equal
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import images, project_totals, pulls
from prshots.server.adapters.sql.storage.quotas import lock_limited, require_within
from prshots.server.domain.images.models import NO_PULL_REQUEST, SECONDS_PER_DAY, Image
from prshots.server.domain.storage.models import Limits

_SET_LATER = {"seq", "closed_at", "scheduled_at", "thumbnail", "diff_base"}
_ADD_IMAGES = Prepared(insert(images))
# The same SQL for SQLite and PostgreSQL, where SQLAlchemy has two different constructs. An upload to a closed
# pull request reopens it, because its new image isn't marked as closed. The row with the number 0 has the
# images without a pull request, and is never open. Before images only count with their bytes. References have
# none, and aren't uploads.
_COUNT_PULLS = Prepared(
    text(
        "INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit, opened) "
        "VALUES (:project_id, :pr_number, :images, :bytes, :last_upload_at, :last_commit, :opened) "
        "ON CONFLICT (project_id, pr_number) DO UPDATE SET "
        "images = pulls.images + excluded.images, bytes = pulls.bytes + excluded.bytes, "
        "last_upload_at = excluded.last_upload_at, last_commit = excluded.last_commit, closed_at = NULL, "
        "deleted_at = NULL, opened = CASE WHEN pulls.closed_at IS NULL THEN 0 ELSE excluded.opened END"
    )
)
_COUNT_DAYS = Prepared(
    text(
        "INSERT INTO uploads_by_day (project_id, day, uploads, bytes) "
        "VALUES (:project_id, :day, :uploads, :bytes) "
        "ON CONFLICT (project_id, day) DO UPDATE SET "
        "uploads = uploads_by_day.uploads + excluded.uploads, bytes = uploads_by_day.bytes + excluded.bytes"
    )
)
# Runs after `_COUNT_PULLS`, which locks the pull request's row and sets `opened`.
_COUNT_TOTALS = Prepared(
    text(
        "INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at) "
        "SELECT project_id, :images, :bytes, opened, last_upload_at FROM pulls "
        "WHERE project_id = :project_id AND pr_number = :pr_number "
        "ON CONFLICT (project_id) DO UPDATE SET "
        "images = project_totals.images + excluded.images, bytes = project_totals.bytes + excluded.bytes, "
        "open_pulls = project_totals.open_pulls + excluded.open_pulls, "
        "last_upload_at = CASE WHEN excluded.last_upload_at > project_totals.last_upload_at "
        "THEN excluded.last_upload_at ELSE project_totals.last_upload_at END"
    )
)
_UNCOUNT_PULLS = (
    update(pulls)
    .where(pulls.c.project_id == bindparam("of_project"), pulls.c.pr_number == bindparam("of_pr"))
    .values(images=pulls.c.images - bindparam("gone"), bytes=pulls.c.bytes - bindparam("freed"))
)
_UNCOUNT_TOTALS = (
    update(project_totals)
    .where(project_totals.c.project_id == bindparam("of_project"))
    .values(
        images=project_totals.c.images - bindparam("gone"), bytes=project_totals.c.bytes - bindparam("freed")
    )
)


def add_images(connection: Connection, arrived: Sequence[Image], limits: Mapping[str, Limits]) -> None:
    """Insert new images and count them.

    Raises QuotaReachedError if they don't fit into the limits of their projects.
    """
    lock_limited(connection, limits)
    rows = [
        {name: value for name, value in image._asdict().items() if name not in _SET_LATER}
        for image in arrived
    ]
    _ADD_IMAGES.run(connection, rows)
    by_pull: dict[tuple[str, int], list[Image]] = {}
    by_day: dict[tuple[str, int], list[Image]] = {}
    for image in arrived:
        by_pull.setdefault((image.project_id, image.pr_number), []).append(image)
        if image.source_id is None:
            by_day.setdefault((image.project_id, image.uploaded_at // SECONDS_PER_DAY), []).append(image)
    of_pulls = [_pull_row(by_pull[key]) for key in sorted(by_pull)]
    of_days = [
        {"project_id": key[0], "day": key[1], "uploads": _count(by_day[key]), "bytes": _bytes(by_day[key])}
        for key in sorted(by_day)
    ]
    _COUNT_PULLS.run(connection, of_pulls)
    if of_days:
        _COUNT_DAYS.run(connection, of_days)
    _COUNT_TOTALS.run(connection, of_pulls)
    require_within(connection, arrived, limits)


def count_removed(connection: Connection, removed: Iterable[Sequence[Any]]) -> int:
    """Subtract images, given as (project_id, pr_number, kind, size), from the totals. Return their number."""
    by_pull: dict[tuple[str, int], Counter[str]] = {}
    by_project: dict[str, Counter[str]] = {}
    for project_id, pr_number, kind, size in removed:
        less = {"gone": int(_is_counted(kind)), "freed": size}
        by_pull.setdefault((project_id, pr_number), Counter()).update(less)
        by_project.setdefault(project_id, Counter()).update(less)
    if by_pull:
        of_pulls = [{"of_project": key[0], "of_pr": key[1], **by_pull[key]} for key in sorted(by_pull)]
        connection.execute(_UNCOUNT_PULLS, of_pulls)
        connection.execute(
            _UNCOUNT_TOTALS, [{"of_project": key, **by_project[key]} for key in sorted(by_project)]
        )
    return sum(less["gone"] for less in by_project.values())


def count_moved(
    connection: Connection, moved: list[Image], pr_number: int, newest_commit: str, now: int
) -> None:
    """Count staged images for this pull request.

    Its record and its position in the list treat this as an upload. The project's number of images stays the
    same, and the day of their upload already includes them.
    """
    from_none = {"of_project": moved[0].project_id, "of_pr": NO_PULL_REQUEST}
    arriving = _pull_row(moved) | {
        "pr_number": pr_number,
        "last_upload_at": now,
        "last_commit": newest_commit,
        "opened": 1,
    }
    connection.execute(_UNCOUNT_PULLS, from_none | {"gone": len(moved), "freed": _bytes(moved)})
    _COUNT_PULLS.run(connection, [arriving])
    _COUNT_TOTALS.run(connection, [arriving | {"images": 0, "bytes": 0}])


def count_closed(connection: Connection, project_id: str, pr_number: int, now: int) -> bool:
    """Mark a pull request as closed. If it is already closed, keep the time and return False."""
    this = equal(pulls, project_id=project_id, pr_number=pr_number)
    closing = update(pulls).where(*this, pulls.c.closed_at.is_(None)).values(closed_at=now)
    if not connection.execute(closing).rowcount:
        return False
    of_project = update(project_totals).where(project_totals.c.project_id == project_id)
    connection.execute(of_project.values(open_pulls=project_totals.c.open_pulls - 1))
    return True


def _is_counted(kind: str) -> bool:
    return kind != "before"


def _count(some: Iterable[Image]) -> int:
    return sum(_is_counted(image.kind) for image in some)


def _bytes(some: Iterable[Image]) -> int:
    return sum(image.size for image in some)


def _pull_row(arrived: list[Image]) -> dict[str, object]:
    newest = arrived[-1]
    return {
        "project_id": newest.project_id,
        "pr_number": newest.pr_number,
        "images": _count(arrived),
        "bytes": _bytes(arrived),
        "last_upload_at": newest.uploaded_at,
        "last_commit": newest.commit_sha,
        "opened": int(newest.kind == "pull_request"),
    }
