"""The dashboard's queries, on the same database as the records."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from prshots.contract.limits import Policy
from prshots.server.adapters.sql.columns import (
    ACTIVE,
    ACTIVE_OF_PR,
    IMAGE,
    LONG_LIVED,
    PROJECT,
    PROJECTS,
    PULL,
    SHOT,
    TOKEN,
    equal,
    given,
    project_from,
)
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import (
    images,
    members,
    project_totals,
    projects,
    pulls,
    tokens,
    uploads_by_day,
)
from prshots.server.adapters.sql.images.due import due_in
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image, PullRequestRecord, Shot, ShotKey
from prshots.server.domain.projects.models import DayOfUploads, Project, ProjectSummary, Role, UploadToken

_OF_MEMBER = PROJECTS.join(members, members.c.organization_id == projects.c.organization_id)
_PROJECT_OF_MEMBER = Prepared(
    sa.select(*PROJECT, members.c.role)
    .select_from(_OF_MEMBER)
    .where(projects.c.id == sa.bindparam("project_id"), members.c.user_id == sa.bindparam("user_id"))
)
# A key sorts a list and marks where a page starts: after the last row of the previous page.
_PROJECT_KEY = (projects.c.name, projects.c.id)
_PULL_KEY = (pulls.c.last_upload_at, pulls.c.pr_number)
_FIRST_PROJECT, _FIRST_PULL, _FIRST_SHOT = ("", ""), (2**62, 0), ShotKey("", "", "")
"""Keys that sort before the first row of each list."""


def _last(key: Sequence[sa.ColumnElement[Any]]) -> sa.ColumnElement[Any]:
    """Return the key of the previous page's last row, as parameters that `_values` fills."""
    return sa.tuple_(*(sa.bindparam(f"last_{column.name}", type_=column.type) for column in key))


def _values(key: Sequence[sa.ColumnElement[Any]], last: Sequence[object]) -> dict[str, object]:
    return {f"last_{column.name}": value for column, value in zip(key, last, strict=True)}


def _first_commit_with_these_bytes() -> sa.ColumnElement[str]:
    """Return the commit since which an image's shot has had these bytes, or NULL if the hash is unknown."""
    other, same = images.alias(), images.alias()

    def of_shot(earlier: sa.FromClause) -> list[sa.ColumnElement[bool]]:
        keys = ("project_id", "pr_number", *ShotKey._fields)
        return [*(earlier.c[key] == images.c[key] for key in keys), earlier.c.scheduled_at.is_(None)]

    last_other = (
        sa.select(sa.func.max(other.c.seq))
        .where(*of_shot(other), other.c.sha256.is_distinct_from(images.c.sha256))
        .correlate(images)
        .scalar_subquery()
    )
    return (
        sa.select(same.c.commit_sha)
        .where(*of_shot(same), same.c.seq > sa.func.coalesce(last_other, 0), images.c.sha256.is_not(None))
        .order_by(same.c.seq)
        .limit(1)
        .correlate(images)
        .scalar_subquery()
    )


# Building a query takes longer than running it, so the queries of polling pages are built once.
_SUMMARIES = (
    sa.select(
        *PROJECT,
        members.c.role,
        sa.func.coalesce(project_totals.c.images, 0),
        sa.func.coalesce(project_totals.c.bytes, 0),
        sa.func.coalesce(project_totals.c.open_pulls, 0),
        project_totals.c.last_upload_at,
    )
    .select_from(_OF_MEMBER.outerjoin(project_totals, project_totals.c.project_id == projects.c.id))
    .where(members.c.user_id == sa.bindparam("user_id"))
)
_SUMMARY = Prepared(_SUMMARIES.where(projects.c.id == sa.bindparam("project_id")))
_PROJECTS = Prepared(
    _SUMMARIES.where(sa.tuple_(*_PROJECT_KEY) > _last(_PROJECT_KEY))
    .order_by(*_PROJECT_KEY)
    .limit(sa.bindparam("limit"))
)
_DAYS = (
    sa.select(uploads_by_day)
    .where(
        uploads_by_day.c.project_id.in_(sa.bindparam("project_ids", expanding=True)),
        uploads_by_day.c.day >= sa.bindparam("since_day"),
    )
    .order_by(uploads_by_day.c.day)
)
_PULLS = (
    sa.select(*PULL)
    .where(*given(pulls, "project_id"), pulls.c.pr_number > NO_PULL_REQUEST)
    .where(sa.tuple_(*_PULL_KEY) < _last(_PULL_KEY))
    .order_by(*(column.desc() for column in _PULL_KEY))
    .limit(sa.bindparam("limit"))
)
_IN_STATE = {
    None: _PULLS,
    False: _PULLS.where(pulls.c.closed_at.is_(None)),
    True: _PULLS.where(pulls.c.closed_at.is_not(None)),
}
_page = (
    sa.select(
        sa.func.max(images.c.seq).label("seq"), sa.func.count(images.c.commit_sha.distinct()).label("commits")
    )
    .where(*ACTIVE_OF_PR, sa.tuple_(*SHOT) > _last(SHOT))
    .group_by(*SHOT)
    .order_by(*SHOT)
    .limit(sa.bindparam("limit"))
    .subquery()
)
_SHOTS = Prepared(
    sa.select(*IMAGE, _page.c.commits, _first_commit_with_these_bytes())
    .select_from(_page.join(images, images.c.seq == _page.c.seq))
    .where(*given(images, "project_id"))  # limits the read to its partition
    .order_by(*SHOT)
)

NAMES_SEARCHED = 5000
"""How many of the newest pull requests to search for names, because a search reads all their images."""

_LIKE_SPECIAL = re.compile(r"([\\%_])")


class SqlOverview:
    def __init__(self, database: Database) -> None:
        self._database = database

    # Projects

    async def project_of(self, user_id: str, project_id: str) -> tuple[Project, Role] | None:
        row = await self._database.look_up(_PROJECT_OF_MEMBER, project_id=project_id, user_id=user_id)
        return (project_from(row[:-1]), Role(row[-1])) if row else None

    async def projects_of(
        self, user_id: str, after: tuple[str, str] | None, limit: int
    ) -> list[ProjectSummary]:
        last = _values(_PROJECT_KEY, after or _FIRST_PROJECT)
        rows = await self._database.rows(_PROJECTS, user_id=user_id, limit=limit, **last)
        return [_summary(row) for row in rows]

    async def summary_of(self, user_id: str, project_id: str) -> ProjectSummary | None:
        rows = await self._database.rows(_SUMMARY, user_id=user_id, project_id=project_id)
        return _summary(rows[0]) if rows else None

    async def days(self, project_ids: Collection[str], since_day: int) -> dict[str, list[DayOfUploads]]:
        rows = await self._database.rows(_DAYS, project_ids=list(project_ids), since_day=since_day)
        found: dict[str, list[DayOfUploads]] = {}
        for project_id, day, uploads, size in rows:
            found.setdefault(project_id, []).append(DayOfUploads(day, uploads, size))
        return found

    async def would_expire(
        self, project_id: str, policy: Policy, retain_days: int | None, now: int
    ) -> tuple[int, int]:
        any_due = sa.or_(sa.false(), *(rule.condition for rule in due_in(policy, retain_days, now)))
        query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(images.c.size), 0)).where(
            images.c.project_id == project_id, ACTIVE, any_due
        )
        number, size = await self._database.first(query)
        return number, size

    # Pull requests

    async def pulls(
        self,
        project_id: str,
        *,
        closed: bool | None,
        search: str,
        before: tuple[int, int] | None,
        limit: int,
    ) -> list[PullRequestRecord]:
        query = _IN_STATE[closed]
        if search:
            query = query.where(_found_by(search, project_id))
        last = _values(_PULL_KEY, before or _FIRST_PULL)
        rows = await self._database.rows(query, project_id=project_id, limit=limit, **last)
        return [PullRequestRecord(*row) for row in rows]

    async def pull(self, project_id: str, pr_number: int) -> PullRequestRecord | None:
        query = sa.select(*PULL).where(*equal(pulls, project_id=project_id, pr_number=pr_number))
        row = await self._database.first(query)
        return PullRequestRecord(*row) if row else None

    async def biggest_pulls(self, project_id: str, limit: int) -> list[PullRequestRecord]:
        query = (
            sa.select(*PULL)
            .where(
                pulls.c.project_id == project_id,
                pulls.c.bytes > 0,
                pulls.c.pr_number > NO_PULL_REQUEST,
            )
            .order_by(pulls.c.bytes.desc(), pulls.c.pr_number.desc())
            .limit(limit)
        )
        return [PullRequestRecord(*row) for row in await self._database.rows(query)]

    # Images

    async def shots(self, project_id: str, pr_number: int, after: ShotKey | None, limit: int) -> list[Shot]:
        of_pr = {"project_id": project_id, "pr_number": pr_number, "limit": limit}
        last = _values(SHOT, after or _FIRST_SHOT)
        return [_shot(row) for row in await self._database.rows(_SHOTS, **of_pr, **last)]

    async def images_of_shot(
        self, project_id: str, pr_number: int, shot: ShotKey, before: int, limit: int
    ) -> list[Image]:
        query = (
            sa.select(*IMAGE)
            .where(
                *equal(images, project_id=project_id, pr_number=pr_number, **shot._asdict()),
                images.c.seq < before,
                ACTIVE,
            )
            .order_by(images.c.seq.desc())
            .limit(limit)
        )
        return [Image(*row) for row in await self._database.rows(query)]

    async def images(self, project_id: str, image_ids: Collection[str]) -> list[Image]:
        query = sa.select(*IMAGE).where(images.c.id.in_(image_ids), images.c.project_id == project_id, ACTIVE)
        return [Image(*row) for row in await self._database.rows(query)]

    # Tokens

    async def tokens(self, project_id: str, before: tuple[int, str] | None, limit: int) -> list[UploadToken]:
        query = (
            sa.select(*TOKEN)
            .where(tokens.c.project_id == project_id, LONG_LIVED)
            .order_by(tokens.c.created_at.desc(), tokens.c.id.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(sa.tuple_(tokens.c.created_at, tokens.c.id) < sa.tuple_(*before))
        return [UploadToken(*row) for row in await self._database.rows(query)]

    async def tokens_of_member(
        self, organization_id: str, user_id: str, now: int, limit: int
    ) -> list[tuple[UploadToken, str]]:
        query = (
            sa.select(*TOKEN, projects.c.name)
            .select_from(tokens.join(projects))
            .where(projects.c.organization_id == organization_id, tokens.c.creator_id == user_id)
            .where(LONG_LIVED, tokens.c.revoked_at.is_(None))
            .where(sa.func.coalesce(tokens.c.expires_at, now + 1) > now)
            .order_by(tokens.c.created_at, tokens.c.id)
            .limit(limit)
        )
        return [(UploadToken(*row[:-1]), row[-1]) for row in await self._database.rows(query)]


def _shot(row: Any) -> Shot:  # noqa: ANN401 - a row of `shots`
    *columns, commits, since = row
    newest = Image(*columns)
    return Shot(newest, commits, since if since != newest.commit_sha else None)


def _summary(row: Any) -> ProjectSummary:  # noqa: ANN401 - a row of `_summaries`
    *project, role, count, size, open_pulls, last_upload_at = row
    return ProjectSummary(project_from(project), Role(role), count, size, open_pulls, last_upload_at)


def _found_by(search: str, project_id: str) -> sa.ColumnElement[bool]:
    text = _LIKE_SPECIAL.sub(r"\\\1", search)
    # A scalar subquery: for EXISTS, PostgreSQL may scan the images of all projects.
    named = (
        sa.select(images.c.seq)
        .where(
            images.c.project_id == project_id,
            images.c.pr_number == pulls.c.pr_number,
            images.c.name.ilike(f"%{text}%", escape="\\"),
        )
        .limit(1)
        .scalar_subquery()
    )
    return sa.or_(
        sa.cast(pulls.c.pr_number, sa.String).like(f"{text.removeprefix('#')}%", escape="\\"),
        pulls.c.last_commit.ilike(f"{text}%", escape="\\"),
        (pulls.c.last_upload_at >= _searched_since(project_id)) & named.is_not(None),
    )


def _searched_since(project_id: str) -> sa.ColumnElement[int]:
    """Return the last upload time of the oldest pull request that is searched for names."""
    newest = pulls.alias()
    oldest = (
        sa.select(newest.c.last_upload_at)
        .where(newest.c.project_id == project_id)
        .order_by(newest.c.last_upload_at.desc())
        .offset(NAMES_SEARCHED - 1)
        .limit(1)
    )
    return sa.func.coalesce(oldest.scalar_subquery(), 0)
