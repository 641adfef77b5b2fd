"""The ports for connections, with the errors that each call raises."""

from typing import Protocol

from prshots.server.domain.outbox.models import Connection


class ConnectionRecords(Protocol):
    """The connections of projects. Raises RecordsError. Writing also raises RecordsFullError."""

    async def find(self, project_id: str) -> Connection | None: ...

    async def connections(self) -> list[Connection]:
        """Return all connections, ordered by project."""

    async def put(self, connection: Connection) -> None:
        """Add a project's connection, or replace it. Deliveries that failed are due again.

        Raises NotFoundError if the project was deleted.
        """

    async def replace_secret(self, before: Connection, after: Connection) -> bool:
        """Replace an encrypted token. Return False if the connection has changed."""

    async def remove(self, project_id: str) -> bool:
        """Remove a connection and all deliveries through it. Return False if the project has none."""


class ConnectedForges(Protocol):
    """The forges behind the connections."""

    def problem(self, connection: Connection) -> str:
        """Return why this connection can't work with the current keys and settings, or ""."""

    async def connect(self, connection: Connection, url: str, token: str) -> Connection:
        """Return the connection to the forge at this web address, with its encrypted token.

        Raises InvalidInputError if the token doesn't work for the repository, or KeysError.
        """
