"""Triggers that record the key of every changed row, to let a copy catch up with the original.

The database runs them for every writing process, including those of the previous version.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Table, delete, func, select

from prshots.server.adapters.sql.database.schema import images, metadata
from prshots.server.adapters.sql.move.move_state import Key, changes

PREFIX = "move_log"
EVENTS = ("insert", "update", "delete")


@dataclass(slots=True)
class Changes:
    """The log in one snapshot: the changed keys by table, and the log entries that name them."""

    keys: dict[str, set[Key]] = field(default_factory=dict)
    entries: list[tuple[int, int]] = field(default_factory=list)
    """First and last number of each range. Excludes entries of transactions that had not committed."""

    def __len__(self) -> int:
        return sum(until - since + 1 for since, until in self.entries)


def logged_columns(table: Table) -> list[str]:
    """Return the columns that the log records for a changed row: its key, and an image's file name."""
    key = [column.name for column in table.primary_key]
    return [*key, "id", "ext"] if table is images else key


def install_log(connection: Connection, tables: Iterable[Table]) -> None:
    """Create the triggers in the caller's transaction. `write_state` must have created the table."""
    make = _postgresql if connection.dialect.name == "postgresql" else _sqlite
    for table in tables:
        for statement in make(table.name, logged_columns(table)):
            connection.exec_driver_sql(statement)


def remove_log(connection: Connection) -> None:
    for table in metadata.sorted_tables:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {PREFIX}_{table.name}() CASCADE")
        else:
            for event in EVENTS:
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {PREFIX}_{table.name}_{event}")


def silence_log(connection: Connection) -> None:
    """Make the triggers do nothing, without a lock that a reader could delay.

    `remove_log` needs such a lock.
    """
    if connection.dialect.name == "sqlite":
        remove_log(connection)
        return
    for table in metadata.sorted_tables:
        nothing = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
        connection.exec_driver_sql(f"CREATE OR REPLACE FUNCTION {PREFIX}_{table.name}() {nothing}")


def changes_in(connection: Connection) -> Changes:
    """Read the whole log visible to this transaction."""
    found = Changes()
    everything = select(changes).order_by(changes.c.seq)
    for seq, table_name, row_key in connection.execute(everything, execution_options={"yield_per": 10_000}):
        found.keys.setdefault(table_name, set()).add(tuple(json.loads(row_key)))
        if found.entries and found.entries[-1][1] == seq - 1:
            found.entries[-1] = found.entries[-1][0], seq
        else:
            found.entries.append((seq, seq))
    return found


def forget(connection: Connection, entries: Sequence[tuple[int, int]]) -> None:
    for since, until in entries:
        connection.execute(delete(changes).where(changes.c.seq.between(since, until)))


def count_changes(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(changes)).scalar_one()


def _notes(table: str, columns: Sequence[str], to_json: str) -> list[str]:
    """Return the statements that log the new and the old key of a row, without a semicolon."""
    keys = [", ".join(f"{row}.{column}" for column in columns) for row in ("NEW", "OLD")]
    into = f"INSERT INTO {changes.name} (table_name, row_key)"
    return [f"{into} SELECT '{table}', {to_json.format(key)}" for key in keys]


def _sqlite(table: str, columns: Sequence[str]) -> list[str]:
    note_new, note_old = _notes(table, columns, "json_array({})")
    renamed = " OR ".join(f"OLD.{column} IS NOT NEW.{column}" for column in columns)
    bodies = {
        "insert": f"{note_new};",
        "update": f"{note_new}; {note_old} WHERE {renamed};",
        "delete": f"{note_old};",
    }
    return [
        f"CREATE TRIGGER IF NOT EXISTS {PREFIX}_{table}_{event} AFTER {event.upper()} ON {table} "
        f"BEGIN {body} END"
        for event, body in bodies.items()
    ]


def _postgresql(table: str, columns: Sequence[str]) -> list[str]:
    note_new, note_old = _notes(table, columns, "json_build_array({})::text")
    renamed = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns)
    name = f"{PREFIX}_{table}"
    function = (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF TG_OP <> 'DELETE' THEN {note_new}; END IF; "
        f"IF TG_OP = 'DELETE' THEN {note_old}; END IF; "
        f"IF TG_OP = 'UPDATE' THEN {note_old} WHERE {renamed}; END IF; "
        "RETURN NULL; END $$"
    )
    trigger = (
        f"CREATE OR REPLACE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {name}()"
    )
    return [function, trigger]
