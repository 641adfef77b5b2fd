"""A text column that every database compares and sorts by bytes."""

from sqlalchemy import String, Text
from sqlalchemy.types import TypeEngine


def text(length: int | None = None) -> TypeEngine[str]:
    """Return the column type for text, for tables and migrations.

    SQLite always sorts by bytes. PostgreSQL would sort by the database's locale: paging through lists would
    skip rows, and LIKE could not use indexes.
    """
    if length is None:
        return Text().with_variant(Text(collation="C"), "postgresql")
    return String(length).with_variant(String(length, collation="C"), "postgresql")
