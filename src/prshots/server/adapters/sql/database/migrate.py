"""Upgrade the database to the newest schema exactly once, even if many processes start together.

Processes of the previous version keep working during and after the upgrade: see `steps.py`.
"""

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog
from sqlalchemy import Engine, text, update
from sqlalchemy.exc import DBAPIError

from prshots.server.adapters.sql.database.found_schema import FoundSchema, found_schema
from prshots.server.adapters.sql.database.schema import installation
from prshots.server.adapters.sql.database.steps import next_steps, steps_of

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).with_name("migrations")

RETRY_SECONDS = 3.0
"""How long a step waits before it tries to lock its table again. Uploads queued behind it then proceed."""

LOG_SECONDS = 60.0
_LOCKED = {"55P03", "40P01"}  # PostgreSQL's codes: lock timeout, deadlock
_OLDEST_TRANSACTION = text(
    "SELECT format('process %s of %s, open for %s s', pid, application_name, "
    "extract(epoch FROM now() - xact_start)::int) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL "
    "ORDER BY xact_start LIMIT 1"
)

_log = structlog.get_logger()


class Migration(NamedTuple):
    """The schema versions before and after."""

    before: FoundSchema
    now: FoundSchema


def migrate(engine: Engine) -> Migration:
    """Upgrade the schema if necessary. Leave a newer schema alone.

    Raises SchemaTooNewError if this version of prshots may not run on it, and RecordsError if it is too old.
    """
    before = now = _found(engine)
    logged_at = -math.inf
    while not now.is_usable:
        now.require_known()
        try:
            _take_next_steps(engine, now)
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _LOCKED:
                raise
            if time.monotonic() - logged_at > LOG_SECONDS:
                _log_lock_wait(engine)
                logged_at = time.monotonic()
            time.sleep(RETRY_SECONDS)
        now = _found(engine)
    return Migration(before, now)


def _found(engine: Engine) -> FoundSchema:
    with engine.connect() as connection:
        return found_schema(connection)


def _take_next_steps(engine: Engine, found: FoundSchema) -> None:
    """Take the next step in a transaction, unless another process has taken it."""
    config = _config()
    taken = next_steps(steps_of(config), found.version)
    options: dict[str, object] = {"writes": True, "migrates": True}
    if found.version and taken[-1].builds_indexes and engine.dialect.name == "postgresql":
        options["isolation_level"] = "AUTOCOMMIT"
    with engine.execution_options(**options).begin() as connection:
        if found_schema(connection) != found:
            return
        from alembic import command

        config.attributes["connection"] = connection
        command.upgrade(config, taken[-1].revision)
        connection.execute(update(installation).values(oldest_schema=taken[-1].oldest))


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _log_lock_wait(engine: Engine) -> None:
    """Log that a step can't lock its table, and who most likely holds the lock."""
    with engine.connect() as connection:
        oldest = connection.execute(_OLDEST_TRANSACTION).scalar()
    _log.warning(
        "the migration waits for a table that another transaction uses, and tries again until it ends",
        oldest_transaction=oldest or "none",
    )
