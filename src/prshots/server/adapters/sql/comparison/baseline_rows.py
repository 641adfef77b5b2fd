"""Rows of baselines that other transactions write and remove along with images.

Rows are locked in the order that `row_locks.py` describes; rows of baselines come after images.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Self

from sqlalchemy import BindParameter, Connection, bindparam, delete, text

from prshots.server.adapters.sql.database.schema import baselines, compared_shots, staged
from prshots.server.domain.images.models import Image

# The same SQL for SQLite and PostgreSQL, for which SQLAlchemy has two different constructs.
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
_GIVEN: BindParameter[list[str]] = bindparam("image_ids", expanding=True)
_FORGET_BASELINES = delete(baselines).where(baselines.c.image_id.in_(_GIVEN))
_FORGET_STAGED = delete(staged).where(staged.c.image_id.in_(_GIVEN))
_FORGET_SHOTS = delete(compared_shots).where(compared_shots.c.image_id.in_(_GIVEN))


class Pointer(NamedTuple):
    """That a shot's baseline on a branch at a commit is this image."""

    project_id: str
    branch: str
    commit_sha: str
    name: str
    viewport: str
    theme: str
    own: int
    image_id: str
    created_at: int

    @classmethod
    def to(
        cls, image: Image, branch: str, *, commit_sha: str = "", now: int | None = None, own: bool = True
    ) -> Self:
        """Point at an image, at its own commit unless another one is given."""
        return cls(
            image.project_id,
            branch,
            (commit_sha or image.commit_sha).lower(),
            *image.shot,
            int(own),
            image.id,
            image.uploaded_at if now is None else now,
        )


def point_baselines(connection: Connection, pointers: Iterable[Pointer]) -> None:
    """Add baselines, or replace those of the same commit."""
    rows = [pointer._asdict() for pointer in sorted(pointers)]
    if rows:
        connection.execute(_POINT, rows)
        note_commits(connection, rows)


def note_commits(connection: Connection, rows: Iterable[Mapping[str, object]]) -> None:
    """Note the commits of these rows, unless they are noted already."""
    columns = ("project_id", "branch", "commit_sha", "created_at")
    commits = {tuple(str(row[name]) for name in columns[:3]): row for row in rows}
    connection.execute(
        _NOTE_COMMIT, [{name: commits[key][name] for name in columns} for key in sorted(commits)]
    )


def forget_images(connection: Connection, image_ids: Collection[str]) -> None:
    """Remove the baselines, the staged rows and the compared shots of images that are being removed."""
    given = {"image_ids": list(image_ids)}
    connection.execute(_FORGET_BASELINES, given)
    connection.execute(_FORGET_STAGED, given)
    connection.execute(_FORGET_SHOTS, given)
