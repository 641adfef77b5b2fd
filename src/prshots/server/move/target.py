"""The target database. Only the move writes to it until it is complete."""

import contextlib
from collections.abc import Collection, Iterator

from sqlalchemy import Connection, Engine, Table

from prshots.contract.errors import MoveError
from prshots.server.adapters.sql.database.database import translating
from prshots.server.adapters.sql.database.found_schema import found_schema
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION, metadata
from prshots.server.adapters.sql.move.change_log import Changes
from prshots.server.adapters.sql.move.move_state import Key, MoveState, drop_state, read_state, write_state
from prshots.server.adapters.sql.move.row_copies import (
    PAGE,
    begin_copying,
    continue_numbers,
    count_rows,
    digest,
    empty_tables,
    key_of,
    page_after,
    replace_page,
    replace_rows,
    rows_between,
    rows_with,
    wait_with_references,
)

TABLES = metadata.sorted_tables
"""Each table comes after the tables that it refers to."""


class TargetDatabase:
    """The database to copy to. All methods raise RecordsError if it doesn't answer."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def require_our_schema(self) -> None:
        """Raise MoveError if another version of prshots began to fill this database."""
        with translating(), self.engine.connect() as connection:
            if found_schema(connection).version != SCHEMA_VERSION:
                raise MoveError(
                    "another version of prshots began this move: continue with that version, or run `prshots "
                    "move --cancel`, empty the target, and start again"
                )

    def is_claimed_by(self, move_id: str) -> bool:
        """Return whether this move began to fill this database."""
        with translating(), self.engine.connect() as connection:
            state = read_state(connection)
        return state is not None and state.id == move_id

    def claim(self, move_id: str, place: str) -> None:
        """Create the tables and empty them. Until `release`, no service starts on this database."""
        with translating():
            migrate(self.engine)
            with self._write() as connection:
                empty_tables(connection)
                wait_with_references(connection, until_commit=True)
                write_state(connection, MoveState(move_id, "filling", place, ""))

    def release(self) -> None:
        """Allow services to use this database."""
        with translating(), self._write() as connection:
            wait_with_references(connection, until_commit=False)
            drop_state(connection)

    def follow(
        self,
        snapshot: Connection,
        changes: Changes,
        page: "Page | None" = None,
        copied: Collection[str] = metadata.tables,
    ) -> None:
        """Apply the changes to copied tables, and add the next page to a table, in one transaction."""
        with translating(), self._write() as connection:
            for name, keys in changes.keys.items():
                if name in copied:
                    table = metadata.tables[name]
                    replace_rows(connection, table, keys, rows_with(snapshot, table, keys))
            if page:
                replace_page(connection, page.table, page.after, page.until, page.rows)

    def require_same_rows(self, snapshot: Connection, changes: Changes) -> None:
        """Compare the rows that changed last. Raises MoveError."""
        with translating(), self.engine.connect() as connection:
            for name, keys in changes.keys.items():
                table = metadata.tables[name]
                ours, theirs = (
                    digest(row for rows in rows_with(each, table, keys) for row in rows)
                    for each in (snapshot, connection)
                )
                if ours != theirs:
                    raise _difference_error(name)

    def require_same_page(self, page: "Page") -> None:
        """Compare a page of the source with the same rows here. Raises MoveError."""
        with translating(), self.engine.connect() as connection:
            found = rows_between(connection, page.table, page.after, page.until)
        if digest(page.rows) != digest(found):
            raise _difference_error(page.table.name)

    def require_same_counts(self, snapshot: Connection) -> dict[str, int]:
        """Compare the number of rows in each table, and return the numbers. Raises MoveError."""
        with translating(), self.engine.connect() as connection:
            found = {table.name: count_rows(connection, table) for table in TABLES}
        for table in TABLES:
            count = count_rows(snapshot, table)
            if count != found[table.name]:
                raise MoveError(
                    f"the table {table.name} has {count:,} rows, but its copy {found[table.name]:,}: nothing "
                    "was switched. Run `prshots move --cancel` and report this"
                )
        return found

    def analyze(self) -> None:
        """Update PostgreSQL's statistics, to let it plan the first queries well."""
        if self.engine.dialect.name == "postgresql":
            with translating(), self._write() as connection:
                connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in TABLES)}")

    def continue_numbers(self, numbers: dict[str, int]) -> None:
        with translating(), self._write() as connection:
            continue_numbers(connection, numbers)

    @contextlib.contextmanager
    def _write(self) -> Iterator[Connection]:
        with self.engine.execution_options(writes=True).begin() as connection:
            begin_copying(connection)
            yield connection


class Page:
    """The next rows of a table in a snapshot of the source."""

    def __init__(self, snapshot: Connection, table: Table, after: Key) -> None:
        self.table, self.after = table, after
        self.rows = page_after(snapshot, table, after)
        self.end = key_of(table, self.rows[-1]) if self.rows else after
        self.until = self.end if len(self.rows) == PAGE else None
        """Where the page ends, or None if it is the last one."""


def _difference_error(table: str) -> MoveError:
    return MoveError(
        f"the table {table} differs from its copy: nothing was switched. Is something else writing to the "
        "target? Run `prshots move --cancel`, empty the target, and start again"
    )
