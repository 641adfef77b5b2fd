"""The retention of baselines: by reference, never by age alone."""

from functools import partial

from sqlalchemy import Connection, delete, func, select

from prshots.server.adapters.sql.columns import ACTIVE, OF_BASELINES, equal
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
_later = baselines.alias()
_has_later = (
    select(_later.c.seq)
    .where(
        *(_later.c[name] == baselines.c[name] for name in ("project_id", "branch", *ShotKey._fields)),
        _later.c.seq > baselines.c.seq,
    )
    .exists()
)
_is_empty = ~(
    select(baselines.c.seq)
    .where(
        *(baselines.c[name] == baseline_commits.c[name] for name in ("project_id", "commit_sha", "branch"))
    )
    .exists()
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
_reference = images.alias()
_is_source = (
    select(_reference.c.seq)
    .where(_reference.c.source_id == images.c.id, _reference.c.scheduled_at.is_(None))
    .exists()
)
_IS_UNUSED = ~_is_baseline & ~_is_shown & ~_is_source


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
    seq, of_branch = baseline_commits.c.seq, equal(baseline_commits, **this)
    newest_first = select(seq).where(*of_branch).order_by(seq.desc())
    oldest_kept = newest_first.offset(keep - 1).limit(1).correlate(None).scalar_subquery()
    next_old = (
        select(seq, baseline_commits.c.commit_sha)
        .where(*of_branch, seq < oldest_kept, seq > after)
        .order_by(seq)
        .limit(COMMITS_AT_ONCE)
    )
    old = connection.execute(next_old).all()
    if not old:
        return None
    of_old = baselines.c.commit_sha.in_([row.commit_sha for row in old])
    connection.execute(delete(baselines).where(*equal(baselines, **this), of_old, _has_later))
    connection.execute(delete(baseline_commits).where(seq.in_([row.seq for row in old]), _is_empty))
    return int(old[-1].seq)


def _schedule_unused(connection: Connection, project_id: str, now: int, most: int) -> int:
    mine = images.c.project_id == project_id
    some = (
        select(images.c.seq)
        .where(mine, OF_BASELINES, ACTIVE, _IS_UNUSED)
        .order_by(images.c.name, images.c.seq)
        .limit(most)
        .with_for_update(skip_locked=True, of=images)
    )
    unused = connection.execute(some).scalars().all()
    # Checked again once the images are locked: until then, another transaction may have referred to one.
    return schedule_images(connection, now, mine, images.c.seq.in_(unused), _IS_UNUSED) if unused else 0
