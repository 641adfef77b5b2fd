"""A fast way to run the statements of every upload, comment and request.

All other statements go through `connection.execute`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ClauseElement, Connection, Dialect, Insert


class _Compiled(NamedTuple):
    """The SQL, its parameter names in order (None if the driver takes names), and values it already has."""

    text: str
    order: Sequence[str] | None
    values: Mapping[str, object]


class Prepared:
    """A statement that is compiled once per database dialect.

    SQLAlchemy takes longer to find a cached statement and prepare its parameters than SQLite takes to run it.
    Wrapping hundreds of rows takes half as long as reading them. Errors are the same.

    Values pass to and from the driver unconverted, so columns with converting types don't work. Neither do
    parameters with several values (`expanding`).
    """

    def __init__(self, statement: ClauseElement) -> None:
        self.statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, connection: Connection, given: Mapping[str, object]) -> list[tuple[Any, ...]]:
        result = connection.exec_driver_sql(*self.bind(connection.dialect, given))
        rows = list(result.cursor.fetchall())
        result.close()
        return rows

    def run(self, connection: Connection, given: Sequence[Mapping[str, object]]) -> None:
        """Run the statement for each mapping.

        All runs take the same names: they are the columns of an INSERT.
        """
        bound = [self.bind(connection.dialect, each) for each in given]
        connection.exec_driver_sql(bound[0][0], [parameters for _, parameters in bound])

    def bind(self, dialect: Dialect, given: Mapping[str, object]) -> tuple[str, Any]:
        """Return the SQL and the parameters in the driver's format."""
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = self._compile(dialect, given)
        if compiled.values:
            given = {**compiled.values, **given}
        if compiled.order is None:
            return compiled.text, given
        return compiled.text, tuple([given[name] for name in compiled.order])

    def _compile(self, dialect: Dialect, given: Mapping[str, object]) -> _Compiled:
        columns = list(given) if isinstance(self.statement, Insert) else None
        compiled = self.statement.compile(dialect=dialect, column_keys=columns)
        values = {name: value for name, value in compiled.params.items() if value is not None}
        return _Compiled(compiled.string, getattr(compiled, "positiontup", None), values)
