"""Text as every database compares and orders it alike: by its bytes."""

from sqlalchemy import String, Text
from sqlalchemy.types import TypeEngine


def text(length: int | None = None) -> TypeEngine[str]:
    """Return the type of a text column, for the tables and their migrations.

    SQLite knows no other order. PostgreSQL would go by the language that its database was made for: lists
    would come in another order than their pages are asked for in, and indexes not serve a LIKE.
    """
    if length is None:
        return Text().with_variant(Text(collation="C"), "postgresql")
    return String(length).with_variant(String(length, collation="C"), "postgresql")
