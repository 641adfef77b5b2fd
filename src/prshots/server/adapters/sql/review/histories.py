"""The images that shots had on branches, to recognize differences that the branch has had before."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import given, in_batches
from prshots.server.adapters.sql.database.schema import branch_pixels
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.noise import (
    ALTERNATIONS,
    REMEMBERED_SECONDS,
    BranchHistory,
    BranchPicture,
    sort_by_commit,
)

MAX_HISTORIES = 1000

# Adds nothing for a commit that isn't the branch's newest, so a job that runs again changes no history. Also
# adds nothing for a merged pull request's image if the branch's own build of that commit has another one.
_REMEMBER = sa.text(
    "INSERT INTO branch_pixels "
    "(project_id, branch, commit_sha, name, viewport, theme, image_id, pixels, created_at) "
    "SELECT this.project_id, this.branch, this.commit_sha, this.name, this.viewport, this.theme, "
    "this.image_id, coalesce(images.pixels, ''), this.created_at FROM baselines AS this "
    "JOIN images ON images.project_id = this.project_id AND images.id = this.image_id "
    "WHERE this.project_id = :project_id AND this.commit_sha = :commit_sha AND this.branch = :branch "
    "AND this.name = :name AND this.viewport = :viewport AND this.theme = :theme AND this.own = :own "
    "AND this.image_id <> coalesce((SELECT image_id FROM branch_pixels "
    "WHERE project_id = :project_id AND name = :name AND viewport = :viewport AND theme = :theme "
    "AND branch = :branch ORDER BY seq DESC LIMIT 1), '') "
    "AND this.commit_sha = (SELECT commit_sha FROM baseline_commits "
    "WHERE project_id = :project_id AND branch = :branch ORDER BY seq DESC LIMIT 1) "
    "AND NOT EXISTS (SELECT 1 FROM baselines WHERE project_id = :project_id AND commit_sha = :commit_sha "
    "AND branch = :branch AND name = :name AND viewport = :viewport AND theme = :theme AND own > :own)"
)
_IDENTIFY = (
    sa.update(branch_pixels)
    .where(branch_pixels.c.image_id == sa.bindparam("of_image"))
    .values(pixels=sa.bindparam("found"))
)

_KEY = ("branch", *ShotKey._fields)
_PICTURE = ("pixels", "image_id", "commit_sha", "created_at")
_next = branch_pixels.alias()
_is_past = (branch_pixels.c.created_at <= sa.bindparam("since")) & sa.exists().where(
    *(_next.c[name] == branch_pixels.c[name] for name in ("project_id", *_KEY)),
    _next.c.seq > branch_pixels.c.seq,
    _next.c.created_at <= sa.bindparam("since"),
)
_OF_PROJECT = (*given(branch_pixels, "project_id"), branch_pixels.c.pixels != "", ~_is_past)
_OF_NAMES = (
    *_OF_PROJECT,
    *given(branch_pixels, "branch"),
    branch_pixels.c.name.in_(sa.bindparam("names", expanding=True)),
)


def _restless(*which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Select the histories with enough changes to alternate, those that changed last first."""
    columns = [branch_pixels.c[name] for name in _KEY]
    newest = sa.func.max(branch_pixels.c.seq)
    shots = (
        sa.select(*columns, newest.label("newest"))
        .where(*which)
        .group_by(*columns)
        .having(sa.func.count() >= ALTERNATIONS)
        .order_by(newest.desc())
        .limit(MAX_HISTORIES)
        .subquery()
    )
    is_shot = sa.and_(*(branch_pixels.c[name] == shots.c[name] for name in _KEY))
    return (
        sa.select(*columns, *(branch_pixels.c[name] for name in _PICTURE))
        .select_from(branch_pixels.join(shots, is_shot))
        .where(*which)
        .order_by(shots.c.newest.desc(), branch_pixels.c.seq)
    )


_RESTLESS, _RESTLESS_OF_NAMES = _restless(*_OF_PROJECT), _restless(*_OF_NAMES)
_PAST = (
    sa.select(branch_pixels.c.seq)
    .where(_is_past)
    .order_by(branch_pixels.c.created_at)
    .limit(sa.bindparam("limit"))
    .with_for_update(skip_locked=True, of=branch_pixels)
)


def remember_images(connection: sa.Connection, baselines: Collection[Mapping[str, Any]]) -> None:
    """Record the images of these baselines that changed what their branch shows."""
    connection.execute(_REMEMBER, list(baselines))


def identify_remembered(connection: sa.Connection, identities: Collection[Mapping[str, str]]) -> None:
    connection.execute(_IDENTIFY, list(identities))


def find_histories(
    connection: sa.Connection,
    project_id: str,
    compared: Mapping[int, Any],
    shots: Mapping[int, Collection[ShotKey]],
    now: int,
) -> dict[int, dict[ShotKey, list[str]]]:
    """Return the pixels that these shots had on the branches that pull requests were compared with.

    Takes rows of comparisons and the shots, both by pull request. Leaves out shots that have too few changes
    to alternate.
    """
    of_branch: dict[str, set[ShotKey]] = {}
    for number, row in compared.items():
        of_branch.setdefault(row.branch, set()).update(shots[number])
    found = _find_of_branches(connection, project_id, of_branch, now)
    return {
        number: {
            shot: sort_by_commit(history, json.loads(row.commits))
            for shot in shots[number]
            if (history := found.get((row.branch, shot)))
        }
        for number, row in compared.items()
    }


def _find_of_branches(
    connection: sa.Connection, project_id: str, of_branch: Mapping[str, Collection[ShotKey]], now: int
) -> dict[tuple[str, ShotKey], BranchHistory]:
    found: list[BranchHistory] = []
    for branch, shots in of_branch.items():
        asked = {"project_id": project_id, "branch": branch, "since": now - REMEMBERED_SECONDS}
        for names in in_batches(sorted({shot.name for shot in shots})):
            found += _read(connection.execute(_RESTLESS_OF_NAMES, asked | {"names": names}))
    return {(each.branch, each.shot): each for each in found}


def histories_of_project(connection: sa.Connection, project_id: str, now: int) -> list[BranchHistory]:
    asked = {"project_id": project_id, "since": now - REMEMBERED_SECONDS}
    return _read(connection.execute(_RESTLESS, asked))


def discard_past(connection: sa.Connection, now: int, limit: int) -> int:
    """Remove changes that the branch replaced more than 30 days ago. Return how many."""
    past = connection.execute(_PAST, {"since": now - REMEMBERED_SECONDS, "limit": limit}).scalars().all()
    for some in in_batches(past):
        connection.execute(sa.delete(branch_pixels).where(branch_pixels.c.seq.in_(some)))
    return len(past)


def _read(rows: Iterable[Any]) -> list[BranchHistory]:
    pictures: dict[tuple[str, ShotKey], list[BranchPicture]] = {}
    for branch, name, viewport, theme, *picture in rows:
        pictures.setdefault((branch, ShotKey(name, viewport, theme)), []).append(BranchPicture(*picture))
    return [BranchHistory(shot, branch, found) for (branch, shot), found in pictures.items()]
