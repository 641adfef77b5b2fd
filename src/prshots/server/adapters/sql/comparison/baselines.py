"""Baselines: which image a shot has on a branch at a commit, and how long it is kept."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, delete, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from prshots.contract.errors import RecordsError, UnauthorizedError
from prshots.server.adapters.sql.columns import (
    ACTIVE,
    IMAGE,
    OF_BASELINES,
    SHOT,
    equal,
    given,
    in_batches,
    project_gone_as,
)
from prshots.server.adapters.sql.comparison.dependent_rows import note_commits, point_baselines, pointer
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.schema import (
    baseline_commits,
    baselines,
    compared_shots,
    images,
    projects,
    pulls,
)
from prshots.server.adapters.sql.images.due import schedule_images
from prshots.server.adapters.sql.images.totals import add_images
from prshots.server.adapters.sql.review.histories import remember_images
from prshots.server.domain.comparison.models import BaselineCommit, BaselinePeriod, Bases, ShotBase
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image, ShotKey
from prshots.server.domain.storage.models import Limits

_NEAR_COMMITS = 5
"""How many of the listed commits to read completely. After that, few shots should be left to search one by
one."""

_SHOT = (baselines.c.name, baselines.c.viewport, baselines.c.theme)
_WITH_IMAGE = baselines.join(
    images, and_(images.c.id == baselines.c.image_id, images.c.project_id == baselines.c.project_id)
)
_COLUMNS = (*_SHOT, baselines.c.commit_sha, *IMAGE)
# Of several baselines of a shot at a commit, the last one counts: that of the requested branch's own build.
_BEST_LAST = (baselines.c.branch == bindparam("branch"), baselines.c.own, baselines.c.seq)
_COMMITS_WITH_ANY = (
    select(baseline_commits.c.commit_sha, func.max(baseline_commits.c.complete))
    .where(
        *given(baseline_commits, "project_id"),
        baseline_commits.c.commit_sha.in_(bindparam("commits", expanding=True)),
    )
    .group_by(baseline_commits.c.commit_sha)
)
_OF_PROJECT = (
    select(*_COLUMNS)
    .select_from(_WITH_IMAGE)
    .where(*given(baselines, "project_id"), ACTIVE)
    .order_by(*_BEST_LAST)
)
_OF_COMMIT = _OF_PROJECT.where(*given(baselines, "commit_sha"))
_OF_NAMES = _OF_PROJECT.where(
    baselines.c.commit_sha.in_(bindparam("commits", expanding=True)),
    baselines.c.name.in_(bindparam("names", expanding=True)),
)
_NEWEST = (
    select(func.max(baselines.c.seq).label("seq"))
    .select_from(_WITH_IMAGE)
    .where(
        *given(baselines, "project_id", "branch"),
        baselines.c.name.in_(bindparam("names", expanding=True)),
        ACTIVE,
    )
    .group_by(*_SHOT)
    .subquery()
)
_NEWEST_OF_NAMES = (
    select(*_COLUMNS)
    .select_from(_WITH_IMAGE.join(_NEWEST, _NEWEST.c.seq == baselines.c.seq))
    .order_by(baselines.c.seq)
)
_ANY_OF_BRANCH = (
    select(baselines.c.seq)
    .where(*given(baselines, "project_id", "branch"))
    .order_by(baselines.c.name)
    .limit(1)
)
_SAME_BYTES = (
    select(*IMAGE)
    .where(
        *given(images, "project_id"),
        OF_BASELINES,
        images.c.name.in_(bindparam("names", expanding=True)),
        images.c.sha256.in_(bindparam("hashes", expanding=True)),
        ACTIVE,
        select(baselines.c.seq).where(baselines.c.image_id == images.c.id).exists(),
    )
    .order_by(images.c.id)
    .with_for_update(read=True)  # otherwise the sweep could schedule an image that we are about to reuse
)

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


class SqlBaselines:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def reuse(
        self, project_id: str, branch: str, commit_sha: str, shots: Sequence[tuple[ShotKey, str]], now: int
    ) -> list[Image | None]:
        def record(connection: Connection) -> list[Image | None]:
            known: dict[tuple[ShotKey, str | None], Image] = {}
            for some in in_batches(shots):
                same_bytes = {
                    "project_id": project_id,
                    "names": sorted({shot.name for shot, _ in some}),
                    "hashes": sorted({sha256 for _, sha256 in some}),
                }
                for row in connection.execute(_SAME_BYTES, same_bytes):
                    image = Image(*row)
                    known[image.shot, image.sha256] = image
            found = [known.get(each) for each in shots]
            pointers = [pointer(image, branch, commit_sha=commit_sha, now=now) for image in found if image]
            point_baselines(connection, pointers)
            return found

        with project_gone_as(UnauthorizedError("unauthorized")):
            return await self._database.write(record)

    async def adopt(self, image: Image, branch: str, limits: Limits = ()) -> bool:
        row = pointer(image, branch, own=False)

        def add(connection: Connection) -> None:
            add_images(connection, [image], {image.project_id: limits})
            connection.execute(insert(baselines).values(row))
            note_commits(connection, [row])
            remember_images(connection, [row])

        try:
            await self._database.write(add)
        except RecordsError as error:
            if isinstance(error.__cause__, IntegrityError):
                return False
            raise
        return True

    async def complete(self, project_id: str, branch: str, commit_sha: str, now: int) -> int:
        key = {"project_id": project_id, "branch": branch, "commit_sha": commit_sha.lower()}
        of_commit = select(*_SHOT).where(*equal(baselines, **key))
        counting = select(func.count()).select_from(of_commit.distinct().subquery())

        def note(connection: Connection) -> int:
            note_commits(connection, [key | {"created_at": now}])
            connection.execute(
                update(baseline_commits).where(*equal(baseline_commits, **key)).values(complete=1)
            )
            return connection.execute(counting).scalar_one()

        with project_gone_as(UnauthorizedError("unauthorized")):
            return await self._database.write(note)

    async def bases(
        self, project_id: str, branch: str, commits: Sequence[str], shots: Collection[ShotKey]
    ) -> Bases:
        looked_up = [commit.lower() for commit in commits]

        def find(connection: Connection) -> Bases:
            return _Search(connection, project_id, branch, looked_up).bases(shots)

        return await self._database.read(find)

    # The dashboard's page

    async def branches(self, project_id: str) -> list[str]:
        query = (
            select(baseline_commits.c.branch)
            .where(baseline_commits.c.project_id == project_id)
            .distinct()
            .order_by(baseline_commits.c.branch)
        )
        return [row[0] for row in await self._database.rows(query)]

    async def commits(
        self, project_id: str, branch: str | None, before: int | None, limit: int
    ) -> list[BaselineCommit]:
        page = (
            select(baseline_commits)
            .where(baseline_commits.c.project_id == project_id)
            .order_by(baseline_commits.c.seq.desc())
            .limit(limit)
        )
        if branch is not None:
            page = page.where(baseline_commits.c.branch == branch)
        if before is not None:
            page = page.where(baseline_commits.c.seq < before)

        def read(connection: Connection) -> list[BaselineCommit]:
            return [_baseline_commit(connection, row) for row in connection.execute(page).all()]

        return await self._database.read(read)

    async def of_commit(
        self, project_id: str, branch: str, commit_sha: str, after: ShotKey | None, limit: int
    ) -> list[Image]:
        newest = _images_of_commit(project_id, branch, commit_sha)
        mine = images.c.project_id == project_id  # limits the read to its partition
        query = select(*IMAGE).where(mine, images.c.seq.in_(newest)).order_by(*SHOT).limit(limit)
        if after is not None:
            query = query.where(tuple_(*SHOT) > tuple_(*after))
        return [Image(*row) for row in await self._database.rows(query)]

    async def history(self, project_id: str, branch: str, shot: ShotKey) -> list[BaselinePeriod]:
        key = {"project_id": project_id, "branch": branch, **shot._asdict()}
        query = (
            select(baselines.c.commit_sha, baselines.c.created_at, baselines.c.own, baselines.c.seq, *IMAGE)
            .select_from(_WITH_IMAGE)
            .where(*equal(baselines, **key), ACTIVE)
            .order_by(baselines.c.seq.desc())
        )
        rows = await self._database.rows(query)
        built = {commit for commit, _, own, *_ in rows if own}
        counted = [row for row in rows if row.own or row.commit_sha not in built]
        periods = (list(each) for _, each in groupby(counted, key=lambda row: row.id))
        return [_period(of_image) for of_image in periods]

    async def release(self, now: int, limit: int) -> int:
        for project_id, branch, keep in await self._database.rows(_BRANCHES):
            this = {"project_id": project_id, "branch": branch}
            after: int | None = 0
            while after is not None:
                after = await self._database.write(partial(_trim_some, this=this, keep=keep, after=after))
        scheduled = 0
        for (project_id,) in await self._database.rows(_WITH_BASELINES):
            schedule = partial(_schedule_unused, project_id=project_id, now=now, most=limit - scheduled)
            scheduled += await self._database.write(schedule) if scheduled < limit else 0
        return scheduled


def _images_of_commit(project_id: str, branch: str, commit_sha: str) -> Select[Any]:
    """Select the `seq` of one image per shot, preferring the branch's own build."""
    of_commit = equal(baselines, project_id=project_id, commit_sha=commit_sha, branch=branch)
    best = (
        select(func.max(baselines.c.own).label("own"), *_SHOT).where(*of_commit).group_by(*_SHOT).subquery()
    )
    this = and_(*of_commit, *(column == best.c[column.name] for column in (*_SHOT, baselines.c.own)))
    return select(images.c.seq).select_from(_WITH_IMAGE.join(best, this)).where(ACTIVE)


def _baseline_commit(connection: Connection, row: Any) -> BaselineCommit:  # noqa: ANN401 - a row of the table
    of_commit = _images_of_commit(row.project_id, row.branch, row.commit_sha)
    mine = images.c.project_id == row.project_id
    sums = select(func.count(), func.coalesce(func.sum(images.c.size), 0))
    sums = sums.where(mine, images.c.seq.in_(of_commit))
    shots, size = connection.execute(sums).one()
    return BaselineCommit(
        row.branch, row.commit_sha, bool(row.complete), row.created_at, shots, int(size), row.seq
    )


def _period(rows: Sequence[Any]) -> BaselinePeriod:
    """Return the period of these commits, newest first, that share an image."""
    last, (commit_sha, created_at, _, seq, *image) = rows[0], rows[-1]
    return BaselinePeriod(
        Image(*image), commit_sha, created_at, last.commit_sha, last.created_at, len(rows), seq
    )


class _Search:
    """Searches for the bases of shots: in near commits first, then shot by shot, then on the branch."""

    def __init__(self, connection: Connection, project_id: str, branch: str, commits: list[str]) -> None:
        self._connection = connection
        self._commits = commits
        self._asked = {"project_id": project_id, "branch": branch}

    def bases(self, shots: Collection[ShotKey]) -> Bases:
        complete = self._commits_with_any()
        listed = [commit for commit in self._commits if commit in complete]
        near = listed[:_NEAR_COMMITS]
        of_near = [self._of_commit(commit) for commit in near]
        found: dict[ShotKey, ShotBase] = {}
        for of_commit in of_near:
            found |= {shot: of_commit[shot] for shot in shots if shot not in found and shot in of_commit}
        found |= self._in_further_commits([shot for shot in shots if shot not in found], listed[len(near) :])
        found |= self._newest_of_branch([shot for shot in shots if shot not in found])
        newest = max(found.values(), key=lambda base: base.image.uploaded_at, default=None)
        commit_sha = listed[0] if listed else newest and newest.commit_sha
        return Bases(
            commit_sha or None,
            bool(listed and complete[listed[0]]),
            of_near[0] if of_near else {},
            found,
            bool(found or listed)
            or self._connection.execute(_ANY_OF_BRANCH, self._asked).first() is not None,
        )

    def _commits_with_any(self) -> dict[str, bool]:
        """Return the listed commits that have baselines, and whether each is complete."""
        if not self._commits:
            return {}
        asked = {"project_id": self._asked["project_id"], "commits": self._commits}
        rows = self._connection.execute(_COMMITS_WITH_ANY, asked)
        return {commit: bool(is_complete) for commit, is_complete in rows}

    def _of_commit(self, commit: str) -> dict[ShotKey, ShotBase]:
        rows = self._connection.execute(_OF_COMMIT, self._asked | {"commit_sha": commit})
        return dict(_base(row, is_listed=True) for row in rows)

    def _in_further_commits(self, shots: list[ShotKey], commits: list[str]) -> dict[ShotKey, ShotBase]:
        nearness = {commit: place for place, commit in enumerate(commits)}
        nearest: dict[ShotKey, ShotBase] = {}
        if not commits:
            return nearest
        for names in in_batches(sorted({shot.name for shot in shots})):
            asked = self._asked | {"commits": commits, "names": names}
            for row in self._connection.execute(_OF_NAMES, asked):
                shot, base = _base(row, is_listed=True)
                known = nearest.get(shot)
                if known is None or nearness[base.commit_sha] <= nearness[known.commit_sha]:
                    nearest[shot] = base
        return {shot: nearest[shot] for shot in shots if shot in nearest}

    def _newest_of_branch(self, shots: list[ShotKey]) -> dict[ShotKey, ShotBase]:
        newest: dict[ShotKey, ShotBase] = {}
        for names in in_batches(sorted({shot.name for shot in shots})):
            asked = self._asked | {"names": names}
            newest |= dict(
                _base(row, is_listed=False) for row in self._connection.execute(_NEWEST_OF_NAMES, asked)
            )
        return {shot: newest[shot] for shot in shots if shot in newest}


def _base(row: Sequence[Any], *, is_listed: bool) -> tuple[ShotKey, ShotBase]:
    name, viewport, theme, commit_sha, *image = row
    return ShotKey(name, viewport, theme), ShotBase(Image(*image), commit_sha, is_listed)


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
