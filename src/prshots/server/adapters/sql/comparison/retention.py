"""The retention of baselines: by reference, never by age alone."""

from functools import partial

from sqlalchemy import Connection, bindparam, delete, func, select

from prshots.server.adapters.sql.columns import ACTIVE, OF_BASELINES, given
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.schema import (
    baseline_commits,
    baselines,
    compared_shots,
    images,
    projects,
    pulls,
)
from prshots.server.adapters.sql.images.marks import schedule_images
from prshots.server.domain.images.models import NO_PULL_REQUEST, ShotKey

COMMITS_AT_ONCE = 20


_BRANCHES = (
    select(baseline_commits.c.project_id, baseline_commits.c.branch, projects.c.keep_baselines)
    .select_from(baseline_commits.join(projects))
    .group_by(baseline_commits.c.project_id, baseline_commits.c.branch, projects.c.keep_baselines)
    .having(func.count() > projects.c.keep_baselines)
)
_OF_BRANCH = given(baseline_commits, "project_id", "branch")
_OLDEST_KEPT = (
    select(baseline_commits.c.seq)
    .where(*_OF_BRANCH)
    .order_by(baseline_commits.c.seq.desc())
    .offset(bindparam("more"))
    .limit(1)
)
_OLD_COMMITS = (
    select(baseline_commits.c.seq, baseline_commits.c.commit_sha)
    .where(
        *_OF_BRANCH,
        baseline_commits.c.seq < bindparam("oldest_kept"),
        baseline_commits.c.seq > bindparam("after"),
    )
    .order_by(baseline_commits.c.seq)
    .limit(COMMITS_AT_ONCE)
)
_later = baselines.alias()
_has_later = (
    select(_later.c.seq)
    .where(
        *(_later.c[name] == baselines.c[name] for name in ("project_id", "branch", *ShotKey._fields)),
        _later.c.seq > baselines.c.seq,
    )
    .exists()
)
_REMOVE_POINTERS = delete(baselines).where(
    *given(baselines, "project_id", "branch"),
    baselines.c.commit_sha.in_(bindparam("commits", expanding=True)),
    _has_later,
)
_is_empty = ~(
    select(baselines.c.seq)
    .where(
        *(baselines.c[name] == baseline_commits.c[name] for name in ("project_id", "commit_sha", "branch"))
    )
    .exists()
)
_REMOVE_COMMITS = delete(baseline_commits).where(
    baseline_commits.c.seq.in_(bindparam("seqs", expanding=True)), _is_empty
)
_WITH_BASELINES = select(pulls.c.project_id).where(pulls.c.pr_number == NO_PULL_REQUEST, pulls.c.images > 0)
_is_baseline = select(baselines.c.seq).where(baselines.c.image_id == images.c.id).exists()
_is_shown = (
    select(compared_shots.c.base_id)
    .select_from(
        compared_shots.join(
            pulls,
            (pulls.c.project_id == compared_shots.c.project_id)
            & (pulls.c.pr_number == compared_shots.c.pr_number),
        )
    )
    .where(compared_shots.c.base_id == images.c.id, pulls.c.closed_at.is_(None))
    .exists()
)
_IS_UNUSED = ~_is_baseline & ~_is_shown
_UNUSED = (
    select(images.c.seq)
    .where(*given(images, "project_id"), OF_BASELINES, ACTIVE, _IS_UNUSED)
    .order_by(images.c.name, images.c.seq)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True, of=images)
)


async def release(database: Database, now: int, limit: int) -> int:
    """Remove baselines past retention, and schedule images without references. Return how many."""
    for project_id, branch, keep in await database.rows(_BRANCHES):
        this = {"project_id": project_id, "branch": branch}
        after: int | None = 0
        while after is not None:
            after = await database.write(partial(_trim_some, this=this, keep=keep, after=after))
    scheduled = 0
    for (project_id,) in await database.rows(_WITH_BASELINES):
        schedule = partial(_schedule_unused, project_id=project_id, now=now, most=limit - scheduled)
        scheduled += await database.write(schedule) if scheduled < limit else 0
    return scheduled


def _trim_some(connection: Connection, this: dict[str, str], keep: int, after: int) -> int | None:
    """Remove the baselines of a branch's next few old commits, except each shot's newest.

    Returns the `seq` of the last commit, or None at the end.
    """
    oldest_kept = connection.execute(_OLDEST_KEPT, this | {"more": keep - 1}).scalar()
    if oldest_kept is None:
        return None
    old = connection.execute(_OLD_COMMITS, this | {"oldest_kept": oldest_kept, "after": after}).all()
    if not old:
        return None
    commits = [row.commit_sha for row in old]
    connection.execute(_REMOVE_POINTERS, this | {"commits": commits})
    connection.execute(_REMOVE_COMMITS, {"seqs": [row.seq for row in old]})
    return int(old[-1].seq)


def _schedule_unused(connection: Connection, project_id: str, now: int, most: int) -> int:
    unused = connection.execute(_UNUSED, {"project_id": project_id, "most": most}).scalars().all()
    if not unused:
        return 0
    these = images.c.project_id == project_id, images.c.seq.in_(unused)
    # Checked again once the images are locked: until then, another transaction may have referred to one.
    return schedule_images(connection, now, *these, _IS_UNUSED)
