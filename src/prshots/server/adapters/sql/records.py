"""The records in SQLite or PostgreSQL, with the same SQL for both."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import TypeVar

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy import delete as delete_from

from prshots.contract.errors import NotFoundError, UnauthorizedError
from prshots.server.adapters.sql.arriving_images import ArrivingImages
from prshots.server.adapters.sql.baseline_rows import forget_images
from prshots.server.adapters.sql.columns import (
    ACTIVE,
    ACTIVE_OF_PR,
    IMAGE,
    LONG_LIVED,
    PROJECT,
    PROJECTS,
    SCHEDULED,
    TOKEN,
    conflict_as,
    driver_rows,
    newest_of_pr,
    project_from,
    project_gone_as,
)
from prshots.server.adapters.sql.comparison_rows import remove_comparisons
from prshots.server.adapters.sql.database import Database
from prshots.server.adapters.sql.due import due_in, projects_with_due, some_due
from prshots.server.adapters.sql.listed_images import ListedImages
from prshots.server.adapters.sql.marks import schedule_images, scheduling
from prshots.server.adapters.sql.row_locks import lock_project, lock_pull, lock_pulls_of
from prshots.server.adapters.sql.schema import (
    baseline_commits,
    baselines,
    compared_shots,
    comparisons,
    images,
    installation,
    pair_results,
    project_totals,
    projects,
    pulls,
    put_urls,
    staged,
    tokens,
    trusts,
    uploads_by_day,
)
from prshots.server.adapters.sql.totals import count_closed, count_removed
from prshots.server.adapters.sql.trusts import remove_trusts
from prshots.server.domain.models import Image, ListedImage, Project, ThumbnailState, UploadToken

T = TypeVar("T")

# Queries of every request are built once, because building them costs more than running them.
_PROJECT_OF_TOKEN = (
    select(*TOKEN, *PROJECT)
    .select_from(tokens.join(PROJECTS))
    .where(tokens.c.sha256 == bindparam("sha256"), tokens.c.revoked_at.is_(None))
)
_IMAGE_OF_PROJECT = select(*IMAGE).where(
    images.c.id == bindparam("image_id"), images.c.project_id == bindparam("project_id")
)
_COUNT_OF_PR = select(func.count()).select_from(images).where(*ACTIVE_OF_PR)
_SEQS_OF_SHOTS = (
    select(func.max(images.c.seq))
    .where(*ACTIVE_OF_PR)
    .group_by(images.c.name, images.c.viewport, images.c.theme)
    .limit(bindparam("limit"))
)
# The project says it again, here and below: if the table is partitioned, only its partition is read.
_NEWEST_OF_SHOTS = select(*IMAGE).where(
    images.c.project_id == bindparam("project_id"), images.c.seq.in_(_SEQS_OF_SHOTS)
)
_COMMITS_OF_PR = select(func.count(func.lower(images.c.commit_sha).distinct())).where(*ACTIVE_OF_PR)
_CLOSED_PULL = select(pulls.c.closed_at).where(
    pulls.c.project_id == bindparam("project_id"),
    pulls.c.pr_number == bindparam("pr_number"),
    pulls.c.closed_at.is_not(None),
)
_GIVEN_IDS = images.c.id.in_(bindparam("image_ids", expanding=True))
_SCHEDULE = scheduling(_GIVEN_IDS)
_MARK = scheduling(
    images.c.project_id == bindparam("of_project"), images.c.seq.in_(bindparam("seqs", expanding=True))
)
_REMOVE = (
    delete_from(images).where(_GIVEN_IDS).returning(images.c.project_id, images.c.pr_number, images.c.size)
)


class SqlRecords:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._arriving = ArrivingImages(database, self.known_ids)
        self._listed = ListedImages()

    async def check(self) -> None:
        await self._database.check()

    async def close(self) -> None:
        await self._arriving.close()
        await self._database.close()

    # Images

    async def add_image(self, image: Image, branch: str = "", before: Image | None = None) -> None:
        with project_gone_as(UnauthorizedError("unauthorized")):  # its tokens are gone too
            await self._arriving.add(image, branch, before)

    async def image(self, project_id: str, image_id: str) -> Image | None:
        row = await self._database.look_up(_IMAGE_OF_PROJECT, image_id=image_id, project_id=project_id)
        return Image(*row) if row else None

    async def befores(self, before_ids: Collection[str]) -> list[Image]:
        query = select(*IMAGE).where(images.c.id.in_(before_ids))
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [Image(*row) for row in rows]

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> tuple[int, list[Image]]:
        return await self._counted_of_pr(newest_of_pr, project_id, pr_number, newest)

    async def listed_of_pr(
        self, project_id: str, pr_number: int, newest: int
    ) -> tuple[int, list[ListedImage]]:
        return await self._counted_of_pr(self._listed.newest_of_pr, project_id, pr_number, newest)

    async def _counted_of_pr(
        self,
        read_newest: Callable[[Connection, str, int, int], list[T]],
        project_id: str,
        pr_number: int,
        newest: int,
    ) -> tuple[int, list[T]]:
        """Return how many images there are, and the newest in upload order."""

        def both(connection: Connection) -> tuple[int, list[T]]:
            found = read_newest(connection, project_id, pr_number, newest)
            of_pr = {"project_id": project_id, "pr_number": pr_number}
            cut_off = len(found) == newest
            count = connection.execute(_COUNT_OF_PR, of_pr).scalar_one() if cut_off else len(found)
            return count, found[::-1]

        return await self._database.read(both)

    async def newest_of_shots(self, project_id: str, pr_number: int, limit: int) -> tuple[list[Image], int]:
        of_pr = {"project_id": project_id, "pr_number": pr_number}

        def both(connection: Connection) -> tuple[list[Image], int]:
            rows = driver_rows(connection, _NEWEST_OF_SHOTS, of_pr | {"limit": limit})
            return list(map(Image._make, rows)), connection.execute(_COMMITS_OF_PR, of_pr).scalar_one()

        return await self._database.read(both)

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        marks: dict[str, object] = {"image_ids": list(image_ids), "now": now}
        await self._database.write(lambda connection: schedule_images(connection, _SCHEDULE, marks))

    async def close_pr(self, project_id: str, pr_number: int, now: int, *, schedule: bool) -> int:
        of_pr = (images.c.project_id == project_id, images.c.pr_number == pr_number)
        closing = update(images).where(*of_pr, images.c.closed_at.is_(None)).values(closed_at=now)
        marking = scheduling(*of_pr)

        def mark(connection: Connection) -> int:
            if not lock_pull(connection, project_id, pr_number):
                return 0
            marked = connection.execute(closing).rowcount
            if schedule:
                schedule_images(connection, marking, {"now": now})
                remove_comparisons(connection, project_id, pr_number)
            count_closed(connection, project_id, pr_number, now)
            return marked

        return await self._database.write(mark)

    async def is_closed(self, project_id: str, pr_number: int) -> bool:
        row = await self._database.look_up(_CLOSED_PULL, project_id=project_id, pr_number=pr_number)
        return row is not None

    async def scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        query = select(*IMAGE).where(SCHEDULED, images.c.id > after).order_by(images.c.id).limit(limit)
        if project_id is not None:
            query = query.where(images.c.project_id == project_id)
        if pr_number is not None:
            query = query.where(images.c.pr_number == pr_number)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [Image(*row) for row in rows]

    async def schedule_due(self, now: int, limit: int) -> int:
        with_due = await self._database.read(lambda connection: projects_with_due(connection, now))

        def mark(connection: Connection) -> int:
            marked = 0
            for project_id, policy, retain_days in with_due:
                for rule in due_in(policy, retain_days, now):
                    if marked < limit:
                        due = some_due(connection, project_id, rule, limit - marked)
                        marked += _mark(connection, project_id, due, now)
            return marked

        return await self._database.write(mark) if with_due else 0

    async def remove_images(self, image_ids: Collection[str]) -> int:
        def remove(connection: Connection) -> int:
            lock_pulls_of(connection, image_ids)
            removed = connection.execute(_REMOVE, {"image_ids": list(image_ids)}).all()
            forget_images(connection, image_ids)
            return count_removed(connection, removed)

        return await self._database.write(remove)

    async def set_thumbnail(self, image_id: str, state: ThumbnailState) -> bool:
        noting = update(images).where(images.c.id == image_id, ACTIVE).values(thumbnail=state)
        return await self._database.write(lambda connection: connection.execute(noting).rowcount > 0)

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        query = select(images.c.id).where(images.c.id.in_(image_ids))
        return set(await self._database.read(lambda connection: connection.execute(query).scalars().all()))

    async def installation_id(self) -> str:
        query = select(installation.c.id)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one())

    async def count_signed_with(self, kid: str) -> int:
        query = select(func.count()).select_from(images).where(images.c.kid == kid)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one())

    async def describe_pull(
        self, project_id: str, pr_number: int, *, title: str, source_branch: str, author: str, path: str
    ) -> bool:
        told = {"title": title, "source_branch": source_branch, "author": author, "path": path}
        # Always writes something, or a missing pull request would not be noticed.
        values = {"pr_number": pr_number} | {name: text for name, text in told.items() if text}
        describing = (
            update(pulls)
            .where(pulls.c.project_id == project_id, pulls.c.pr_number == pr_number)
            .values(values)
        )
        return await self._database.write(lambda connection: connection.execute(describing).rowcount > 0)

    # Projects and tokens

    async def set_repository(self, project_id: str, repository: str) -> None:
        setting = (
            update(projects)
            .where(projects.c.id == project_id, projects.c.repository == "")
            .values(repository=repository)
        )
        await self._database.write(lambda connection: connection.execute(setting))

    async def add_project(self, project: Project) -> None:
        row = {key: value for key, value in asdict(project).items() if key != "organization"}
        adding = insert(projects).values(**row)
        with conflict_as(_name_taken(project)):
            await self._database.write(lambda connection: connection.execute(adding))

    async def project(self, name: str, organization_id: str) -> Project | None:
        query = (
            select(*PROJECT)
            .select_from(PROJECTS)
            .where(projects.c.name == name, projects.c.organization_id == organization_id)
        )
        row = await self._database.read(lambda connection: connection.execute(query).first())
        return project_from(row) if row else None

    async def projects(self) -> list[Project]:
        query = select(*PROJECT).select_from(PROJECTS).order_by(projects.c.name, projects.c.id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [project_from(row) for row in rows]

    async def change_project(self, project: Project) -> None:
        changing = (
            update(projects)
            .where(projects.c.id == project.id)
            .values(
                name=project.name,
                policy=project.policy,
                retain_days=project.retain_days,
                keep_baselines=project.keep_baselines,
                repository=project.repository,
                uploads_per_minute=project.uploads_per_minute,
            )
        )
        with conflict_as(_name_taken(project)):
            await self._database.write(lambda connection: connection.execute(changing))

    async def retire_project(self, project_id: str, now: int, limit: int) -> int:
        mine = images.c.project_id == project_id
        revoking = (
            update(tokens)
            .where(tokens.c.project_id == project_id, tokens.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )
        some = (
            select(images.c.seq)
            .where(mine, ACTIVE)
            .order_by(images.c.pr_number, images.c.seq)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        total = select(project_totals.c.images).where(project_totals.c.project_id == project_id)

        def retire(connection: Connection) -> int:
            remove_trusts(connection, trusts.c.project_id == project_id)
            connection.execute(revoking)
            _mark(connection, project_id, connection.execute(some).scalars().all(), now)
            if not _has_images(connection, project_id):
                return 0
            return connection.execute(total).scalar() or 1

        return await self._database.write(retire)

    async def remove_project(self, project_id: str) -> bool:
        def remove(connection: Connection) -> bool:
            lock_project(connection, project_id)
            if _has_images(connection, project_id):
                return False
            for table in (
                tokens,
                trusts,
                pulls,
                uploads_by_day,
                project_totals,
                baselines,
                baseline_commits,
                comparisons,
                compared_shots,
                pair_results,
                staged,
                put_urls,
            ):
                connection.execute(delete_from(table).where(table.c.project_id == project_id))
            connection.execute(delete_from(projects).where(projects.c.id == project_id))
            return True

        return await self._database.write(remove)

    async def add_token(self, token: UploadToken) -> None:
        adding = insert(tokens).values(asdict(token))
        with project_gone_as(NotFoundError("not found")):
            await self._database.write(lambda connection: connection.execute(adding))

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        row = await self._database.look_up(_PROJECT_OF_TOKEN, sha256=sha256)
        return (UploadToken(*row[: len(TOKEN)]), project_from(row[len(TOKEN) :])) if row else None

    async def tokens(self, project_id: str) -> list[UploadToken]:
        query = (
            select(*TOKEN)
            .where(tokens.c.project_id == project_id, LONG_LIVED)
            .order_by(tokens.c.created_at, tokens.c.id)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [UploadToken(*row) for row in rows]

    async def revoke_token(self, token_id: str, now: int, project_id: str | None = None) -> bool:
        first = func.coalesce(tokens.c.revoked_at, now)
        revoking = update(tokens).where(tokens.c.id == token_id).values(revoked_at=first)
        if project_id is not None:
            revoking = revoking.where(tokens.c.project_id == project_id)
        return await self._database.write(lambda connection: connection.execute(revoking).rowcount > 0)

    async def touch_token(self, token_id: str, now: int) -> None:
        touching = update(tokens).where(tokens.c.id == token_id).values(last_used_at=now)
        await self._database.write(lambda connection: connection.execute(touching))

    async def discard_expired_tokens(self, now: int, limit: int) -> int:
        some = (
            select(tokens.c.id)
            .where(tokens.c.expires_at <= now)
            .order_by(tokens.c.expires_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )

        def discard(connection: Connection) -> int:
            ids = connection.execute(some).scalars().all()
            return connection.execute(delete_from(tokens).where(tokens.c.id.in_(ids))).rowcount if ids else 0

        return await self._database.write(discard)


def _name_taken(project: Project) -> str:
    return f"project {project.name!r} already exists"


def _has_images(connection: Connection, project_id: str) -> bool:
    # Ordered like an index, or PostgreSQL might read the whole table for a project without images.
    one = select(images.c.seq).where(images.c.project_id == project_id).order_by(images.c.pr_number).limit(1)
    return connection.execute(one).first() is not None


def _mark(connection: Connection, project_id: str, seqs: Sequence[int], now: int) -> int:
    marks: dict[str, object] = {"of_project": project_id, "seqs": seqs, "now": now}
    return schedule_images(connection, _MARK, marks) if seqs else 0
