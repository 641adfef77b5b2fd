"""Builds components from settings. Only this package chooses adapters.

The API has its own file, which only its processes load. This file opens the parts that all processes and
commands share: keys, database, origin store and counter. Its imports are inside the functions.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prshots.contract.errors import RecordsError, SchemaTooNewError, SettingsError
from prshots.server.http.headers import origin_of
from prshots.server.links import KeyRing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from sqlalchemy import Engine

    from prshots.server.adapters.keys import KeyFile
    from prshots.server.adapters.sql.database.database import Database
    from prshots.server.adapters.sql.database.migrate import Migration
    from prshots.server.adapters.sql.upkeep.key_fingerprints import SqlKeyFingerprints
    from prshots.server.config.settings import Settings
    from prshots.server.domain.images.ports import ObjectStore, RateCounter
    from prshots.server.domain.projects.keyless import Trusts
    from prshots.server.domain.projects.service import Projects
    from prshots.server.domain.storage.service import Quotas
    from prshots.server.domain.upkeep.ports import UpkeepEngines
    from prshots.server.links import FileReader, KeySource, RemoteReader


def key_file(settings: Settings) -> KeyFile:
    """Return the file that holds the keys. Raises SettingsError if the keys come from a setting."""
    from prshots.server.adapters.keys import KeyFile

    if settings.signing_keys:
        raise SettingsError("the signing keys come from PRSHOTS_SIGNING_KEYS: change them there and restart")
    return KeyFile(settings.signing_keys_file)


def awaited_keys(settings: Settings) -> KeySource:
    """Return the signing keys, even if the file doesn't exist yet. Raises SettingsError if it is invalid."""
    if settings.signing_keys or settings.signing_keys_file.exists():
        return existing_keys(settings)
    return key_file(settings)


@contextlib.contextmanager
def open_fingerprints(settings: Settings) -> Iterator[SqlKeyFingerprints]:
    """Open the signing keys' fingerprints. Raises the same errors as `open_database`."""
    from prshots.server.adapters.sql.upkeep.key_fingerprints import SqlKeyFingerprints

    database = open_database(settings)
    try:
        yield SqlKeyFingerprints(database.engine)
    finally:
        database.engine.dispose()


def existing_keys(settings: Settings) -> KeySource:
    """Return the signing keys without creating any. Raises SettingsError if there are none."""
    from prshots.server.adapters.keys import FixedKeys

    if settings.signing_keys:
        return FixedKeys(KeyRing.parse(settings.signing_keys))
    keys = key_file(settings)
    keys.ring()
    return keys


def open_database(settings: Settings) -> Database:
    """Open the database and migrate it. Raises RecordsError, or SettingsError for an invalid URL."""
    database = database_to_migrate(settings)
    try:
        migrate_opened(database, settings)
    except BaseException:
        database.engine.dispose()
        raise
    return database


@contextlib.asynccontextmanager
async def use_database(settings: Settings) -> AsyncIterator[Database]:
    """Open the database for the block, then close it. Raises the same errors as `open_database`."""
    database = open_database(settings)
    try:
        yield database
    finally:
        await database.close()


def migrate_database(settings: Settings) -> Migration:
    """Migrate the database. Return the old and new schema. Raises the same errors as `open_database`."""
    database = database_to_migrate(settings)
    try:
        return migrate_opened(database, settings)
    finally:
        database.engine.dispose()


def rewrite_database(settings: Settings) -> tuple[int, int]:
    """Rewrite SQLite's file without free pages. Return its old and new size. Raises like `open_database`."""
    from prshots.server.adapters.sql.database.database import translating
    from prshots.server.adapters.sql.database.free_pages import rewrite

    if not settings.on_sqlite:
        raise SettingsError("only SQLite's file can be rewritten: PostgreSQL reuses the space (autovacuum)")
    database = open_database(settings)
    before = settings.database_path.stat().st_size
    with translating():
        try:
            with database.engine.connect() as connection:
                rewrite(connection)
        finally:
            database.engine.dispose()
    return before, settings.database_path.stat().st_size


def database_to_migrate(settings: Settings, *, for_move: bool = False) -> Database:
    """Return the database, created but not migrated. Raises the same errors as `open_database`."""
    try:
        return _database(settings, for_move=for_move)
    except OSError as error:
        raise RecordsError(f"cannot open {settings.database_place}: {error.strerror}") from error


def migrate_opened(database: Database, settings: Settings) -> Migration:
    """Migrate the database. Raises RecordsError."""
    from prshots.server.adapters.sql.database.database import translating
    from prshots.server.adapters.sql.database.migrate import migrate
    from prshots.server.adapters.sql.move.move_state import require_usable

    try:
        with translating():
            with database.engine.connect() as connection:
                require_usable(connection, store_identity(settings))
            return migrate(database.engine)
    except SchemaTooNewError:
        raise
    except RecordsError as error:
        raise type(error)(f"{settings.database_place}: {error}") from error
    except OSError as error:
        raise RecordsError(f"cannot open {settings.database_place}: {error.strerror}") from error


async def require_usable_database(database: Database, settings: Settings) -> None:
    """Raise RecordsError if the database doesn't answer, or was moved: it refuses writes then."""
    from prshots.server.adapters.sql.move.move_state import require_usable

    await database.read(lambda connection: require_usable(connection, store_identity(settings)))


def database_as_it_is(settings: Settings) -> Database:
    """Return the database without creating, migrating or connecting to it. Raises RecordsError."""
    if settings.on_sqlite and not settings.database_path.exists():
        raise RecordsError(f"there is no database at {settings.database_path}")
    return _database(settings)


def _database(settings: Settings, *, for_move: bool = False) -> Database:
    from prshots.server.adapters.sql.move.write_refusal import say_store

    if settings.on_sqlite:
        from prshots.server.adapters.sql.database.database import Database, open_sqlite

        database = Database(open_sqlite(settings.database_path))
    else:
        with _extra("postgresql"):
            from prshots.server.adapters.sql.database.postgresql import MOVING, open_postgresql

        database = open_postgresql(settings.database_url, MOVING if for_move else None)
    say_store(database.engine, store_identity(settings))
    return database


def open_for_move(settings: Settings) -> Engine:
    """Open the database without migrating it, with timeouts for large transactions. Raises RecordsError."""
    return database_to_migrate(settings, for_move=True).engine


def store_identity(settings: Settings) -> str:
    """Return the store's location in the form that a move records."""
    return settings.store_place.rstrip("/")


@contextlib.contextmanager
def _extra(name: str) -> Iterator[None]:
    """Import an optional dependency. If it is missing, raise a SettingsError that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"these settings need the package {error.name}: pip install 'prshots[{name}]'"
        ) from error


async def count_signed_with(settings: Settings, kid: str) -> int:
    """Return how many images have URLs that this key signed. Raises RecordsError."""
    from prshots.server.adapters.sql.images.images import SqlImages

    async with use_database(settings) as database:
        return await SqlImages(database).count_signed_with(kid)


def open_store(settings: Settings) -> ObjectStore:
    """Open the origin store. Raises SettingsError for an invalid URL."""
    if settings.on_disk:
        from prshots.server.adapters.objects.disk import DiskStore

        return DiskStore(settings.store_path)
    with _extra("cloud"):
        from prshots.server.adapters.objects.cloud import CloudStore

    return CloudStore(settings.store_url)


def open_reader(settings: Settings) -> FileReader | RemoteReader:
    """Open the origin store read-only, for delivery. Raises SettingsError for an invalid URL."""
    if settings.on_disk:
        from prshots.server.adapters.objects.disk import DiskReader

        return DiskReader(settings.store_path)
    with _extra("cloud"):
        from prshots.server.adapters.objects.cloud import CloudReader
        from prshots.server.adapters.objects.hot_copies import HotReader

    if not settings.img_cache_bytes:
        return CloudReader(settings.store_url)
    return HotReader(settings.store_url, settings.img_cache_bytes)


def open_counter(settings: Settings, memory: int | None = None) -> RateCounter:
    """Open the counter. Processes that pass the same descriptor share a counter in memory."""
    if settings.counts_in_memory:
        from prshots.server.adapters.counters.memory import MemoryCounter

        return MemoryCounter(settings.uploads_per_minute, memory=memory)
    with _extra("redis"):
        from prshots.server.adapters.counters.redis import RedisCounter

    return RedisCounter(settings.counter_url, settings.uploads_per_minute)


def projects_in(database: Database) -> Projects:
    from prshots.server.adapters.sql.projects.projects import SqlProjects, SqlTokens
    from prshots.server.domain.projects.service import Projects

    return Projects(SqlProjects(database), SqlTokens(database))


def quotas_in(database: Database, settings: Settings) -> Quotas:
    from prshots.server.adapters.sql.storage.quotas import SqlQuotas
    from prshots.server.domain.storage.service import Quotas

    return Quotas(SqlQuotas(database), settings.organization_quota_bytes, settings.project_quota_bytes)


@contextlib.asynccontextmanager
async def open_accounts(settings: Settings) -> AsyncIterator[tuple[Projects, Trusts]]:
    """Open projects and their trusts. Raises RecordsError."""
    from prshots.server.adapters.sql.projects.trusts import SqlTrusts
    from prshots.server.domain.projects.keyless import Trusts

    async with use_database(settings) as database:
        yield projects_in(database), Trusts(SqlTrusts(database), settings.issuers)


async def encrypt_secrets_again(database: Database, read_ring: Callable[[], KeyRing]) -> None:
    """Encrypt the secrets of connections and webhooks with the first signing key. Raises RecordsError."""
    from prshots.server.adapters.forges.token_encryption import encrypt_again
    from prshots.server.adapters.sql.outbox.connections import SqlConnections
    from prshots.server.adapters.sql.outbox.webhooks import SqlWebhooks

    await encrypt_again(SqlConnections(database), read_ring)
    await encrypt_again(SqlWebhooks(database), read_ring)


async def kids_of_secrets(database: Database) -> set[str]:
    """Return the signing keys that the secrets of connections and webhooks are encrypted with."""
    from prshots.server.adapters.sql.outbox.connections import SqlConnections
    from prshots.server.adapters.sql.outbox.webhooks import SqlWebhooks

    connected, signing = await SqlConnections(database).secrets(), await SqlWebhooks(database).secrets()
    return {each.kid for each in connected} | {each.kid for each in signing}


@contextlib.asynccontextmanager
async def open_for_sweep(settings: Settings) -> AsyncIterator[UpkeepEngines]:
    from prshots.server.adapters.deadlines import SWEEP_SECONDS

    database, store = open_database(settings), open_store(settings)
    database.call_seconds = SWEEP_SECONDS
    try:
        yield upkeep_engines(database, store, lambda: existing_keys(settings).ring(), settings.audit_days)
    finally:
        await database.close()
        store.close()


def upkeep_engines(
    database: Database, store: ObjectStore, ring: Callable[[], KeyRing], audit_days: int
) -> UpkeepEngines:
    from prshots.server.adapters.sql.audit import SqlAudit
    from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
    from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
    from prshots.server.adapters.sql.images.images import SqlImages
    from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
    from prshots.server.adapters.sql.images.staging import SqlStaged
    from prshots.server.adapters.sql.outbox.outbox import SqlOutbox
    from prshots.server.adapters.sql.outbox.webhook_queues import SqlWebhookQueues
    from prshots.server.adapters.sql.people import SqlPeople
    from prshots.server.adapters.sql.projects.projects import SqlProjects, SqlTokens
    from prshots.server.adapters.sql.review.noise import SqlNoise
    from prshots.server.adapters.sql.review.share_links import SqlShareLinks
    from prshots.server.adapters.sql.storage.usage import SqlUsage
    from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
    from prshots.server.domain.upkeep.ports import UpkeepEngines

    return UpkeepEngines(
        SqlImages(database),
        SqlPeople(database),
        store,
        SqlUpkeep(database),
        SqlBaselines(database),
        SqlComparisons(database),
        SqlStaged(database),
        SqlPutUrls(database),
        SqlProjects(database),
        SqlTokens(database),
        SqlNoise(database),
        SqlShareLinks(database),
        SqlOutbox(database),
        SqlAudit(database),
        audit_days,
        SqlUsage(database),
        SqlWebhookQueues(database),
        partial(encrypt_secrets_again, database, ring),
    )


def avatar_origins(settings: Settings) -> list[str]:
    """Return the origins from which the configured login providers serve avatars."""
    github = origin_of(settings.github_url)
    origins = {
        "github": [
            "https://avatars.githubusercontent.com" if github == "https://github.com" else github,
        ],
        "gitlab": [origin_of(settings.gitlab_url), "https://secure.gravatar.com"],
        "gitea": [origin_of(settings.gitea_url)],
        "oidc": [origin_of(settings.oidc_issuer)],
    }
    return [origin for provider in settings.providers for origin in origins[provider]]


def forge_hosts(settings: Settings) -> dict[str, str]:
    """Return the host of the forge that each login provider belongs to, by the provider's name."""
    urls = {"github": settings.github_url, "gitlab": settings.gitlab_url, "gitea": settings.gitea_url}
    return {name: urlsplit(url).hostname or "" for name, url in urls.items()}
