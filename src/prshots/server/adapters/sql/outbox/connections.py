"""The connections of projects to their forges."""

from dataclasses import asdict, fields, replace
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import NotFoundError
from prshots.contract.forge_kinds import ForgeKind
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import equal
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_project
from prshots.server.adapters.sql.database.schema import connections, outbox
from prshots.server.adapters.sql.outbox.causes import send_again
from prshots.server.domain.audit.models import Action
from prshots.server.domain.outbox.models import Connection

_CONNECTIONS = sa.select(*(connections.c[field.name] for field in fields(Connection)))


class SqlConnections:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, project_id: str) -> Connection | None:
        row = await self._database.first(_CONNECTIONS.where(connections.c.project_id == project_id))
        return _connection(row) if row else None

    async def connections(self) -> list[Connection]:
        rows = await self._database.rows(_CONNECTIONS.order_by(connections.c.project_id))
        return [_connection(row) for row in rows]

    async def secrets(self) -> list[Connection]:
        return [each for each in await self.connections() if not each.uses_app]

    async def put(self, connection: Connection) -> None:
        def put(database: sa.Connection) -> None:
            if not lock_project(database, connection.project_id):  # deleted after the caller found it
                raise NotFoundError("not found")
            database.execute(sa.delete(connections).where(connections.c.project_id == connection.project_id))
            database.execute(sa.insert(connections).values(asdict(connection)))
            send_again(database, connection.project_id, connection.created_at)
            about: dict[str, Any] = {"project_id": connection.project_id, "target": connection.repository}
            record(database, Action.CONNECTION_SET, **about, details={"forge": connection.forge})

        await self._database.write(put)

    async def replace_secret(self, before: Connection, after: Connection) -> bool:
        unchanged = equal(connections, project_id=before.project_id, kid=before.kid, secret=before.secret)
        replacing = sa.update(connections).where(*unchanged).values(kid=after.kid, secret=after.secret)
        return await self._database.execute(replacing) > 0

    async def remove(self, project_id: str) -> bool:
        def remove(database: sa.Connection) -> bool:
            database.execute(sa.delete(outbox).where(outbox.c.project_id == project_id))
            removing = sa.delete(connections).where(connections.c.project_id == project_id)
            repository = database.execute(removing.returning(connections.c.repository)).scalar()
            if repository is not None:
                record(database, Action.CONNECTION_REMOVED, project_id=project_id, target=repository)
            return repository is not None

        return await self._database.write(remove)


def _connection(row: Any) -> Connection:  # noqa: ANN401 - a row of the table
    return replace(Connection(*row), forge=ForgeKind(row.forge))
