"""The noise of projects: the histories of their shots, and their quarantine."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import ACTIVE, OF_BASELINES, equal, given
from prshots.server.adapters.sql.comparison.newest import DIFFERS, NEWEST_COMMIT, OF_SHOT
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_project
from prshots.server.adapters.sql.database.schema import (
    compared_shots,
    comparisons,
    images,
    pulls,
    quarantined_commits,
    quarantines,
)
from prshots.server.adapters.sql.outbox.causes import mark_due
from prshots.server.adapters.sql.review.histories import discard_past, histories_of_project
from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.noise import BranchHistory, Quarantine

_COUNTS = (
    sa.func.count(quarantined_commits.c.quarantine_id),
    sa.func.coalesce(sa.func.sum(quarantined_commits.c.differed), 0),
)
_WITH_COUNTS = (
    sa.select(quarantines, *_COUNTS)
    .select_from(
        quarantines.outerjoin(quarantined_commits, quarantined_commits.c.quarantine_id == quarantines.c.id)
    )
    .where(*given(quarantines, "project_id"), quarantines.c.until > sa.bindparam("now"))
    .group_by(quarantines.c.id)
    .order_by(quarantines.c.until, quarantines.c.id)
)
_QUARANTINE = sa.text(
    "INSERT INTO quarantines "
    "(id, project_id, name, viewport, theme, reason, created_by, created_at, until) "
    "VALUES (:id, :project_id, :name, :viewport, :theme, :reason, :created_by, :created_at, :until) "
    "ON CONFLICT (project_id, name, viewport, theme) DO UPDATE SET "
    "reason = excluded.reason, created_by = excluded.created_by, until = excluded.until"
)


def _of_pulls(table: sa.FromClause) -> sa.ColumnElement[bool]:
    return (table.c.project_id == pulls.c.project_id) & (table.c.pr_number == pulls.c.pr_number)


_OF_OPEN_PULLS = (*given(pulls, "project_id"), pulls.c.closed_at.is_(None))
_KNOWN = (
    sa.select(images.c.seq)
    .where(*given(images, "project_id", *ShotKey._fields), OF_BASELINES, ACTIVE)
    .limit(1),
    sa.select(images.c.seq)
    .select_from(pulls.join(images, _of_pulls(images)))
    .where(*_OF_OPEN_PULLS, *given(images, *ShotKey._fields), ACTIVE)
    .limit(1),
)
_DIFFERING = (
    sa.select(pulls.c.pr_number)
    .select_from(pulls.join(comparisons, _of_pulls(comparisons)).join(compared_shots, OF_SHOT))
    .where(
        *_OF_OPEN_PULLS,
        comparisons.c.commit_sha == NEWEST_COMMIT,
        *given(compared_shots, *ShotKey._fields),
        DIFFERS,
    )
)


class SqlNoise:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def histories(self, project_id: str, now: int) -> list[BranchHistory]:
        return await self._database.read(lambda connection: histories_of_project(connection, project_id, now))

    async def quarantines(self, project_id: str, now: int) -> list[Quarantine]:
        rows = await self._database.rows(_WITH_COUNTS, project_id=project_id, now=now)
        return [Quarantine(*row) for row in rows]

    async def quarantine(self, quarantine: Quarantine, most: int) -> Quarantine | None:
        project_id, shot, now = quarantine.project_id, quarantine.shot, quarantine.created_at
        of_shot = {"project_id": project_id, **shot._asdict()}
        ended = [*equal(quarantines, **of_shot), quarantines.c.until <= now]

        def add(connection: sa.Connection) -> Quarantine | None:
            lock_project(connection, project_id)  # otherwise concurrent calls could exceed the limit
            if not any(connection.execute(query, of_shot).first() for query in _KNOWN):
                return None
            _remove(connection, now, *ended)
            connection.execute(_QUARANTINE, asdict(quarantine))
            active = [Quarantine(*row) for row in connection.execute(_WITH_COUNTS, of_shot | {"now": now})]
            if len(active) > most:
                raise ConflictError(
                    f"a project can have at most {most:,} screenshots in quarantine: end one first"
                )
            _mark_differing(connection, [(project_id, shot)], now)
            details = {"reason": quarantine.reason, "until": quarantine.until}
            record(
                connection,
                Action.QUARANTINE_STARTED,
                project_id=project_id,
                target=_name(shot),
                details=details,
            )
            return next(each for each in active if each.shot == shot)

        return await self._database.write(add)

    async def end_quarantine(self, project_id: str, quarantine_id: str, now: int) -> bool:
        this = equal(quarantines, project_id=project_id, id=quarantine_id)

        def end(connection: sa.Connection) -> bool:
            removed = _remove(connection, now, *this)
            for shot in removed:
                record(connection, Action.QUARANTINE_ENDED, project_id=project_id, target=_name(shot))
            return bool(removed)

        return await self._database.write(end)

    async def discard_old(self, now: int, limit: int) -> int:
        ended = (
            sa.select(quarantines.c.id)
            .where(quarantines.c.until <= now)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )

        def discard(connection: sa.Connection) -> int:
            is_ended = quarantines.c.id.in_(connection.execute(ended).scalars().all())
            return len(_remove(connection, now, is_ended)) + discard_past(connection, now, limit)

        return await self._database.write(discard)


def _name(shot: ShotKey) -> str:
    return " ".join(filter(None, shot))


def _remove(connection: sa.Connection, now: int, *which: sa.ColumnElement[bool]) -> list[ShotKey]:
    """Remove quarantines, and mark the pull requests whose gates that changes. Return their shots."""
    removing = sa.delete(quarantines).where(*which)
    removed: list[Any] = list(connection.execute(removing.returning(*quarantines.c)))
    of_removed = quarantined_commits.c.quarantine_id.in_([each.id for each in removed])
    connection.execute(sa.delete(quarantined_commits).where(of_removed))
    shots = [(each.project_id, ShotKey(each.name, each.viewport, each.theme)) for each in removed]
    _mark_differing(connection, shots, now)
    return [shot for _, shot in shots]


def _mark_differing(connection: sa.Connection, shots: Iterable[tuple[str, ShotKey]], now: int) -> None:
    """Mark the open pull requests in which these shots differ. Sorts them to avoid deadlocks."""
    due = {
        (project_id, number)
        for project_id, shot in shots
        for number in connection.execute(_DIFFERING, {"project_id": project_id, **shot._asdict()}).scalars()
    }
    for project_id, number in sorted(due):
        mark_due(connection, project_id, number, now)
