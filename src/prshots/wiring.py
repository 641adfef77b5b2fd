"""Settings in, parts of the service out: the only place that picks an adapter.

Imports stand inside the functions, so that a process loads only what its part needs.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from prshots.errors import RecordsError, SchemaTooNewError, SettingsError
from prshots.signing import KeyRing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.routing import Route

    from prshots.accounts import Accounts
    from prshots.http.delivery import Delivery
    from prshots.http.edge import App, Edge
    from prshots.images import Images
    from prshots.ports import KeySource, LoginProvider
    from prshots.settings import Settings
    from prshots.signin import SignIn
    from prshots.stores.disk import DiskStore
    from prshots.stores.engine import Database
    from prshots.stores.keys import KeyFile
    from prshots.stores.people import SqlPeople
    from prshots.stores.sql import SqlRecords
    from prshots.thumbnails import Thumbnails


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


def open_database(settings: Settings) -> Database:
    """Open the database, migrated. Raises RecordsError."""
    from prshots.stores.engine import Database, open_sqlite, translating
    from prshots.stores.migrate import migrate

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
    return Database(engine)


def open_records(settings: Settings) -> SqlRecords:
    """Open the database for its records alone. Raises RecordsError."""
    from prshots.stores.sql import SqlRecords

    return SqlRecords(open_database(settings))


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
async def opened_for_sweep(settings: Settings) -> AsyncIterator[tuple[SqlRecords, SqlPeople, DiskStore]]:
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


def api(settings: Settings) -> Edge:
    from prshots.accounts import Accounts
    from prshots.http.api import create_api
    from prshots.images import Images
    from prshots.stores.counters import MemoryCounter
    from prshots.stores.sql import SqlRecords
    from prshots.thumbnails import Thumbnails

    database, store = open_database(settings), open_store(settings)
    records = SqlRecords(database)
    images = Images(
        records=records,
        store=store,
        counter=MemoryCounter(settings.uploads_per_minute),
        keys=key_source(settings),
        img_url=settings.img_url,
        web_url=settings.web_url,
        max_image_bytes=settings.max_image_bytes,
    )
    accounts, thumbnails = Accounts(records), Thumbnails(records=records, store=store)

    async def close() -> None:
        await thumbnails.close()
        await records.close()
        store.close()

    return create_api(
        images=images,
        accounts=accounts,
        max_image_bytes=settings.max_image_bytes,
        base_url=settings.base_url,
        for_people=_routes_for_people(settings, database, images, accounts, thumbnails),
        close=close,
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

    signin, overview = sign_in(settings, database), SqlOverview(database)
    dashboard = Dashboard(
        images=images,
        accounts=accounts,
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


def delivery(settings: Settings) -> Delivery:
    from prshots.http.delivery import Delivery
    from prshots.stores.disk import DiskReader

    return Delivery(DiskReader(settings.store_path), key_source(settings), settings.cache_seconds)


def web(settings: Settings) -> App:
    import prshots
    from prshots.http.web import create_web

    return create_web(
        files=Path(prshots.__file__).with_name("dashboard"),
        api_url=settings.api_url,
        web_url=settings.web_url,
        img_url=settings.img_url,
        avatar_origins=avatar_origins(settings),
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
