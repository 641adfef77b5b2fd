"""Triggers that keep a service from writing to the old location if it wasn't restarted.

If the database moves, its old copy refuses every write. If only the store moves, the database refuses image
changes from processes that use another store. Each connection declares the store of its process.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Engine, Table, event
from sqlalchemy.pool import ConnectionPoolEntry

from prshots.server.adapters.sql.database.database import MOVED
from prshots.server.adapters.sql.database.schema import images, metadata
from prshots.server.adapters.sql.move.change_log import EVENTS
from prshots.server.adapters.sql.move.move_state import MoveState, moved_message

PREFIX = "move_refuse"

_STORE_SETTING, _STORE_FUNCTION = "prshots.store", "prshots_store"


def say_store(engine: Engine, store_place: str) -> None:
    """Make every new connection declare the store of its process."""

    @event.listens_for(engine, "connect")
    def say(connection: Any, _: ConnectionPoolEntry) -> None:  # noqa: ANN401 - a driver's connection
        if engine.dialect.name == "postgresql":
            cursor = connection.cursor()
            cursor.execute(f"SELECT set_config('{_STORE_SETTING}', %s, false)", (store_place,))
            cursor.close()
            connection.commit()
        else:
            connection.create_function(_STORE_FUNCTION, 0, lambda: store_place)


def install_refusal(connection: Connection, state: MoveState) -> None:
    """Refuse writes from now on, in the caller's transaction. Replaces an earlier refusal.

    On PostgreSQL this drops nothing, because dropping would wait for readers, and they may wait for us.
    """
    message = _quote(moved_message(state))
    store = "" if state.database_place else _quote(state.store_place)
    tables = metadata.sorted_tables if state.database_place else [images]
    if connection.dialect.name == "sqlite":
        remove_refusal(connection)
        statements = _sqlite(tables, message, store)
    else:  # its driver would read a percent sign as a parameter
        statements = [made.replace("%", "%%") for made in _postgresql(tables, message, store)]
    for statement in statements:
        connection.exec_driver_sql(statement)


def remove_refusal(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {PREFIX}() CASCADE")
        return
    for table in metadata.sorted_tables:
        for when in EVENTS:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {PREFIX}_{table.name}_{when}")


def _sqlite(tables: Iterable[Table], message: str, store: str) -> list[str]:
    condition = f" WHERE {_STORE_FUNCTION}() IS NOT {store}" if store else ""
    return [
        f"CREATE TRIGGER {PREFIX}_{table.name}_{when} BEFORE {when.upper()} ON {table.name} "
        f"BEGIN SELECT RAISE(ABORT, {message}){condition}; END"
        for table in tables
        for when in EVENTS
    ]


def _postgresql(tables: Iterable[Table], message: str, store: str) -> list[str]:
    refuse = f"RAISE EXCEPTION USING MESSAGE = {message}, ERRCODE = '{MOVED}';"
    if store:
        other = f"current_setting('{_STORE_SETTING}', true) IS DISTINCT FROM {store}"
        refuse = f"IF {other} THEN {refuse} END IF;"
    body = f"$refuse$ BEGIN {refuse} RETURN NULL; END $refuse$"
    triggers = [
        f"CREATE OR REPLACE TRIGGER {PREFIX}_{table.name} BEFORE INSERT OR UPDATE OR DELETE ON {table.name} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {PREFIX}()"
        for table in tables
    ]
    return [f"CREATE OR REPLACE FUNCTION {PREFIX}() RETURNS trigger LANGUAGE plpgsql AS {body}", *triggers]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
