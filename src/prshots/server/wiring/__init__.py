"""Builds components from settings. This is the only place that chooses adapters.

Imports are inside the functions, so that a process only loads what its component needs.
"""

from prshots.server.wiring.components import api, avatar_origins, delivery, opened_sign_in, web
from prshots.server.wiring.engines import (
    awaited_keys,
    database_as_it_is,
    existing_keys,
    key_file,
    key_source,
    migrate_database,
    open_counter,
    open_database,
    open_for_move,
    open_reader,
    open_records,
    open_store,
    opened_fingerprints,
    opened_for_sweep,
    opened_projects,
    opened_trusts,
    rewrite_database,
    store_identity,
)

__all__ = [
    "api",
    "avatar_origins",
    "awaited_keys",
    "database_as_it_is",
    "delivery",
    "existing_keys",
    "key_file",
    "key_source",
    "migrate_database",
    "open_counter",
    "open_database",
    "open_for_move",
    "open_reader",
    "open_records",
    "open_store",
    "opened_fingerprints",
    "opened_for_sweep",
    "opened_projects",
    "opened_sign_in",
    "opened_trusts",
    "rewrite_database",
    "store_identity",
    "web",
]
