"""Inspect a database of any schema for `prshots doctor`, without changing it."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select, text

from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.found_schema import FoundSchema, found_schema
from prshots.server.adapters.sql.database.schema import images, installation
from prshots.server.adapters.sql.upkeep.key_fingerprints import fingerprints_in


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of a database. The installation and its keys are only known if we may work with the schema.

    `dead` is the number of images, by kid, whose URLs are signed with a key that we don't have.
    `fingerprints` are those of the registered signing keys, by kid.
    """

    schema: FoundSchema
    clock_ahead: float
    installation_id: str = ""
    dead: dict[str, int] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)


async def condition_of(database: Database, known_kids: Collection[str]) -> Condition:
    """Return the condition of a database. Raises RecordsError if it doesn't answer."""

    def ask(connection: Connection) -> Condition:
        schema, ahead = found_schema(connection), _clock_ahead(connection)
        if not schema.is_usable:
            return Condition(schema, ahead)
        signed = select(images.c.kid, func.count()).where(images.c.kid.not_in(known_kids))
        rows = connection.execute(signed.group_by(images.c.kid)).all()
        dead: dict[str, int] = {kid: number for kid, number in rows}  # noqa: C416 - dict() would not be typed
        installation_id = connection.execute(select(installation.c.id)).scalar_one()
        return Condition(schema, ahead, installation_id, dead, fingerprints_in(connection))

    return await database.read(ask)


def server_time(connection: Connection) -> float | None:
    """Return the time by the server's clock, or None for SQLite, which uses ours."""
    if connection.dialect.name == "sqlite":
        return None
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _clock_ahead(connection: Connection) -> float:
    """Return how many seconds the server's clock is ahead of ours, or 0 without a server."""
    asked = time.time()
    theirs = server_time(connection)
    return 0.0 if theirs is None else theirs - (asked + time.time()) / 2
