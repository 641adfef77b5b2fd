"""Settings in, parts of the service out: the only place that picks an adapter.

Imports stand inside the functions, so that a process loads only what its part needs.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from prshots.errors import RecordsError, SchemaTooNewError, SettingsError
from prshots.signing import KeyRing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator
    from typing import Any

    from starlette.routing import Route

    from prshots.accounts import Accounts
    from prshots.http.delivery import Delivery
    from prshots.http.edge import Edge
    from prshots.http.readiness import Readiness
    from prshots.http.web import Web
    from prshots.images import Images
    from prshots.ports import (
        FileReader,
        Issuers,
        KeySource,
        LoginProvider,
        ObjectStore,
        RateCounter,
        RemoteReader,
    )
    from prshots.settings import Settings
    from prshots.signin import SignIn
    from prshots.stores.engine import Database
    from prshots.stores.keys import KeyFile
    from prshots.stores.people import SqlPeople
    from prshots.stores.sql import SqlRecords
    from prshots.thumbnails import Thumbnails
    from prshots.trusts import Trusts


def key_file(settings: Settings) -> KeyFile:
    """Return the file the keys are kept in. Raises SettingsError when they are fixed by a setting."""
    from prshots.stores.keys import KeyFile

    if settings.signing_keys:
        raise SettingsError("the keys come from PRSHOTS_SIGNING_KEYS: change them there and restart")
    return KeyFile(settings.signing_keys_file)


def key_source(settings: Settings) -> KeySource:
    """Return the signing keys, made if this is the first start. Never none: no key, no start."""
    if not settings.signing_keys:
        keys = key_file(settings)
        try:
            keys.create_if_missing()
        except OSError as error:
            raise SettingsError(f"cannot write the signing keys to {keys.path}: {error.strerror}") from error
    return existing_keys(settings)


def existing_keys(settings: Settings) -> KeySource:
    """Return the signing keys, but make none. Raises SettingsError when there are none to be read."""
    from prshots.stores.keys import FixedKeys

    if settings.signing_keys:
        return FixedKeys(KeyRing.parse(settings.signing_keys))
    keys = key_file(settings)
    keys.ring()
    return keys


def open_database(settings: Settings) -> Database:
    """Open the database, migrated. Raises RecordsError; and SettingsError for an address that is none."""
    database, _ = _opened_database(settings)
    return database


def migrate_database(settings: Settings) -> tuple[str | None, str]:
    """Migrate the database and return its schema's version before and now. Raises as `open_database`."""
    from prshots.stores.schema import SCHEMA_VERSION

    database, before = _opened_database(settings)
    database.engine.dispose()
    return before, SCHEMA_VERSION


def _opened_database(settings: Settings) -> tuple[Database, str | None]:
    from prshots.stores.engine import translating
    from prshots.stores.migrate import migrate

    with contextlib.ExitStack() as unless_open:
        try:
            with translating():
                database = _database(settings)
                unless_open.callback(database.engine.dispose)
                before = migrate(database.engine)
        except SchemaTooNewError:
            raise
        except RecordsError as error:
            raise type(error)(f"{settings.database_place}: {error}") from error
        except OSError as error:
            raise RecordsError(f"cannot open {settings.database_place}: {error.strerror}") from error
        unless_open.pop_all()
    return database, before


def database_as_it_is(settings: Settings) -> Database:
    """Return the database neither made nor migrated, and not yet connected to. Raises RecordsError."""
    if settings.on_sqlite and not settings.database_path.exists():
        raise RecordsError(f"there is no database at {settings.database_path}")
    return _database(settings)


def _database(settings: Settings) -> Database:
    if settings.on_sqlite:
        from prshots.stores.engine import Database, open_sqlite

        return Database(open_sqlite(settings.database_path))
    with _extra("postgresql"):
        from prshots.stores.postgresql import open_postgresql

    return open_postgresql(settings.database_url)


@contextlib.contextmanager
def _extra(name: str) -> Iterator[None]:
    """Import what not everybody has installed. Raises SettingsError, with how to."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"these settings need the package {error.name}: pip install 'prshots[{name}]'"
        ) from error


def open_records(settings: Settings) -> SqlRecords:
    """Open the database for its records alone. Raises RecordsError."""
    from prshots.stores.sql import SqlRecords

    return SqlRecords(open_database(settings))


def open_store(settings: Settings) -> ObjectStore:
    """Open the image store. Raises SettingsError for an address that the store's kind does not take."""
    if settings.on_disk:
        from prshots.stores.disk import DiskStore

        return DiskStore(settings.store_path)
    with _extra("cloud"):
        from prshots.stores.cloud import CloudStore

    return CloudStore(settings.store_url)


def open_reader(settings: Settings) -> FileReader | RemoteReader:
    """Open the image store for delivery, which only reads. Raises SettingsError as `open_store` does."""
    if settings.on_disk:
        from prshots.stores.disk import DiskReader

        return DiskReader(settings.store_path)
    with _extra("cloud"):
        from prshots.stores.cloud import CloudReader

    return CloudReader(settings.store_url)


def open_counter(settings: Settings) -> RateCounter:
    from prshots.stores.counters import MemoryCounter

    if settings.counter_url == "memory://":
        return MemoryCounter(settings.uploads_per_minute)
    with _extra("redis"):
        from prshots.stores.redis_counter import RedisCounter

    return RedisCounter(settings.counter_url, settings.uploads_per_minute)


@contextlib.asynccontextmanager
async def opened_accounts(settings: Settings) -> AsyncIterator[Accounts]:
    from prshots.accounts import Accounts

    records = open_records(settings)
    try:
        yield Accounts(records)
    finally:
        await records.close()


@contextlib.asynccontextmanager
async def opened_trusts(settings: Settings) -> AsyncIterator[tuple[Accounts, Trusts]]:
    """Open projects and what they trust. Raises RecordsError."""
    from prshots.accounts import Accounts
    from prshots.stores.sql import SqlRecords
    from prshots.stores.trusts import SqlTrusts
    from prshots.trusts import Trusts

    database = open_database(settings)
    try:
        yield Accounts(SqlRecords(database)), Trusts(SqlTrusts(database), settings.issuers)
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def opened_for_sweep(settings: Settings) -> AsyncIterator[tuple[SqlRecords, SqlPeople, ObjectStore]]:
    from prshots.stores.people import SqlPeople
    from prshots.stores.sql import SqlRecords

    database, store = open_database(settings), open_store(settings)
    try:
        yield SqlRecords(database), SqlPeople(database), store
    finally:
        await database.close()
        store.close()


@contextlib.asynccontextmanager
async def opened_sign_in(settings: Settings) -> AsyncIterator[SignIn]:
    database = open_database(settings)
    try:
        yield sign_in(settings, database)
    finally:
        await database.close()


def sign_in(settings: Settings, database: Database) -> SignIn:
    from prshots.signin import AllowList, SignIn
    from prshots.stores.people import SqlPeople

    allowed = AllowList.parse(
        settings.allowed_users, settings.allowed_organizations, settings.allowed_email_domains
    )
    return SignIn(SqlPeople(database), login_providers(settings), allowed)


def login_providers(settings: Settings) -> dict[str, LoginProvider]:
    """Return the providers that are set up, by id. Raises SettingsError for half a provider."""
    settings.check_providers()
    if not settings.providers:
        return {}
    from prshots.stores.login_providers import GitHubProvider, OidcProvider

    def github() -> LoginProvider:
        own = settings.github_url != "https://github.com"
        return GitHubProvider(
            client_id=settings.github_client_id,
            client_secret=settings.github_client_secret,
            url=settings.github_url,
            api_url=f"{settings.github_url}/api/v3" if own else "https://api.github.com",
            asks_for_organizations=bool(settings.allowed_organizations),
        )

    def oidc(provider_id: str, label: str, issuer: str, scope: str = "openid profile email") -> LoginProvider:
        return OidcProvider(
            provider_id=provider_id,
            label=label,
            issuer=issuer,
            client_id=getattr(settings, f"{provider_id}_client_id"),
            client_secret=getattr(settings, f"{provider_id}_client_secret"),
            scope=scope,
        )

    make: dict[str, Callable[[], LoginProvider]] = {
        "github": github,
        "gitlab": lambda: oidc("gitlab", "GitLab", settings.gitlab_url),
        "gitea": lambda: oidc("gitea", "Gitea", settings.gitea_url, "openid profile email groups"),
        "oidc": lambda: oidc("oidc", settings.oidc_name, settings.oidc_issuer),
    }
    return {name: make[name]() for name in settings.providers}


class _IssuersWhenNeeded:
    """The issuers of CI jobs' ID tokens. Their 13 MB of code come with the first token, if one ever does."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses
        self._issuers: Issuers | None = None

    async def verified_claims(self, issuer: str, id_token: str) -> dict[str, Any]:
        if self._issuers is None:
            made = await asyncio.to_thread(self._made)  # requests go on meanwhile
            self._issuers = self._issuers or made
        return await self._issuers.verified_claims(issuer, id_token)

    def _made(self) -> Issuers:
        from prshots.stores.issuers import CiIssuers

        return CiIssuers(self._addresses)


def api(settings: Settings) -> Edge:
    from prshots import metrics
    from prshots.accounts import Accounts
    from prshots.http.api import create_api
    from prshots.http.readiness import Readiness
    from prshots.images import Images
    from prshots.stores.sql import SqlRecords
    from prshots.stores.trusts import SqlTrusts
    from prshots.thumbnails import Thumbnails
    from prshots.trusts import Exchange

    database, store, counter = open_database(settings), open_store(settings), open_counter(settings)
    records = SqlRecords(database)
    images = Images(
        records=records,
        store=store,
        counter=counter,
        keys=key_source(settings),
        img_url=settings.img_url,
        web_url=settings.web_url,
        max_image_bytes=settings.max_image_bytes,
        on_expired=metrics.EXPIRED.labels("request").inc,
    )
    accounts, thumbnails = Accounts(records), Thumbnails(records=records, store=store)
    exchange = Exchange(
        SqlTrusts(database),
        _IssuersWhenNeeded(settings.issuers),
        allowed=settings.issuers,
        audiences=[settings.base_url, settings.web_url],
    )

    async def close() -> None:
        await thumbnails.close()
        await records.close()
        await counter.close()
        store.close()

    return create_api(
        images=images,
        accounts=accounts,
        exchange=exchange,
        max_image_bytes=settings.max_image_bytes,
        base_url=settings.base_url,
        for_people=_routes_for_people(settings, database, images, accounts, thumbnails),
        readiness=Readiness(
            {"database": records.check, "store": store.check, "counter": counter.check},
            optional={"counter"},  # without it uploads go on, only unlimited
        ),
        close=close,
        log_requests=settings.log_requests,
    )


def _routes_for_people(
    settings: Settings, database: Database, images: Images, accounts: Accounts, thumbnails: Thumbnails
) -> list[Route]:
    from prshots import __version__
    from prshots.http.dashboard import Dashboard
    from prshots.http.login import login_routes, require_own_origin, signed_in
    from prshots.organizations import Organizations
    from prshots.stores.overview import SqlOverview
    from prshots.stores.people import SqlPeople
    from prshots.stores.trusts import SqlTrusts
    from prshots.trusts import Trusts

    signin, overview = sign_in(settings, database), SqlOverview(database)
    dashboard = Dashboard(
        images=images,
        accounts=accounts,
        trusts=Trusts(SqlTrusts(database), settings.issuers),
        organizations=Organizations(SqlPeople(database), overview),
        overview=overview,
        thumbnails=thumbnails,
        avatar_origins=frozenset(avatar_origins(settings)),
        service={
            "base_url": settings.base_url,
            "img_url": settings.img_url,
            "web_url": settings.web_url,
            "max_image_bytes": settings.max_image_bytes,
            "uploads_per_minute": settings.uploads_per_minute,
            "trusted_issuers": settings.issuers,
            "version": __version__,
        },
    )
    return [
        *login_routes(signin, web_url=settings.web_url),
        *dashboard.routes(
            lambda request: signed_in(request, signin, settings.web_url),
            lambda request: require_own_origin(request, settings.web_url),
        ),
    ]


def delivery(settings: Settings) -> tuple[Delivery, Readiness]:
    from prshots.http.delivery import Delivery
    from prshots.http.readiness import Readiness
    from prshots.ports import FileReader

    reader, keys = open_reader(settings), key_source(settings)

    async def check_keys() -> None:
        keys.ring()

    async def check_store() -> None:
        if isinstance(reader, FileReader):  # a disk may hang
            await asyncio.to_thread(reader.check)
        else:
            await reader.check()

    return (
        Delivery(reader, keys, settings.cache_seconds),
        Readiness({"keys": check_keys, "store": check_store}),
    )


def web(settings: Settings) -> Web:
    import prshots
    from prshots.http.web import create_web

    return create_web(
        files=Path(prshots.__file__).with_name("dashboard"),
        api_url=settings.api_url,
        web_url=settings.web_url,
        img_url=settings.img_url,
        avatar_origins=avatar_origins(settings),
        log_requests=settings.log_requests,
    )


def avatar_origins(settings: Settings) -> list[str]:
    """Return where the login providers that are set up keep people's pictures."""
    from prshots.http.origins import origin_of

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
