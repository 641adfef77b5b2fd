"""Bring the database to the newest schema: once, however many processes start at the same time."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from prshots.errors import SchemaTooNewError
from prshots.stores.schema import SCHEMA_VERSION

MIGRATIONS = Path(__file__).with_name("migrations")


def migrate(engine: Engine) -> None:
    """Upgrade the schema if need be. Raises SchemaTooNewError when a newer program has been here."""
    with engine.connect() as connection:
        if _version(connection) == SCHEMA_VERSION:
            return
    with engine.execution_options(writes=True).begin() as connection:  # the second one to come finds it done
        if _version(connection) != SCHEMA_VERSION:
            _upgrade(connection)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    version = _version(connection)
    if version is not None and version not in known:
        raise SchemaTooNewError(
            f"the database has schema {version}, which this version of prshots does not know: "
            "start the newer prshots that made it, or restore a backup"
        )
    command.upgrade(config, "head")
