"""Databases of an earlier version."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from prshots.server.adapters.sql.migrate import MIGRATIONS


def upgrade_to(engine: Engine, version: str) -> None:
    """Create or upgrade a database, but only up to this schema."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
