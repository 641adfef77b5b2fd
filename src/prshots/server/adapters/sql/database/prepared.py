"""Statements of every upload, as text for the driver."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, Dialect


class Prepared:
    """A statement that is compiled once per kind of database.

    SQLAlchemy's own cache still takes more time to find a statement and to prepare its parameters than SQLite
    takes to run it. Errors are the same. Values go to the driver as they are, so columns with types that
    convert them do not work.
    """

    def __init__(self, statement: ClauseElement) -> None:
        self.statement = statement
        self._texts: dict[str, tuple[str, Sequence[str] | None]] = {}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it for each row. All rows have the same columns, in every run."""
        kind = connection.dialect.name
        if kind not in self._texts:
            self._texts[kind] = compiled_text(self.statement, connection.dialect, list(rows[0]))
        text, names = self._texts[kind]
        in_order: Sequence[Any] = [tuple(row[name] for name in names) for row in rows] if names else rows
        connection.exec_driver_sql(text, in_order)


def compiled_text(
    statement: ClauseElement, dialect: Dialect, columns: list[str] | None = None
) -> tuple[str, Sequence[str] | None]:
    """Return the SQL and, if its parameters have no names, the names in their order.

    An INSERT has these columns.
    """
    compiled = statement.compile(dialect=dialect, column_keys=columns)
    return compiled.string, getattr(compiled, "positiontup", None)
