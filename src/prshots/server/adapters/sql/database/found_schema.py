"""The schema found in a database, and whether this version of prshots may work with it.

All code that opens a database or a backup follows one rule: a newer schema is fine as long as the database
still allows processes of our version.
"""

from typing import NamedTuple

from sqlalchemy import Connection, inspect, select, text

from prshots.contract.errors import RecordsError, SchemaTooNewError
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION, installation

FIRST_VERSION = "0011"
"""The first migration. Lower numbers belong to development versions before 0.1.0."""

TOO_OLD = (
    "of a development version before 0.1.0, which this version can't upgrade: start with an empty database, "
    "or run `prshots migrate` of commit 9409304 first"
)


class FoundSchema(NamedTuple):
    """`version` is None for an empty database. Processes with schema `oldest` or newer may run on it."""

    version: str | None
    oldest: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether this version of prshots may work with the database without migrating it."""
        return self.version == SCHEMA_VERSION or (self.is_newer and not self.is_too_new)

    @property
    def is_too_old(self) -> bool:
        return self.version is not None and self.version < FIRST_VERSION

    @property
    def is_newer(self) -> bool:
        return self.version is not None and self.version > SCHEMA_VERSION

    @property
    def is_too_new(self) -> bool:
        return self.is_newer and not "" < self.oldest <= SCHEMA_VERSION

    def require_known(self) -> None:
        """Raise SchemaTooNewError, or RecordsError if the schema is too old. The message says what to do."""
        if self.is_too_old:
            raise RecordsError(f"the database has schema {self.version}, {TOO_OLD}")
        if self.is_too_new:
            takes = f" takes {self.oldest} and newer," if self.oldest else ""
            raise SchemaTooNewError(
                f"the database has schema {self.version}, from a newer version of prshots: install that "
                f"version, or restore a backup (the database{takes} this version has {SCHEMA_VERSION})"
            )


def found_schema(connection: Connection) -> FoundSchema:
    if not inspect(connection).has_table("alembic_version"):
        return FoundSchema(None)
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version is None or version < FIRST_VERSION:
        return FoundSchema(version)
    return FoundSchema(version, connection.execute(select(installation.c.oldest_schema)).scalar() or "")
