"""Settings in, parts of the service out: the only place that picks an adapter.

Imports stand inside the functions, so that a process loads only what its part needs.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from prshots.errors import RecordsError, SchemaTooNewError, SettingsError
from prshots.signing import KeyRing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from prshots.accounts import Accounts
    from prshots.http.delivery import Delivery
    from prshots.http.edge import Edge
    from prshots.ports import KeySource
    from prshots.settings import Settings
    from prshots.stores.disk import DiskStore
    from prshots.stores.keys import KeyFile
    from prshots.stores.sql import SqlRecords


def key_file(settings: Settings) -> KeyFile:
    """Return the file the keys are kept in. Raises SettingsError when they are fixed by a setting."""
    from prshots.stores.keys import KeyFile

    if settings.signing_keys:
        raise SettingsError("the keys come from PRSHOTS_SIGNING_KEYS: change them there and restart")
    return KeyFile(settings.signing_keys_file)


def key_source(settings: Settings) -> KeySource:
    """Return the signing keys, made if this is the first start. Never none: no key, no start."""
    from prshots.stores.keys import FixedKeys

    if settings.signing_keys:
        return FixedKeys(KeyRing.parse(settings.signing_keys))
    keys = key_file(settings)
    try:
        keys.create_if_missing()
    except OSError as error:
        raise SettingsError(f"cannot write the signing keys to {keys.path}: {error.strerror}") from error
    keys.ring()
    return keys


def open_records(settings: Settings) -> SqlRecords:
    """Open the database, migrated. Raises RecordsError."""
    from prshots.stores.engine import Database, open_sqlite, translating
    from prshots.stores.migrate import migrate
    from prshots.stores.sql import SqlRecords

    try:
        with translating():
            engine = open_sqlite(settings.database_path)
            migrate(engine)
    except SchemaTooNewError:
        raise
    except RecordsError as error:
        raise type(error)(f"{settings.database_path}: {error}") from error
    except OSError as error:
        raise RecordsError(f"cannot open {settings.database_path}: {error.strerror}") from error
    return SqlRecords(Database(engine))


def open_store(settings: Settings) -> DiskStore:
    from prshots.stores.disk import DiskStore

    return DiskStore(settings.store_path)


@contextlib.asynccontextmanager
async def opened_accounts(settings: Settings) -> AsyncIterator[Accounts]:
    from prshots.accounts import Accounts

    records = open_records(settings)
    try:
        yield Accounts(records)
    finally:
        await records.close()


@contextlib.asynccontextmanager
async def opened_for_sweep(settings: Settings) -> AsyncIterator[tuple[SqlRecords, DiskStore]]:
    records, store = open_records(settings), open_store(settings)
    try:
        yield records, store
    finally:
        await records.close()
        store.close()


def api(settings: Settings) -> Edge:
    from prshots.accounts import Accounts
    from prshots.http.api import create_api
    from prshots.images import Images
    from prshots.stores.counters import MemoryCounter

    records, store = open_records(settings), open_store(settings)
    images = Images(
        records=records,
        store=store,
        counter=MemoryCounter(settings.uploads_per_minute),
        keys=key_source(settings),
        img_url=settings.img_url,
        web_url=settings.web_url,
        max_image_bytes=settings.max_image_bytes,
    )

    async def close() -> None:
        await records.close()
        store.close()

    return create_api(
        images=images,
        accounts=Accounts(records),
        max_image_bytes=settings.max_image_bytes,
        base_url=settings.base_url,
        close=close,
    )


def delivery(settings: Settings) -> Delivery:
    from prshots.http.delivery import Delivery
    from prshots.stores.disk import DiskReader

    return Delivery(DiskReader(settings.store_path), key_source(settings), settings.cache_seconds)
