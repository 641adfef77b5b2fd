"""Builds components from settings. This is the only place that chooses adapters.

Each component has a file, which only its processes load. What other processes open is in `engines.py`, with
imports inside the functions.
"""

from prshots.server.wiring.engines import (
    awaited_keys,
    database_as_it_is,
    existing_keys,
    key_file,
    key_source,
    migrate_database,
    open_counter,
    open_database,
    open_fingerprints,
    open_for_move,
    open_for_sweep,
    open_projects,
    open_reader,
    open_records,
    open_store,
    open_trusts,
    rewrite_database,
    store_identity,
)

__all__ = [
    "awaited_keys",
    "database_as_it_is",
    "existing_keys",
    "key_file",
    "key_source",
    "migrate_database",
    "open_counter",
    "open_database",
    "open_fingerprints",
    "open_for_move",
    "open_for_sweep",
    "open_projects",
    "open_reader",
    "open_records",
    "open_store",
    "open_trusts",
    "rewrite_database",
    "store_identity",
]
