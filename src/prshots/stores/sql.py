"""The records in an SQL database: one SQL text for every engine."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, func, insert, or_, select, update
from sqlalchemy import delete as delete_from
from sqlalchemy.exc import IntegrityError

from prshots.errors import ConflictError, RecordsError
from prshots.models import Image, Policy, Project, UploadToken
from prshots.stores.engine import Database
from prshots.stores.schema import images, installation, organizations, projects, tokens

SECONDS_PER_DAY = 86_400

_IMAGE = [images.c[field.name] for field in fields(Image)]
_TOKEN = [tokens.c[field.name] for field in fields(UploadToken)]
_PROJECT = [
    projects.c.id,
    projects.c.name,
    organizations.c.name.label("organization"),
    projects.c.policy,
    projects.c.retain_days,
    projects.c.created_at,
]
_PROJECTS = projects.join(organizations)
_SCHEDULED = images.c.scheduled_at.is_not(None)
_WAITING = images.c.scheduled_at.is_(None)


# What every request asks for is built once: building costs more than asking.
_PROJECT_OF_TOKEN = (
    select(*_TOKEN, *_PROJECT)
    .select_from(tokens.join(_PROJECTS))
    .where(tokens.c.sha256 == bindparam("sha256"), tokens.c.revoked_at.is_(None))
)
_IMAGE_OF_PROJECT = select(*_IMAGE).where(
    images.c.id == bindparam("image_id"), images.c.project_id == bindparam("project_id")
)
_ACTIVE_OF_PR = (
    images.c.project_id == bindparam("project_id"),
    images.c.pr_number == bindparam("pr_number"),
    _WAITING,
)
_COUNT_OF_PR = select(func.count()).select_from(images).where(*_ACTIVE_OF_PR)
_NEWEST_OF_PR = select(*_IMAGE).where(*_ACTIVE_OF_PR).order_by(images.c.seq.desc()).limit(bindparam("newest"))
_ADD_IMAGES = insert(images)
_GIVEN_IDS = images.c.id.in_(bindparam("image_ids", expanding=True))
_SCHEDULE = update(images).where(_GIVEN_IDS, _WAITING).values(scheduled_at=bindparam("now"))
_REMOVE = delete_from(images).where(_GIVEN_IDS)


class SqlRecords:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._arriving: list[tuple[Image, asyncio.Future[None]]] = []
        self._committing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._committing:
            await self._committing
        await self._database.close()

    # Images

    async def add_image(self, image: Image) -> None:
        """Commit together what arrives while a commit is under way: one fsync then serves many uploads."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arriving.append((image, done))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_arriving())
        await done

    async def _commit_arriving(self) -> None:
        try:
            while self._arriving:
                batch, self._arriving = self._arriving, []
                await self._commit(batch)
        finally:
            self._committing = None

    async def _commit(self, batch: list[tuple[Image, asyncio.Future[None]]]) -> None:
        rows = [_image_row(image) for image, _ in batch]
        try:
            await self._database.write(lambda connection: connection.execute(_ADD_IMAGES, rows))
        except Exception as error:  # noqa: BLE001 - whatever it is, each waiting upload must hear of it
            if len(batch) > 1:  # one bad record must not take the others with it
                for alone in batch:
                    await self._commit([alone])
                return
            outcome: Exception | None = error
        else:
            outcome = None
        for _, done in batch:
            if done.cancelled():
                continue
            if outcome is None:
                done.set_result(None)
            else:
                done.set_exception(outcome)

    async def image(self, project_id: str, image_id: str) -> Image | None:
        row = self._database.look_up(_IMAGE_OF_PROJECT, image_id=image_id, project_id=project_id)
        return Image(*row) if row else None

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> tuple[int, list[Image]]:
        of_pr = {"project_id": project_id, "pr_number": pr_number}

        def both(connection: Connection) -> tuple[int, list[Image]]:
            found = [Image(*row) for row in connection.execute(_NEWEST_OF_PR, of_pr | {"newest": newest})]
            cut_off = len(found) == newest
            count = connection.execute(_COUNT_OF_PR, of_pr).scalar_one() if cut_off else len(found)
            return count, found[::-1]

        return await self._database.read(both)

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        marks = {"image_ids": list(image_ids), "now": now}
        await self._database.write(lambda connection: connection.execute(_SCHEDULE, marks))

    async def close_pr(self, project_id: str, pr_number: int, now: int, *, schedule: bool) -> int:
        of_pr = (images.c.project_id == project_id, images.c.pr_number == pr_number)
        closing = update(images).where(*of_pr, images.c.closed_at.is_(None)).values(closed_at=now)
        scheduling = update(images).where(*of_pr, _WAITING).values(scheduled_at=now)

        def mark(connection: Connection) -> int:
            marked = connection.execute(closing).rowcount
            if schedule:
                connection.execute(scheduling)
            return marked

        return await self._database.write(mark)

    async def scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        query = select(*_IMAGE).where(_SCHEDULED, images.c.id > after).order_by(images.c.id).limit(limit)
        if project_id is not None:
            query = query.where(images.c.project_id == project_id)
        if pr_number is not None:
            query = query.where(images.c.pr_number == pr_number)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [Image(*row) for row in rows]

    async def schedule_due(self, now: int, limit: int) -> int:
        with_policy = select(projects.c.id, projects.c.policy, projects.c.retain_days).where(
            or_(projects.c.retain_days.is_not(None), projects.c.policy == Policy.PR_CLOSE)
        )

        def mark(connection: Connection) -> int:
            marked = 0
            for project_id, policy, retain_days in connection.execute(with_policy).all():
                for due in _due_in(project_id, policy, retain_days, now):
                    if marked < limit:
                        some = select(images.c.seq).where(_WAITING, *due).limit(limit - marked)
                        marking = update(images).where(images.c.seq.in_(some)).values(scheduled_at=now)
                        marked += connection.execute(marking).rowcount
            return marked

        return await self._database.write(mark)

    async def remove_images(self, image_ids: Collection[str]) -> int:
        gone = {"image_ids": list(image_ids)}
        return await self._database.write(lambda connection: connection.execute(_REMOVE, gone).rowcount)

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        query = select(images.c.id).where(images.c.id.in_(image_ids))
        return set(await self._database.read(lambda connection: connection.execute(query).scalars().all()))

    async def installation_id(self) -> str:
        query = select(installation.c.id)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one())

    async def count_signed_with(self, kid: str) -> int:
        query = select(func.count()).select_from(images).where(images.c.kid == kid)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one())

    # Projects and tokens

    async def add_project(self, project: Project) -> None:
        organization = select(organizations.c.id).where(organizations.c.name == project.organization)
        row = {key: value for key, value in asdict(project).items() if key != "organization"}
        adding = insert(projects).values(organization_id=organization.scalar_subquery(), **row)
        try:
            await self._database.write(lambda connection: connection.execute(adding))
        except RecordsError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise ConflictError(f"there is a project {project.name!r} already") from error
            raise

    async def project(self, name: str, organization: str) -> Project | None:
        query = (
            select(*_PROJECT)
            .select_from(_PROJECTS)
            .where(projects.c.name == name, organizations.c.name == organization)
        )
        row = await self._database.read(lambda connection: connection.execute(query).first())
        return _project(row) if row else None

    async def projects(self) -> list[Project]:
        query = select(*_PROJECT).select_from(_PROJECTS).order_by(projects.c.name)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_project(row) for row in rows]

    async def set_policy(self, project_id: str, policy: Policy, retain_days: int | None) -> None:
        setting = (
            update(projects).where(projects.c.id == project_id).values(policy=policy, retain_days=retain_days)
        )
        await self._database.write(lambda connection: connection.execute(setting))

    async def add_token(self, token: UploadToken) -> None:
        adding = insert(tokens).values(asdict(token))
        await self._database.write(lambda connection: connection.execute(adding))

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        row = self._database.look_up(_PROJECT_OF_TOKEN, sha256=sha256)
        return (UploadToken(*row[: len(_TOKEN)]), _project(row[len(_TOKEN) :])) if row else None

    async def tokens(self, project_id: str) -> list[UploadToken]:
        query = (
            select(*_TOKEN)
            .where(tokens.c.project_id == project_id)
            .order_by(tokens.c.created_at, tokens.c.id)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [UploadToken(*row) for row in rows]

    async def revoke_token(self, token_id: str, now: int) -> bool:
        first = func.coalesce(tokens.c.revoked_at, now)
        revoking = update(tokens).where(tokens.c.id == token_id).values(revoked_at=first)
        return await self._database.write(lambda connection: connection.execute(revoking).rowcount > 0)

    async def touch_token(self, token_id: str, now: int) -> None:
        touching = update(tokens).where(tokens.c.id == token_id).values(last_used_at=now)
        await self._database.write(lambda connection: connection.execute(touching))


def _image_row(image: Image) -> dict[str, object]:
    return {
        "id": image.id,
        "project_id": image.project_id,
        "pr_number": image.pr_number,
        "name": image.name,
        "commit_sha": image.commit_sha,
        "viewport": image.viewport,
        "ext": image.ext,
        "size": image.size,
        "uploaded_at": image.uploaded_at,
        "kid": image.kid,
    }


def _project(row: Sequence[Any]) -> Project:
    identity, name, organization, policy, retain_days, created_at = row
    return Project(identity, name, organization, Policy(policy), retain_days, created_at)


def _due_in(
    project_id: str, policy: str, retain_days: int | None, now: int
) -> list[tuple[ColumnElement[bool], ...]]:
    due: list[tuple[ColumnElement[bool], ...]] = []
    mine = images.c.project_id == project_id
    if retain_days is not None:
        due.append((mine, images.c.uploaded_at <= now - retain_days * SECONDS_PER_DAY))
    if policy == Policy.PR_CLOSE:
        due.append((mine, images.c.closed_at.is_not(None)))
    return due
