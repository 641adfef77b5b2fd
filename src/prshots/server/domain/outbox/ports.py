"""The ports for connections, with the errors that each call raises."""

from typing import Protocol

from prshots.server.domain.outbox.models import Connection


class ConnectionRecords(Protocol):
    """The connections of projects. Raises RecordsError. Writing also raises RecordsFullError."""

    async def find(self, project_id: str) -> Connection | None: ...

    async def put(self, connection: Connection) -> None:
        """Add a project's connection, or replace it."""

    async def remove(self, project_id: str) -> bool: ...
