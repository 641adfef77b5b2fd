"""Rows of baselines and comparisons that other transactions write and remove along with images.

The code locks rows in the order that `row_locks.py` describes; rows of baselines come after images.
"""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, delete, text

from prshots.server.adapters.sql.columns import equal
from prshots.server.adapters.sql.database.schema import baselines, compared_shots, comparisons, staged
from prshots.server.adapters.sql.review.histories import remember_images
from prshots.server.domain.images.models import Image

# The same SQL for SQLite and PostgreSQL, where SQLAlchemy has two different constructs.
_POINT = text(
    "INSERT INTO baselines "
    "(project_id, branch, commit_sha, name, viewport, theme, own, image_id, created_at) "
    "VALUES (:project_id, :branch, :commit_sha, :name, :viewport, :theme, :own, :image_id, :created_at) "
    "ON CONFLICT (project_id, commit_sha, branch, name, viewport, theme, own) DO UPDATE SET "
    "image_id = excluded.image_id, created_at = excluded.created_at"
)
_NOTE_COMMIT = text(
    "INSERT INTO baseline_commits (project_id, branch, commit_sha, created_at) "
    "VALUES (:project_id, :branch, :commit_sha, :created_at) "
    "ON CONFLICT (project_id, commit_sha, branch) DO NOTHING"
)

Row = dict[str, Any]


def pointer(
    image: Image, branch: str, *, commit_sha: str = "", now: int | None = None, own: bool = True
) -> Row:
    """Return the row that makes an image its shot's baseline on a branch.

    The commit defaults to the image's own.
    """
    return {
        "project_id": image.project_id,
        "branch": branch,
        "commit_sha": (commit_sha or image.commit_sha).lower(),
        **image.shot._asdict(),
        "own": int(own),
        "image_id": image.id,
        "created_at": image.uploaded_at if now is None else now,
    }


def point_baselines(connection: Connection, pointers: Collection[Row]) -> None:
    """Add baselines, or replace those of the same commit."""
    if pointers:
        rows = sorted(pointers, key=lambda row: list(row.values()))
        connection.execute(_POINT, rows)
        note_commits(connection, rows)
        remember_images(connection, rows)


def note_commits(connection: Connection, rows: Iterable[Row]) -> None:
    """Record the commits of these rows, unless they are already recorded."""
    commits = {(row["project_id"], row["branch"], row["commit_sha"]): row for row in rows}
    connection.execute(_NOTE_COMMIT, [commits[key] for key in sorted(commits)])


def forget_images(connection: Connection, image_ids: Collection[str]) -> None:
    """Remove the baselines, the staged rows and the compared shots of images that are being removed."""
    for table in (baselines, staged, compared_shots):
        connection.execute(delete(table).where(table.c.image_id.in_(image_ids)))


def remove_comparisons(connection: Connection, project_id: str, pr_number: int) -> None:
    for table in (compared_shots, comparisons):
        connection.execute(delete(table).where(*equal(table, project_id=project_id, pr_number=pr_number)))
