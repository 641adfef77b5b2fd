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

    async def encrypt(self, connection: Connection, url: str, token: str) -> Connection:
        """Return the connection with the API at this web address and its encrypted token.

        Raises InvalidInputError for an address that gets no token, or KeysError.
        """

    async def check(self, connection: Connection) -> None:
        """Ask the forge for the repository. Raises InvalidInputError with the reason if that fails."""
