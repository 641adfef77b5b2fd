"""Trusts of projects, in the same database as the records."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError, RecordsError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import PROJECT, PROJECTS, project_from, project_gone_as
from prshots.server.adapters.sql.database.database import Database, is_refusal
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_project
from prshots.server.adapters.sql.database.schema import organizations, projects, tokens, trusts
from prshots.server.domain.audit.models import Action
from prshots.server.domain.projects.models import (
    LOCAL_ORGANIZATION,
    Project,
    ProjectReference,
    Trust,
    UploadToken,
)

_FIELDS = [field.name for field in fields(Trust)]
_TRUST = [trusts.c[name] for name in _FIELDS]
_JSON = ("claims", "pins", "refused_ids")
# Reads one row of the index, regardless of how many projects trust the issuer.
_FIRST_ANCHOR = Prepared(
    sa.select(sa.func.min(trusts.c.anchor)).where(trusts.c.issuer == sa.bindparam("issuer"))
)


class SqlTrusts:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_trust(self, trust: Trust, anchor: str, most: int) -> None:
        row = asdict(trust) | {"anchor": anchor}
        row |= {name: _to_json(row[name]) for name in _JSON if row[name] is not None}

        def add(connection: sa.Connection) -> None:
            lock_project(connection, trust.project_id)  # otherwise concurrent calls could exceed the limit
            known = [_trust(found) for found in connection.execute(_newest_first(trust.project_id))]
            for other in known:
                if (other.issuer, other.claims) == (trust.issuer, trust.claims):
                    raise ConflictError(f"the project already trusts {trust.issuer} with these claims")
            if len(known) >= most:
                raise ConflictError(f"a project can have at most {most} trusts: remove one first")
            connection.execute(sa.insert(trusts).values(row))
            _record(connection, Action.TRUST_ADDED, trust)

        with project_gone_as(NotFoundError("not found")):
            await self._database.write(add)

    async def trusts(self, project_id: str) -> list[Trust]:
        return [_trust(row) for row in await self._database.rows(_newest_first(project_id))]

    async def is_trusted(self, issuer: str) -> bool:
        row = await self._database.look_up(_FIRST_ANCHOR, issuer=issuer)
        return row is not None and row[0] is not None

    async def trusts_by_anchor(
        self, issuer: str, anchors: Collection[str], project: ProjectReference
    ) -> list[tuple[Trust, Project]]:
        query = (
            sa.select(*_TRUST, *PROJECT)
            .select_from(trusts.join(PROJECTS, trusts.c.project_id == projects.c.id))
            .where(trusts.c.issuer == issuer, trusts.c.anchor.in_(sorted(anchors)), _meant_by(project))
            .order_by(trusts.c.created_at, trusts.c.id)
        )
        rows = await self._database.rows(query)
        return [(_trust(row[: len(_TRUST)]), project_from(row[len(_TRUST) :])) for row in rows]

    async def remove_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        which = _which(trust_id, project_id)

        def remove(connection: sa.Connection) -> bool:
            found = connection.execute(sa.select(*_TRUST).where(which)).first()
            if found is None or not remove_trusts(connection, which):
                return False
            _record(connection, Action.TRUST_REMOVED, _trust(found))
            return True

        return await self._database.write(remove)

    async def touch_trust(self, trust_id: str, now: int) -> None:
        touching = sa.update(trusts).where(trusts.c.id == trust_id).values(last_used_at=now)
        await self._database.execute(touching)

    async def pin_trust(self, trust_id: str, pins: Mapping[str, str]) -> Mapping[str, str] | None:
        this = trusts.c.id == trust_id
        pinning = sa.update(trusts).where(this, trusts.c.pins.is_(None)).values(pins=_to_json(pins))

        def pin(connection: sa.Connection) -> str | None:
            connection.execute(pinning)  # changes nothing if another job was faster
            return connection.execute(sa.select(trusts.c.pins).where(this)).scalar()

        found = await self._database.write(pin)
        return None if found is None else json.loads(found)

    async def unpin_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        nothing = {"pins": None, "refused_ids": None, "refused_at": None}
        unpinning = sa.update(trusts).where(_which(trust_id, project_id)).values(nothing).returning(*_TRUST)

        def unpin(connection: sa.Connection) -> bool:
            found = connection.execute(unpinning).first()
            if found is not None:
                _record(connection, Action.TRUST_UNPINNED, _trust(found))
            return found is not None

        return await self._database.write(unpin)

    async def note_refused_ids(self, trust_id: str, ids: Mapping[str, str], now: int) -> None:
        noting = (
            sa.update(trusts).where(trusts.c.id == trust_id).values(refused_ids=_to_json(ids), refused_at=now)
        )
        await self._database.execute(noting)

    async def add_token_of_trust(self, token: UploadToken) -> bool:
        try:
            await self._database.execute(sa.insert(tokens).values(asdict(token)))
        except RecordsError as error:
            if is_refusal(error):  # the trust that its foreign key names no longer exists
                return False
            raise
        return True


def remove_trusts(connection: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    """Remove trusts and the tokens issued through them, inside a transaction. Return the number of trusts.

    This locks the trusts first. Adding a token also locks its trust, so no token can be added in between.
    """
    locking = sa.select(trusts.c.id).where(which).order_by(trusts.c.id).with_for_update()
    ids = connection.execute(locking).scalars().all()
    if ids:
        connection.execute(sa.delete(tokens).where(tokens.c.trust_id.in_(ids)))
        connection.execute(sa.delete(trusts).where(trusts.c.id.in_(ids)))
    return len(ids)


def _record(connection: sa.Connection, action: Action, trust: Trust) -> None:
    claims = {"id": trust.id, "claims": trust.claims}
    record(connection, action, project_id=trust.project_id, target=trust.issuer, details=claims)


def _which(trust_id: str, project_id: str | None) -> sa.ColumnElement[bool]:
    which = trusts.c.id == trust_id
    return which if project_id is None else which & (trusts.c.project_id == project_id)


def _meant_by(reference: ProjectReference) -> sa.ColumnElement[bool]:
    if reference.organization:
        return sa.and_(organizations.c.name == reference.organization, projects.c.name == reference.project)
    operators = projects.c.organization_id == LOCAL_ORGANIZATION
    if not reference.project:
        return operators
    return sa.or_(
        projects.c.id == reference.project, sa.and_(operators, projects.c.name == reference.project)
    )


def _newest_first(project_id: str) -> sa.Select[Any]:
    mine = trusts.c.project_id == project_id
    return sa.select(*_TRUST).where(mine).order_by(trusts.c.created_at.desc(), trusts.c.id.desc())


def _trust(row: Sequence[Any]) -> Trust:
    values = dict(zip(_FIELDS, row, strict=True))
    for name in _JSON:
        if values[name] is not None:
            values[name] = json.loads(values[name])
    return Trust(**values)


def _to_json(claims: object) -> str:
    return json.dumps(claims, ensure_ascii=False, sort_keys=True)
