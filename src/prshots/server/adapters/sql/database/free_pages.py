"""Return free pages of SQLite's file to the disk.

SQLite keeps the pages of deleted records for new ones and never shrinks the file by itself. Incremental
vacuum moves pages from the end of the file into free ones and truncates the file, a few pages at a time.
"""

from pathlib import Path

from sqlalchemy import Connection

from prshots.server.observability.metrics import free_bytes

INCREMENTAL = 2
STEP_PAGES = 256
"""1 MB at a time. Uploads wait for this, but only for a few milliseconds."""

KEPT_FREE = 256, 0.1
"""Keep at least this many free pages, and this share of the file, for the next uploads. Moving pages costs
more."""

REWRITTEN_BYTES = 64 * 1024**2
"""A file up to this size takes less than a second to rewrite. Larger files are only rewritten on request,
because uploads wait."""

CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"  # doesn't wait for other connections


def reclaim_some(connection: Connection) -> int:
    """Cut up to `STEP_PAGES` free pages off the file. Return the bytes freed. Call this in a transaction."""
    # PostgreSQL's autovacuum reuses the space.
    if connection.dialect.name != "sqlite" or _pragma(connection, "auto_vacuum") != INCREMENTAL:
        return 0
    free, pages = _pragma(connection, "freelist_count"), _pragma(connection, "page_count")
    surplus = free - max(KEPT_FREE[0], int(pages * KEPT_FREE[1]))
    if surplus <= 0:
        return 0
    cursor = connection.connection.cursor()
    for _ in range(min(surplus, STEP_PAGES)):
        cursor.execute("PRAGMA incremental_vacuum(1)")  # even for a higher number, Python frees one page
    cursor.close()
    return (pages - _pragma(connection, "page_count")) * _pragma(connection, "page_size")


def is_small_enough_to_rewrite(connection: Connection) -> bool:
    """Return whether the file can't shrink yet, but rewriting it is quick and fits on the disk."""
    if connection.dialect.name != "sqlite" or _pragma(connection, "auto_vacuum") == INCREMENTAL:
        return False
    size = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    file = connection.exec_driver_sql("PRAGMA database_list").one()[2]
    return size <= REWRITTEN_BYTES and free_bytes(Path(file)) > 3 * size


def rewrite(connection: Connection) -> None:
    """Rewrite the whole file without free pages. From then on, it can shrink. Blocks all writers.

    Needs twice the file's size. Call this outside a transaction.
    """
    connection.exec_driver_sql("PRAGMA auto_vacuum = INCREMENTAL")
    connection.exec_driver_sql("VACUUM")
    connection.exec_driver_sql(CHECKPOINT).all()


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
