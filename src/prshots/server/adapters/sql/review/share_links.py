"""Share links of pull requests."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import PROJECT, PROJECTS, equal, project_from
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_project, lock_pull
from prshots.server.adapters.sql.database.schema import projects, pulls, share_links
from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.review.models import SharedPull, ShareLink

_LINK = [share_links.c[field.name] for field in fields(ShareLink)]
_ACTIVE = (share_links.c.ended_at.is_(None), share_links.c.expires_at > sa.bindparam("now"))
_IS_OF_PULL = sa.and_(
    share_links.c.project_id == pulls.c.project_id, share_links.c.pr_number == pulls.c.pr_number
)
# A link of a closed pull request has ended. This checks it again.
_FIND = Prepared(
    sa.select(*PROJECT, pulls.c.pr_number, pulls.c.title, share_links.c.expires_at)
    .select_from(
        share_links.join(pulls, _IS_OF_PULL).join(PROJECTS, projects.c.id == share_links.c.project_id)
    )
    .where(share_links.c.sha256 == sa.bindparam("sha256"), *_ACTIVE, pulls.c.closed_at.is_(None))
)


class SqlShareLinks:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, link: ShareLink, most: int) -> None:
        of_pull: dict[str, Any] = {"project_id": link.project_id, "pr_number": link.pr_number}
        closed_at = sa.select(pulls.c.closed_at).where(*equal(pulls, **of_pull))
        active = sa.select(sa.func.count()).where(*equal(share_links, **of_pull), *_ACTIVE)

        def add(connection: sa.Connection) -> None:
            # With the locks, the project isn't deleted meanwhile, and the pull request neither closed nor
            # given another link.
            lock_project(connection, link.project_id)
            if not lock_pull(connection, link.project_id, link.pr_number):
                raise NotFoundError("not found")
            if connection.execute(closed_at).scalar() is not None:
                raise ConflictError("the pull request is closed: a share link works only while it is open")
            if connection.execute(active, {"now": link.created_at}).scalar_one() >= most:
                raise ConflictError(f"{most} share links of this pull request are active: revoke one first")
            connection.execute(sa.insert(share_links).values(asdict(link)))
            details = {"id": link.id, "days": (link.expires_at - link.created_at) // SECONDS_PER_DAY}
            record(connection, Action.SHARE_LINK_CREATED, **of_pull, details=details)

        await self._database.write(add)

    async def of_pull(self, project_id: str, pr_number: int, now: int, limit: int) -> list[ShareLink]:
        active_first = sa.case((sa.and_(*_ACTIVE), 0), else_=1)
        query = (
            sa.select(*_LINK)
            .where(*equal(share_links, project_id=project_id, pr_number=pr_number))
            .order_by(active_first, share_links.c.created_at.desc(), share_links.c.id)
            .limit(limit)
        )
        return [ShareLink(*row) for row in await self._database.rows(query, now=now)]

    async def find(self, sha256: str, now: int) -> SharedPull | None:
        row = await self._database.look_up(_FIND, sha256=sha256, now=now)
        return SharedPull(project_from(row[:-3]), *row[-3:]) if row else None

    async def revoke(self, project_id: str, pr_number: int, link_id: str, revoked_by: str, now: int) -> bool:
        this = equal(share_links, project_id=project_id, pr_number=pr_number, id=link_id)
        return await self._database.write(
            lambda connection: revoke_share_links(connection, this, revoked_by, now) > 0
        )

    async def discard_old(self, until: int, now: int, limit: int) -> int:
        closed = sa.select(share_links.c.id).select_from(share_links.join(pulls, _IS_OF_PULL))
        closed = closed.where(*_ACTIVE, pulls.c.closed_at.is_not(None))
        closed = closed.with_for_update(skip_locked=True, of=share_links)
        ending = sa.update(share_links).where(share_links.c.id.in_(closed)).values(ended_at=now)
        over_at = sa.func.coalesce(share_links.c.ended_at, share_links.c.expires_at)
        old = sa.select(share_links.c.id).where(over_at <= until).limit(limit)

        def discard(connection: sa.Connection) -> int:
            connection.execute(ending, {"now": now})
            return connection.execute(sa.delete(share_links).where(share_links.c.id.in_(old))).rowcount

        return await self._database.write(discard)


def revoke_share_links(
    connection: sa.Connection, which: Sequence[sa.ColumnElement[bool]], revoked_by: str, now: int
) -> int:
    """Revoke such links that are active. Return how many."""
    revoking = sa.update(share_links).where(*which, *_ACTIVE).values(ended_at=now, ended_by=revoked_by)
    columns = (share_links.c.id, share_links.c.project_id, share_links.c.pr_number)
    revoked = connection.execute(revoking.returning(*columns), {"now": now}).all()
    for link_id, project_id, pr_number in revoked:
        about = {"project_id": project_id, "pr_number": pr_number}
        record(connection, Action.SHARE_LINK_REVOKED, **about, details={"id": link_id})
    return len(revoked)


def end_share_links(connection: sa.Connection, project_id: str, pr_number: int, now: int) -> None:
    """End the links of a pull request for good. The caller has locked it."""
    active = [*equal(share_links, project_id=project_id, pr_number=pr_number), *_ACTIVE]
    connection.execute(sa.update(share_links).where(*active).values(ended_at=now), {"now": now})
