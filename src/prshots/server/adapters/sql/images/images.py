"""Images in SQLite or PostgreSQL, with the same SQL for both."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, union, update
from sqlalchemy import delete as delete_from

from prshots.contract.errors import UnauthorizedError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import (
    ACTIVE,
    ACTIVE_OF_PR,
    IMAGE,
    LISTED_IMAGE,
    OF_PULL_REQUEST,
    SHOT,
    discard_oldest,
    equal,
    given,
    project_gone_as,
)
from prshots.server.adapters.sql.comparison.dependent_rows import forget_images, remove_comparisons
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_pull, lock_pulls_of
from prshots.server.adapters.sql.database.schema import baselines, images, pulls, staged, upload_keys
from prshots.server.adapters.sql.images.arriving_images import FIND_REPLY, ArrivingImages, keep_replies
from prshots.server.adapters.sql.images.due import (
    due_in,
    mark_some,
    projects_with_due,
    schedule_images,
    some_due,
)
from prshots.server.adapters.sql.images.references import add_references
from prshots.server.adapters.sql.images.totals import count_closed, count_removed
from prshots.server.adapters.sql.outbox.causes import mark_due, note_event
from prshots.server.adapters.sql.review.share_links import end_share_links
from prshots.server.bounded_cache import BoundedCache
from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import (
    Description,
    Image,
    KeptReply,
    ListedImage,
    ShotKey,
    ThumbnailState,
)
from prshots.server.domain.storage.models import Limits
from prshots.server.domain.webhooks.models import Event

REMEMBERED_IMAGES = 8192
"""A comment mostly lists the same images as the previous one. All of them take 6 MB."""

_UPLOADED_TO_PR = (*ACTIVE_OF_PR, images.c.source_id.is_(None))
_KEYS = Prepared(
    select(images.c.id, images.c.seq)
    .where(*_UPLOADED_TO_PR)
    .order_by(images.c.seq.desc())
    .limit(bindparam("newest"))
)
_SINCE = Prepared(select(*LISTED_IMAGE).where(*_UPLOADED_TO_PR, images.c.seq >= bindparam("since")))


class ListedImages:
    """Reads which images exist, and their details only from the oldest unknown image on.

    That is usually one of the latest uploads. Several threads may read at the same time.
    """

    def __init__(self) -> None:
        self._known: BoundedCache[str, ListedImage] = BoundedCache(REMEMBERED_IMAGES)

    def newest_of_pr(
        self, connection: Connection, project_id: str, pr_number: int, newest: int
    ) -> list[ListedImage]:
        """Return the newest uploads to a pull request, newest first."""
        of_pr = {"project_id": project_id, "pr_number": pr_number}
        keys = _KEYS.rows(connection, of_pr | {"newest": newest})
        found = {image_id: self._known.get(image_id) for image_id, _ in keys}
        unknown = [seq for image_id, seq in keys if found[image_id] is None]
        if unknown:
            rows = _SINCE.rows(connection, of_pr | {"since": unknown[-1]})
            read = {image.id: image for image in map(ListedImage._make, rows)}
            for one in read.values():
                self._known.put(one.id, one)
            found.update(read)
        listed = [image for image_id, _ in keys if (image := found[image_id])]
        if len(listed) < len(keys):  # an image was deleted after its key was read
            return self.newest_of_pr(connection, project_id, pr_number, newest)
        return listed


# Queries that every request runs are built once, because building them takes longer than running them.
_IMAGE_OF_PROJECT = Prepared(select(*IMAGE).where(*given(images, "id", "project_id")))
_NEWEST_OF_PR = Prepared(
    select(*IMAGE).where(*ACTIVE_OF_PR).order_by(images.c.seq.desc()).limit(bindparam("newest"))
)
_COUNT_UPLOADED = select(func.count()).select_from(images).where(*_UPLOADED_TO_PR)
_SEQS_OF_SHOTS = select(func.max(images.c.seq)).where(*ACTIVE_OF_PR).group_by(*SHOT).limit(bindparam("limit"))
# Here and below, repeating the project limits the read to its partition if the table is partitioned.
_NEWEST_OF_SHOTS = Prepared(
    select(*IMAGE).where(images.c.project_id == bindparam("project_id"), images.c.seq.in_(_SEQS_OF_SHOTS))
)
_COMMITS_OF_PR = select(func.count(func.lower(images.c.commit_sha).distinct())).where(*ACTIVE_OF_PR)
_CLOSED_PULL = Prepared(
    select(pulls.c.closed_at).where(*given(pulls, "project_id", "pr_number"), pulls.c.closed_at.is_not(None))
)


_COUNT_OF_PULLS = (
    select(images.c.pr_number, func.count().label("images"))
    .where(images.c.project_id == bindparam("project_id"), OF_PULL_REQUEST)
    .where(images.c.seq.in_(bindparam("seqs", expanding=True)))
    .group_by(images.c.pr_number)
)


def _note_expired(connection: Connection, project_id: str, seqs: Sequence[int]) -> None:
    """Record how many images of each pull request the retention expires."""
    found = connection.execute(_COUNT_OF_PULLS, {"project_id": project_id, "seqs": seqs}) if seqs else ()
    for pr_number, count in found:
        told = {"reason": "retention", "images": count}
        note_event(connection, Event.EXPIRED, project_id=project_id, pr_number=pr_number, cause=told)


class SqlImages:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._arriving = ArrivingImages(database, self.known_ids)
        self._listed = ListedImages()

    async def close(self) -> None:
        await self._arriving.close()
        await self._database.close()

    async def add_image(
        self,
        image: Image,
        branch: str = "",
        before: Image | None = None,
        kept: KeptReply | None = None,
        limits: Limits = (),
    ) -> bool:
        with project_gone_as(UnauthorizedError("unauthorized")):  # its tokens are gone as well
            return await self._arriving.add(image, branch, before, kept, limits)

    async def keep_reply(self, kept: KeptReply) -> None:
        await self._database.write(lambda connection: keep_replies(connection, [kept]))

    async def kept_reply(self, project_id: str, key: str, since: int) -> dict[str, str | int] | None:
        row = await self._database.look_up(FIND_REPLY, project_id=project_id, key=key)
        return json.loads(row[0]) if row and row[1] > since else None

    async def discard_kept_replies(self, until: int, limit: int) -> int:
        return await self._database.write(
            lambda connection: discard_oldest(connection, upload_keys, until, limit)
        )

    async def add_references(
        self,
        project_id: str,
        pr_number: int,
        commit_sha: str,
        shots: Sequence[tuple[ShotKey, str]],
        now: int,
    ) -> list[bool]:
        def add(connection: Connection) -> list[bool]:
            return add_references(connection, project_id, pr_number, commit_sha, shots, now=now)

        with project_gone_as(UnauthorizedError("unauthorized")):
            return await self._database.write(add)

    async def references_to(self, image_id: str) -> list[Image]:
        query = select(*IMAGE).where(images.c.source_id == image_id)
        return [Image(*row) for row in await self._database.rows(query)]

    async def image(self, project_id: str, image_id: str) -> Image | None:
        row = await self._database.look_up(_IMAGE_OF_PROJECT, id=image_id, project_id=project_id)
        return Image(*row) if row else None

    async def branches_of(self, image_id: str) -> set[str]:
        query = union(
            *(select(table.c.branch).where(table.c.image_id == image_id) for table in (baselines, staged))
        )
        return {row.branch for row in await self._database.rows(query)}

    async def before_images(self, before_ids: Collection[str]) -> list[Image]:
        query = select(*IMAGE).where(images.c.id.in_(before_ids))
        return [Image(*row) for row in await self._database.rows(query)]

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> list[Image]:
        of_pr = {"project_id": project_id, "pr_number": pr_number}
        return [Image(*row) for row in await self._database.rows(_NEWEST_OF_PR, **of_pr, newest=newest)][::-1]

    async def comment_entries(
        self, project_id: str, pr_number: int, newest: int
    ) -> tuple[int, list[ListedImage]]:
        def both(connection: Connection) -> tuple[int, list[ListedImage]]:
            found = self._listed.newest_of_pr(connection, project_id, pr_number, newest)
            of_pr = {"project_id": project_id, "pr_number": pr_number}
            cut_off = len(found) == newest
            count = connection.execute(_COUNT_UPLOADED, of_pr).scalar_one() if cut_off else len(found)
            return count, found[::-1]

        return await self._database.read(both)

    async def newest_of_shots(self, project_id: str, pr_number: int, limit: int) -> tuple[list[Image], int]:
        of_pr = {"project_id": project_id, "pr_number": pr_number}

        def both(connection: Connection) -> tuple[list[Image], int]:
            rows = _NEWEST_OF_SHOTS.rows(connection, of_pr | {"limit": limit})
            return list(map(Image._make, rows)), connection.execute(_COMMITS_OF_PR, of_pr).scalar_one()

        return await self._database.read(both)

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        these = images.c.id.in_(image_ids)
        active = select(*IMAGE).where(these, ACTIVE).order_by(images.c.seq).with_for_update()

        def mark(connection: Connection) -> None:
            for image in map(Image._make, connection.execute(active).all()):
                of_pull: dict[str, Any] = {"project_id": image.project_id, "pr_number": image.pr_number}
                details = {"image_id": image.id, "pr_number": image.pr_number, "commit_sha": image.commit_sha}
                details |= {"viewport": image.viewport, "theme": image.theme}
                if image.source_id:  # only a reference: its source stays
                    details["source_id"] = image.source_id
                record(connection, Action.IMAGE_DELETED, **of_pull, target=image.name, details=details)
            schedule_images(connection, now, these)

        await self._database.write(mark)

    async def close_pr(
        self, project_id: str, pr_number: int, now: int, *, schedule: bool, deleted_by: str = ""
    ) -> int:
        this: dict[str, Any] = {"project_id": project_id, "pr_number": pr_number}
        of_pr = equal(images, **this)
        closing = update(images).where(*of_pr, images.c.closed_at.is_(None)).values(closed_at=now)
        closing = closing.returning(images.c.source_id)
        deleting = update(pulls).where(*equal(pulls, **this)).values(deleted_at=now, deleted_by=deleted_by)

        def mark(connection: Connection) -> int:
            if not lock_pull(connection, project_id, pr_number):
                return 0
            expired = 0
            end_share_links(connection, project_id, pr_number, now)
            if schedule:
                expired = schedule_images(connection, now, *of_pr)
                remove_comparisons(connection, project_id, pr_number)
            if deleted_by:
                connection.execute(deleting)
                record(connection, Action.PULL_REQUEST_DELETED, **this)
                told = {"reason": "deleted", "by": deleted_by, "images": expired}
                note_event(connection, Event.EXPIRED, **this, cause=told)
                mark_due(connection, **this, now=now, has_gate=False)
                return 0
            marked = connection.execute(closing).scalars().all()
            if count_closed(connection, project_id, pr_number, now):
                record(connection, Action.PULL_REQUEST_CLOSED, **this, details={"images": marked.count(None)})
                note_event(connection, Event.EXPIRED, **this, cause={"reason": "closed", "images": expired})
                mark_due(connection, **this, now=now, has_gate=False)
            return len(marked)

        return await self._database.write(mark)

    async def is_closed(self, project_id: str, pr_number: int) -> bool:
        row = await self._database.look_up(_CLOSED_PULL, project_id=project_id, pr_number=pr_number)
        return row is not None

    async def next_scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        query = select(*IMAGE).where(~ACTIVE, images.c.id > after).order_by(images.c.id).limit(limit)
        if project_id is not None:
            query = query.where(images.c.project_id == project_id)
        if pr_number is not None:
            query = query.where(images.c.pr_number == pr_number)
        return [Image(*row) for row in await self._database.rows(query)]

    async def schedule_due(self, now: int, limit: int) -> int:
        with_due = await self._database.read(lambda connection: projects_with_due(connection, now))

        def mark(connection: Connection) -> int:
            marked = 0
            for project_id, policy, retain_days in with_due:
                for rule in due_in(policy, retain_days, now):
                    if marked < limit:
                        due = some_due(connection, project_id, rule, limit - marked)
                        _note_expired(connection, project_id, due)
                        marked += mark_some(connection, project_id, due, now)
            return marked

        return await self._database.write(mark) if with_due else 0

    async def remove_images(self, image_ids: Collection[str], recorded_as: Action | None = None) -> int:
        columns = (images.c.project_id, images.c.pr_number, images.c.kind, images.c.size, images.c.source_id)
        removing = delete_from(images).where(images.c.id.in_(image_ids)).returning(*columns)

        def remove(connection: Connection) -> int:
            lock_pulls_of(connection, image_ids)
            removed = connection.execute(removing).all()
            forget_images(connection, image_ids)
            if recorded_as and (deleted := [row for row in removed if row.source_id is None]):
                record(connection, recorded_as, details={"images": len(deleted)})
            return count_removed(connection, [row[:4] for row in removed])

        return await self._database.write(remove)

    async def set_thumbnail(self, image_id: str, state: ThumbnailState) -> bool:
        noting = update(images).where(images.c.id == image_id, ACTIVE).values(thumbnail=state)
        return await self._database.execute(noting) > 0

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        query = select(images.c.id).where(images.c.id.in_(image_ids))
        return {row.id for row in await self._database.rows(query)}

    async def count_signed_with(self, kid: str) -> int:
        query = select(func.count()).select_from(images).where(images.c.kid == kid)
        return await self._database.value(query)

    async def describe_pull(self, project_id: str, described: Description) -> bool:
        # `values` always has the number, so the row count shows whether the pull request exists.
        values = {name: value for name, value in asdict(described).items() if value and name != "repository"}
        of_pull: dict[str, Any] = {"project_id": project_id, "pr_number": described.pr_number}
        this = equal(pulls, **of_pull)
        known = select(pulls.c.author).where(*this).with_for_update()

        def describe(connection: Connection) -> bool:
            author = connection.execute(known).scalar()
            if author and described.author not in {"", author}:
                changed = {"author": [author, described.author]}
                record(connection, Action.AUTHOR_CHANGED, **of_pull, details=changed)
            return connection.execute(update(pulls).where(*this).values(values)).rowcount > 0

        return await self._database.write(describe)
