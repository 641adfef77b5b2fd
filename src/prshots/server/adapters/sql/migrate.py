"""Upgrades the database to the newest schema: once, even if many processes start at the same time."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from prshots.contract.errors import SchemaTooNewError
from prshots.server.adapters.sql.schema import SCHEMA_VERSION

MIGRATIONS = Path(__file__).with_name("migrations")


def migrate(engine: Engine) -> str | None:
    """Upgrade the schema if necessary. Return the version it had, or None for an empty database.

    Raises SchemaTooNewError if a newer version of prshots has migrated it.
    """
    with engine.connect() as connection:
        version = schema_version(connection)
    if version == SCHEMA_VERSION:
        return version
    with engine.execution_options(writes=True, migrates=True).begin() as connection:
        version = schema_version(connection)  # again, under the lock: another process may have upgraded it
        if version != SCHEMA_VERSION:
            _upgrade(connection, version)
        return version


def schema_version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection, version: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise SchemaTooNewError(
            f"the database has schema {version}, from a newer version of prshots: "
            "install that version, or restore a backup"
        )
    command.upgrade(config, "head")
