"""Builds the components from settings: API, delivery, web."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from prshots.contract.errors import DegradedError
from prshots.server.wiring.engines import (
    awaited_keys,
    key_source,
    open_counter,
    open_database,
    open_reader,
    open_store,
    projects_in,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence

    from starlette.routing import Route

    from prshots.server.adapters.sql.database.database import Database
    from prshots.server.config.settings import Settings
    from prshots.server.delivery.decision import Delivery
    from prshots.server.domain.people.allow_list import AllowList
    from prshots.server.domain.people.ports import LoginProvider
    from prshots.server.domain.people.sign_in import SignIn
    from prshots.server.domain.projects.ports import Issuers
    from prshots.server.http.error_boundary import ErrorBoundary
    from prshots.server.http.readiness import Readiness
    from prshots.server.observability.outages import Outage
    from prshots.server.web.app import Web


@contextlib.asynccontextmanager
async def opened_sign_in(settings: Settings) -> AsyncIterator[SignIn]:
    database = open_database(settings)
    try:
        yield sign_in(settings, database)
    finally:
        await database.close()


def sign_in(settings: Settings, database: Database) -> SignIn:
    from prshots.server.adapters.sql.people import SqlPeople
    from prshots.server.domain.people.sign_in import SignIn

    return SignIn(SqlPeople(database), login_providers(settings), allow_list(settings))


def allow_list(settings: Settings) -> AllowList:
    from prshots.server.domain.people.allow_list import AllowList

    return AllowList.parse(
        settings.allowed_users, settings.allowed_organizations, settings.allowed_email_domains
    )


def login_providers(settings: Settings) -> dict[str, LoginProvider]:
    """Return the configured providers by id. Raises SettingsError for a half-configured one."""
    settings.check_providers()
    if not settings.providers:
        return {}
    from prshots.contract.addresses import github_api
    from prshots.server.adapters.identity.login_providers import GitHubProvider, OidcProvider

    def github() -> LoginProvider:
        return GitHubProvider(
            client_id=settings.github_client_id,
            client_secret=settings.github_client_secret,
            url=settings.github_url,
            api_url=github_api(settings.github_url),
            asks_for_organizations=bool(settings.allowed_organizations),
        )

    def oidc(
        provider_id: str,
        label: str,
        issuer: str,
        scope: str = "openid profile email",
        login_claims: Sequence[str] = (),
    ) -> LoginProvider:
        return OidcProvider(
            provider_id=provider_id,
            label=label,
            issuer=issuer,
            client_id=getattr(settings, f"{provider_id}_client_id"),
            client_secret=getattr(settings, f"{provider_id}_client_secret"),
            scope=scope,
            login_claims=login_claims,
        )

    make: dict[str, Callable[[], LoginProvider]] = {
        "github": github,
        # The username, in both claims; older servers have the second one only.
        "gitlab": lambda: oidc(
            "gitlab", "GitLab", settings.gitlab_url, login_claims=("preferred_username", "nickname")
        ),
        "gitea": lambda: oidc(
            "gitea",
            "Gitea",
            settings.gitea_url,
            "openid profile email groups",
            login_claims=("preferred_username",),
        ),
        "oidc": lambda: oidc("oidc", settings.oidc_name, settings.oidc_issuer),
    }
    return {name: make[name]() for name in settings.providers}


class _LazyIssuers:
    """The issuers of CI jobs' ID tokens. Their code takes 13 MB, so it is loaded with the first token."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses
        self._issuers: Issuers | None = None
        self._outages: dict[str, Outage] = {}

    async def verified_claims(self, issuer: str, id_token: str) -> dict[str, Any]:
        if self._issuers is None:
            loaded = await asyncio.to_thread(self._load)  # in a thread, so that other requests continue
            self._issuers = self._issuers or loaded
        return await self._noting_outages(issuer, self._issuers.verified_claims(issuer, id_token))

    async def _noting_outages(self, issuer: str, verifying: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        from prshots.contract.errors import ProviderError
        from prshots.server.observability.outages import Outage

        outage = self._outages.setdefault(
            issuer, Outage(f"issuer {issuer} unavailable", f"issuer {issuer} is back")
        )
        try:
            claims = await verifying
        except ProviderError as error:
            outage.note("verify", error)
            raise
        outage.works("verify")
        return claims

    def _load(self) -> Issuers:
        from prshots.server.adapters.identity.issuers import CiIssuers

        return CiIssuers(self._addresses)


def api(settings: Settings, *, is_restart: bool = False, counter_memory: int | None = None) -> ErrorBoundary:
    """Build the API, even if its engines are down. Raises SettingsError; RecordsError for a broken file.

    A worker that restarts does not give up over a broken file: it must answer something. `counter_memory` is
    the descriptor of the memory in which its supervisor's workers count together.
    """
    from prshots.server.adapters.pictures.workers.pool import COMPARING, Limits, PictureWorkers
    from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
    from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
    from prshots.server.adapters.sql.images.images import SqlImages
    from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
    from prshots.server.adapters.sql.images.staging import SqlStaged
    from prshots.server.adapters.sql.projects.projects import SqlProjects
    from prshots.server.adapters.sql.projects.trusts import SqlTrusts
    from prshots.server.api.app import create_api
    from prshots.server.api.services import PublicServices
    from prshots.server.domain.comments.service import Comments
    from prshots.server.domain.comparison.baselines import Baselines
    from prshots.server.domain.comparison.service import Comparisons
    from prshots.server.domain.images.pull_requests import PullRequests
    from prshots.server.domain.images.put_urls import PutUrls
    from prshots.server.domain.images.service import Images
    from prshots.server.domain.images.staging import Staging
    from prshots.server.domain.images.thumbnails import Thumbnails
    from prshots.server.domain.projects.keyless import Exchange
    from prshots.server.http.readiness import Readiness
    from prshots.server.observability import metrics
    from prshots.server.wiring.opening import DatabaseOpening
    from prshots.server.wiring.shared_keys import SharedKeys

    opening = DatabaseOpening(settings)
    store, counter = open_store(settings), open_counter(settings, counter_memory)
    database = opening.begin(refuses_a_broken_file=not is_restart)
    records, project_records = SqlImages(database), SqlProjects(database)
    shared_keys = None if settings.on_sqlite else SharedKeys(awaited_keys(settings), database)
    if shared_keys:
        shared_keys.begin()
    images = Images(
        records=records,
        projects=project_records,
        store=store,
        keys=shared_keys or key_source(settings),
        img_url=settings.img_url,
        web_url=settings.web_url,
        max_image_bytes=settings.max_image_bytes,
        on_expired=metrics.EXPIRED.labels("request").inc,
    )
    # Workers of their own, so that a thumbnail never waits for a comparison.
    accounts, pictures, comparing = (
        projects_in(database),
        PictureWorkers(Limits().shared_by(settings.api_workers)),
        PictureWorkers(COMPARING.shared_by(settings.api_workers)),
    )
    thumbnails = Thumbnails(records=records, store=store, render=pictures.thumbnail)
    baseline_records, comparison_records = SqlBaselines(database), SqlComparisons(database)
    comparisons = Comparisons(
        records=comparison_records,
        baselines=baseline_records,
        store=store,
        images=images,
        compare=comparing.compare,
        on_decided=lambda verdict: metrics.COMPARED_PAIRS.labels(verdict).inc(),
    )
    comments = Comments(records, images, comparisons)
    staging = Staging(records=SqlStaged(database), images=images)
    exchange = Exchange(
        SqlTrusts(database),
        _LazyIssuers(settings.issuers),
        allowed=settings.issuers,
        audiences=[settings.base_url, settings.web_url],
    )

    async def close() -> None:
        opening.stop()
        if shared_keys:
            shared_keys.stop()
        await thumbnails.close()
        await comparisons.close()
        await pictures.close()
        await comparing.close()
        await records.close()
        await counter.close()
        store.close()

    return create_api(
        services=PublicServices(
            accounts=accounts,
            images=images,
            baselines=Baselines(
                records=baseline_records, comparisons=comparison_records, store=store, images=images
            ),
            comparisons=comparisons,
            comments=comments,
            pull_requests=PullRequests(records, project_records, images),
            staging=staging,
            put_urls=PutUrls(
                records=SqlPutUrls(database), images=images, staging=staging, base_url=settings.base_url
            ),
            exchange=exchange,
            counter=counter,
        ),
        max_image_bytes=settings.max_image_bytes,
        uploads_per_minute=settings.uploads_per_minute,
        base_url=settings.base_url,
        web_url=settings.web_url,
        for_people=_routes_for_people(
            settings,
            database,
            images=images,
            baselines=baseline_records,
            comparisons=comparisons,
            comments=comments,
            projects=accounts,
            thumbnails=thumbnails,
        ),
        readiness=Readiness(
            {
                "database": with_space(settings.local_database, records.check),
                **({"keys": shared_keys.check} if shared_keys else {}),
                "store": with_space(settings.local_store, store.check),
                "counter": counter.check,
            },
            # Without a counter uploads continue, without a rate limit. Without a store only uploads and
            # deletes fail: lists, comments and sign-in still work, so no load balancer should stop them.
            optional={"counter", "store"},
        ),
        close=close,
        log_requests=settings.log_requests,
    )


def with_space(path: Path | None, check: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Extend an engine's check: raise DegradedError if the disk with its files is nearly full."""
    from prshots.server.observability.free_space import shortage

    async def check_both() -> None:
        await check()
        if path and (words := await asyncio.to_thread(shortage, path)):
            raise DegradedError(words)

    return check_both


def _routes_for_people(
    settings: Settings,
    database: Database,
    **shared: Any,  # noqa: ANN401 - the services that the dashboard shares with the public routes
) -> list[Route]:
    from prshots import __version__
    from prshots.server.adapters.sql.images.staging import SqlStaged
    from prshots.server.adapters.sql.overview import SqlOverview
    from prshots.server.adapters.sql.people import SqlPeople
    from prshots.server.adapters.sql.projects.trusts import SqlTrusts
    from prshots.server.api.dashboard.routes import ROUTES
    from prshots.server.api.dashboard.routing import DashboardServices, starlette_routes
    from prshots.server.api.login import login_routes, require_own_origin, signed_in
    from prshots.server.domain.people.organizations import Organizations
    from prshots.server.domain.projects.keyless import Trusts

    signin, overview = sign_in(settings, database), SqlOverview(database)
    for message in allow_list(settings).never_matching(settings.providers):
        structlog.get_logger().warning(message)
    services = DashboardServices(
        **shared,
        trusts=Trusts(SqlTrusts(database), settings.issuers),
        organizations=Organizations(SqlPeople(database), overview),
        overview=overview,
        staged=SqlStaged(database),
        avatar_origins=frozenset(avatar_origins(settings)),
        about={
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
        *starlette_routes(
            ROUTES,
            services,
            lambda request: signed_in(request, signin, settings.web_url),
            lambda request: require_own_origin(request, settings.web_url),
        ),
    ]


def delivery(settings: Settings) -> tuple[Delivery, Readiness]:
    from prshots.server.delivery.decision import Delivery
    from prshots.server.http.readiness import Readiness
    from prshots.server.links.ports import FileReader

    # Delivery only verifies, so a key that it made itself would verify nothing. It waits for the API's.
    reader, keys = open_reader(settings), awaited_keys(settings)

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
    from prshots.server.web import app

    return app.create_web(
        files=Path(app.__file__).with_name("dashboard"),
        api_url=settings.api_url,
        base_url=settings.base_url,
        web_url=settings.web_url,
        img_url=settings.img_url,
        avatar_origins=avatar_origins(settings),
        log_requests=settings.log_requests,
    )


def avatar_origins(settings: Settings) -> list[str]:
    """Return the origins where the configured login providers keep avatars."""
    from prshots.server.http.headers import origin_of

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
