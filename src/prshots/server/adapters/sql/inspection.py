"""What `prshots doctor` asks of a database as it is, whatever its schema."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select, text

from prshots.server.adapters.sql.database import Database
from prshots.server.adapters.sql.migrate import schema_version
from prshots.server.adapters.sql.schema import SCHEMA_VERSION, images, installation


@dataclass(frozen=True, slots=True)
class Condition:
    """`version` is None where nobody has made the tables yet. The rest is known with our own schema only.

    `dead` is how many images, by key, have URLs signed with a key that is not among those we know.
    """

    version: str | None
    clock_ahead: float
    installation_id: str = ""
    dead: dict[str, int] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.version == SCHEMA_VERSION


async def condition_of(database: Database, known_kids: Collection[str]) -> Condition:
    """Raise RecordsError when it does not answer."""

    def ask(connection: Connection) -> Condition:
        version, ahead = schema_version(connection), _clock_ahead(connection)
        if version != SCHEMA_VERSION:
            return Condition(version, ahead)
        signed = select(images.c.kid, func.count()).where(images.c.kid.not_in(known_kids))
        rows = connection.execute(signed.group_by(images.c.kid)).all()
        dead: dict[str, int] = {kid: number for kid, number in rows}  # noqa: C416 - dict() would not be typed
        return Condition(version, ahead, connection.execute(select(installation.c.id)).scalar_one(), dead)

    return await database.read(ask)


def _clock_ahead(connection: Connection) -> float:
    """Return by how many seconds the server's clock is ahead of ours; SQLite has ours."""
    if connection.dialect.name == "sqlite":
        return 0.0
    asked = time.time()
    theirs = connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one()
    return float(theirs) - (asked + time.time()) / 2
