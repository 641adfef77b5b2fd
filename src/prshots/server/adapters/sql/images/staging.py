"""Staged images: they wait for the pull request of a branch, or expire.

The code locks rows in the order that `row_locks.py` describes; rows of `staged` come after images.
"""

import sqlalchemy as sa

from prshots.contract.errors import UnauthorizedError
from prshots.server.adapters.sql.columns import ACTIVE, IMAGE, equal, project_gone_as
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import images, staged
from prshots.server.adapters.sql.images.arriving_images import keep_replies
from prshots.server.adapters.sql.images.due import schedule_images
from prshots.server.adapters.sql.images.totals import add_images, count_moved
from prshots.server.domain.images.models import NO_PULL_REQUEST, BranchPlace, Image, KeptReply, StagedImage
from prshots.server.domain.storage.models import Limits

_WITH_IMAGE = staged.join(
    images, sa.and_(images.c.id == staged.c.image_id, images.c.project_id == staged.c.project_id)
)
# A condition on the image, not on the staged row: PostgreSQL only rechecks the row that it waited for.
_WAITS = ACTIVE & (images.c.kind == "staged")
_EXPIRED = (
    sa.select(images.c.seq)
    .select_from(_WITH_IMAGE)
    .where(staged.c.expires_at <= sa.bindparam("now"), _WAITS)
    .order_by(staged.c.expires_at)
    .limit(sa.bindparam("most"))
    .with_for_update(skip_locked=True, of=images)
)


class SqlStaged:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, staged: StagedImage, kept: KeptReply | None = None, limits: Limits = ()) -> bool:
        def write(connection: sa.Connection) -> bool:
            if kept and keep_replies(connection, [kept]):
                return False
            add_staged(connection, staged, limits)
            return True

        with project_gone_as(UnauthorizedError("unauthorized")):
            return await self._database.write(write)

    async def find(
        self,
        project_id: str,
        now: int,
        *,
        branch: str | None = None,
        repository: str | None = None,
        before: int | None = None,
        limit: int,
    ) -> list[StagedImage]:
        query = (
            sa.select(staged.c.branch, staged.c.repository, staged.c.expires_at, *IMAGE)
            .select_from(_WITH_IMAGE)
            .where(*_wait_at(project_id, branch, now))
            .order_by(images.c.seq.desc())
            .limit(limit)
        )
        if repository is not None:
            query = query.where(_moves_to(repository))
        if before is not None:
            query = query.where(images.c.seq < before)

        def read(connection: sa.Connection) -> list[StagedImage]:
            found = [(Image(*row[3:]), BranchPlace(*row[:2]), row[2]) for row in connection.execute(query)]
            before_images = _before_images_of(connection, [image for image, _, _ in found])
            return [StagedImage(*each, before_images.get(each[0].before_id)) for each in found]

        return await self._database.read(read)

    async def count(self, project_id: str, branch: str, now: int) -> int:
        query = sa.select(sa.func.count()).select_from(_WITH_IMAGE).where(*_wait_at(project_id, branch, now))
        return await self._database.value(query)

    async def move(self, project_id: str, place: BranchPlace, pr_number: int, now: int, limit: int) -> int:
        query = (
            sa.select(*IMAGE)
            .select_from(_WITH_IMAGE)
            .where(*_wait_at(project_id, place.branch, now), _moves_to(place.repository))
            .order_by(images.c.seq)
            .limit(limit)
            .with_for_update(of=images)
        )

        def take(connection: sa.Connection) -> int:
            for number in (NO_PULL_REQUEST, pr_number):
                lock_pull(connection, project_id, number)
            moving = [Image(*row) for row in connection.execute(query)]
            if moving:
                _give(connection, moving, pr_number, now)
            return len(moving)

        return await self._database.write(take)

    async def schedule_expired(self, now: int, limit: int) -> int:
        def schedule(connection: sa.Connection) -> int:
            seqs = connection.execute(_EXPIRED, {"now": now, "most": limit}).scalars().all()
            return schedule_images(connection, now, images.c.seq.in_(seqs), _WAITS) if seqs else 0

        return await self._database.write(schedule)


def add_staged(connection: sa.Connection, staged_image: StagedImage, limits: Limits) -> None:
    image = staged_image.image
    arrived = [staged_image.before, image] if staged_image.before else [image]
    add_images(connection, arrived, {image.project_id: limits})
    connection.execute(
        sa.insert(staged).values(
            image_id=image.id,
            project_id=image.project_id,
            **staged_image.place._asdict(),
            expires_at=staged_image.expires_at,
        )
    )


def _give(connection: sa.Connection, moving: list[Image], pr_number: int, now: int) -> None:
    ids = [image.id for image in moving]
    to_pull = sa.update(images).values(pr_number=pr_number, kind="pull_request")
    connection.execute(to_pull.where(images.c.id.in_(ids), _WAITS))
    connection.execute(sa.delete(staged).where(staged.c.image_id.in_(ids)))
    of_pull = equal(images, project_id=moving[0].project_id, pr_number=pr_number)
    newest = sa.select(images.c.commit_sha).where(*of_pull).order_by(images.c.seq.desc()).limit(1)
    count_moved(connection, moving, pr_number, connection.execute(newest).scalar_one(), now)


def _before_images_of(connection: sa.Connection, afters: list[Image]) -> dict[str | None, Image]:
    ids = [image.before_id for image in afters if image.before_id]
    query = sa.select(*IMAGE).where(images.c.id.in_(ids))
    return {row.id: Image(*row) for row in connection.execute(query)} if ids else {}


def _wait_at(project_id: str, branch: str | None, now: int) -> list[sa.ColumnElement[bool]]:
    of_branch = [] if branch is None else [staged.c.branch == branch]
    return [staged.c.project_id == project_id, *of_branch, staged.c.expires_at > now, _WAITS]


def _moves_to(repository: str) -> sa.ColumnElement[bool]:
    return staged.c.repository.in_({"", repository})
