"""Copy rows between databases of any kind, and compare them."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import ACTIVE, in_batches
from prshots.server.adapters.sql.database.schema import images, metadata
from prshots.server.adapters.sql.move.move_state import Key

PAGE = 2000
"""Rows per transaction. A commit is cheap, and a killed move repeats few rows."""

COPY_LOCK = 0x7072_7368_6F74_7303
"""The number of the advisory lock on PostgreSQL. Any number works, as long as nothing else uses it."""

_SEEDED = {"installation", "organizations"}
"""The tables that a migration fills."""

Rows = Sequence[Sequence[Any]]


def key_of(table: sa.Table, row: Sequence[Any]) -> Key:
    names = [column.name for column in table.columns]
    return tuple(row[names.index(column.name)] for column in table.primary_key)


def page_after(connection: sa.Connection, table: sa.Table, after: Key) -> Rows:
    """Return the next rows by key."""
    query = sa.select(table).where(*_between(table, after, None))
    return connection.execute(query.order_by(*table.primary_key).limit(PAGE)).all()


def rows_between(connection: sa.Connection, table: sa.Table, after: Key, until: Key | None) -> Rows:
    """Return the rows after `after`, up to and including `until`, or to the end if it is None."""
    return connection.execute(sa.select(table).where(*_between(table, after, until))).all()


def rows_with(connection: sa.Connection, table: sa.Table, keys: Collection[Key]) -> Iterator[Rows]:
    """Yield the rows with these keys in batches."""
    for some in in_batches(_primary_keys(table, keys)):
        yield connection.execute(sa.select(table).where(_is_one_of(table, some))).all()


def replace_rows(
    connection: sa.Connection, table: sa.Table, keys: Collection[Key], pages: Iterable[Rows]
) -> None:
    """Delete the rows with these keys, then insert these rows."""
    for some in in_batches(_primary_keys(table, keys)):
        connection.execute(sa.delete(table).where(_is_one_of(table, some)))
    for rows in pages:
        _insert(connection, table, rows)


def replace_page(
    connection: sa.Connection, table: sa.Table, after: Key, until: Key | None, rows: Rows
) -> None:
    """Replace the rows after `after`, up to and including `until`, with these rows."""
    connection.execute(sa.delete(table).where(*_between(table, after, until)))
    _insert(connection, table, rows)


def digest(rows: Iterable[Sequence[Any]]) -> str:
    """Return a hash of the rows that is the same on every database. Replaces NUL, as PostgreSQL requires."""
    hashing = hashlib.blake2b(digest_size=16)
    for row in sorted(repr(tuple(row)) for row in rows):
        hashing.update(row.replace("\\x00", "\N{REPLACEMENT CHARACTER}").encode())
    return hashing.hexdigest()


def count_rows(connection: sa.Connection, table: sa.Table) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def is_unused(connection: sa.Connection) -> bool:
    """Return whether all tables are empty, except those that a migration fills."""
    others = [table for table in metadata.sorted_tables if table.name not in _SEEDED]
    return all(connection.execute(sa.select(table).limit(1)).first() is None for table in others)


def empty_tables(connection: sa.Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(sa.delete(table))


def wait_with_references(connection: sa.Connection, *, until_commit: bool) -> None:
    """Defer foreign key checks to the commit, or check at each statement again.

    A whole transaction makes the copy equal to a snapshot of the original. Single statements don't.
    """
    if connection.dialect.name == "sqlite":
        return  # `begin_copying` sets this in every transaction
    found = connection.execute(
        sa.text(
            "SELECT conrelid::regclass::text, conname FROM pg_constraint "
            "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
        )
    ).all()
    how = "DEFERRABLE INITIALLY DEFERRED" if until_commit else "NOT DEFERRABLE"
    for table, name in found:
        connection.exec_driver_sql(f'ALTER TABLE {table} ALTER CONSTRAINT "{name}" {how}')


def begin_copying(connection: sa.Connection) -> None:
    """Prepare a transaction that copies.

    On PostgreSQL, the last transaction of a killed move may still be running and may commit. This waits for
    its end, to see its rows and replace them.
    """
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    else:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({COPY_LOCK})")


def highest_numbers(connection: sa.Connection) -> dict[str, int]:
    """Return the highest number that each table's sequence has assigned, including to deleted rows."""
    numbers: dict[str, int] = {}
    for table in _numbered_tables():
        highest = connection.execute(sa.select(sa.func.coalesce(sa.func.max(table.c.seq), 0))).scalar_one()
        if connection.dialect.name == "postgresql":
            asking = f"SELECT last_value FROM {_sequence_of(connection, table)}"  # noqa: S608 - from the server
            highest = max(highest, connection.exec_driver_sql(asking).scalar_one())
        numbers[table.name] = highest
    return numbers


def continue_numbers(connection: sa.Connection, numbers: dict[str, int]) -> None:
    """Make new rows get higher numbers than these. SQLite does so by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in _numbered_tables():
        setting = sa.text("SELECT setval(CAST(:name AS regclass), :number)")
        name = _sequence_of(connection, table)
        connection.execute(setting, {"name": name, "number": max(1, numbers[table.name])})


def images_of_shard(connection: sa.Connection, shard: str) -> Rows:
    """Return id, ext, sha256, thumbnail, diff_base and source_id of the active images of this shard."""
    return connection.execute(_OBJECTS.where(images.c.id >= shard, images.c.id < f"{shard}g")).all()


def images_with(connection: sa.Connection, image_ids: Collection[str]) -> Rows:
    """Return the same columns for the active images among these."""
    found: list[Sequence[Any]] = []
    for some in in_batches(image_ids):
        found += connection.execute(_OBJECTS.where(images.c.id.in_(some)))
    return found


_OBJECTS = sa.select(
    images.c.id, images.c.ext, images.c.sha256, images.c.thumbnail, images.c.diff_base, images.c.source_id
).where(ACTIVE)


def _numbered_tables() -> list[sa.Table]:
    return [table for table in metadata.sorted_tables if "seq" in table.primary_key.columns]


def _sequence_of(connection: sa.Connection, table: sa.Table) -> str:
    name = connection.execute(
        sa.text("SELECT pg_get_serial_sequence(:name, 'seq')"), {"name": table.name}
    ).scalar_one()
    return str(name)


def _insert(connection: sa.Connection, table: sa.Table, rows: Rows) -> None:
    names = [column.name for column in table.columns]
    if rows:
        connection.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in rows])


def _between(table: sa.Table, after: Key, until: Key | None) -> list[sa.ColumnElement[bool]]:
    key = sa.tuple_(*table.primary_key)
    limits = [key > _value(table, after)] if after else []
    if until is not None:
        limits.append(key <= _value(table, until))
    return limits


def _primary_keys(table: sa.Table, keys: Collection[Key]) -> set[Key]:
    """Return each primary key once.

    SQLite can reuse the number of a deleted image. The log then has the number twice, with two ids.
    """
    return {key[: len(table.primary_key)] for key in keys}


def _is_one_of(table: sa.Table, keys: Sequence[Key]) -> sa.ColumnElement[bool]:
    return sa.tuple_(*table.primary_key).in_(keys)


def _value(table: sa.Table, key: Key) -> sa.ColumnElement[Any]:
    return sa.tuple_(
        *(sa.literal(part, column.type) for part, column in zip(key, table.primary_key, strict=True))
    )
