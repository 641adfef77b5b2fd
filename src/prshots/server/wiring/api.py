"""Builds the API component from settings."""

import asyncio
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from starlette.routing import Route

from prshots import __version__
from prshots.contract.errors import (
    DegradedError,
    ProviderError,
)
from prshots.server.adapters.forges.delivery import Deliveries
from prshots.server.adapters.pictures.workers.pool import COMPARING, PictureWorkers, WorkerLimits
from prshots.server.adapters.sql.audit import SqlAudit
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.groups import SqlGroups
from prshots.server.adapters.sql.images.images import SqlImages
from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.invitation_links import SqlInvitationLinks
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.adapters.sql.outbox.outbox import SqlOutbox
from prshots.server.adapters.sql.outbox.webhook_queues import SqlWebhookQueues
from prshots.server.adapters.sql.outbox.webhooks import SqlWebhooks
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.projects import SqlProjects
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.adapters.sql.review.decisions import SqlReviews
from prshots.server.adapters.sql.review.noise import SqlNoise
from prshots.server.adapters.sql.review.share_links import SqlShareLinks
from prshots.server.adapters.sql.storage.usage import SqlUsage
from prshots.server.adapters.sql.upkeep.key_fingerprints import SharedKeys
from prshots.server.adapters.webhooks.receivers import Receivers
from prshots.server.api.app import create_api
from prshots.server.api.dashboard.routes import ROUTES
from prshots.server.api.dashboard.routing import DashboardServices, starlette_routes
from prshots.server.api.dashboard.share_links import shared_route
from prshots.server.api.login import login_routes
from prshots.server.api.services import PublicServices
from prshots.server.config.settings import Settings
from prshots.server.config.values import parse_networks
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.comparison.baselines import Baselines
from prshots.server.domain.comparison.service import Comparisons
from prshots.server.domain.images.put_urls import PutUrls
from prshots.server.domain.images.service import Images
from prshots.server.domain.images.staging import Staging
from prshots.server.domain.images.thumbnails import Thumbnails
from prshots.server.domain.outbox.service import Outbox
from prshots.server.domain.people.joining import Joining
from prshots.server.domain.people.organizations import Organizations
from prshots.server.domain.projects.keyless import TokenExchange, Trusts
from prshots.server.domain.projects.ports import Issuers
from prshots.server.domain.review.noise_service import Noise
from prshots.server.domain.review.service import Reviews
from prshots.server.domain.review.sharing import ShareLinks
from prshots.server.domain.webhooks.service import WebhookSender
from prshots.server.http.error_boundary import ErrorBoundary
from prshots.server.http.readiness import Check, Readiness
from prshots.server.observability import metrics
from prshots.server.observability.metrics import shortage
from prshots.server.observability.outages import Outage
from prshots.server.wiring import (
    avatar_origins,
    awaited_keys,
    forge_hosts,
    open_counter,
    open_store,
    projects_in,
    quotas_in,
    require_usable_database,
)
from prshots.server.wiring.forges import open_forges
from prshots.server.wiring.opening import DatabaseOpening
from prshots.server.wiring.sign_in import allow_list, build_sign_in

_log = structlog.get_logger()


class _Engines:
    """The API's engines, and the processes that decode images for it."""

    def __init__(self, settings: Settings, *, is_restart: bool, counter_memory: int | None) -> None:
        self._settings = settings
        self._opening = DatabaseOpening(settings)
        self.store = open_store(settings)
        self.counter = open_counter(settings, counter_memory)
        self.database = self._opening.begin(refuses_a_broken_file=not is_restart)
        self.images = SqlImages(self.database)
        self.projects = SqlProjects(self.database)
        self.keys = SharedKeys(awaited_keys(settings), self.database)
        # With a database that isn't shared, no other replica has the keys, so waiting doesn't help.
        self.keys.begin(refuses_wrong_keys=settings.on_sqlite and not is_restart)
        # Separate workers, so a thumbnail never waits for a comparison.
        self.thumbnail_workers = PictureWorkers(WorkerLimits().shared_by(settings.api_workers))
        self.forges = open_forges(settings, self.keys)
        self.receivers = Receivers(self.keys, parse_networks(settings.webhook_networks))
        self.comparison_workers = PictureWorkers(COMPARING.shared_by(settings.api_workers))

    def readiness(self) -> Readiness:
        settings = self._settings
        return Readiness(
            {
                "database": _with_space(
                    settings.local_database, partial(require_usable_database, self.database, settings)
                ),
                "keys": self.keys.check,
                "store": _with_space(settings.local_store, self.store.check),
                "counter": self.counter.check,
            },
            # Without a counter, uploads continue without a rate limit. Without a store, only uploads and
            # deletes fail. Lists, comments and sign-in still work, so load balancers should keep sending
            # requests.
            optional={"counter", "store"},
        )

    def stop(self) -> None:
        """Stop the background threads."""
        self._opening.stop()
        self.keys.stop()

    async def close(self) -> None:
        await self.thumbnail_workers.close()
        await self.comparison_workers.close()
        await self.images.close()
        await self.counter.close()
        self.forges.close()
        self.receivers.close()
        self.store.close()


def build_api(
    settings: Settings, *, is_restart: bool = False, counter_memory: int | None = None
) -> ErrorBoundary:
    """Build the API, even if its engines are down. Raises SettingsError, or RecordsError for a broken file.

    A restarted worker doesn't raise for a broken file, because it must still reply. `counter_memory` is the
    descriptor of the memory that the supervisor's workers share for counting.
    """
    engines = _Engines(settings, is_restart=is_restart, counter_memory=counter_memory)
    services = _build_services(settings, engines)
    thumbnails = Thumbnails(
        records=engines.images, store=engines.store, render=engines.thumbnail_workers.thumbnail
    )

    def start() -> None:
        services.outbox.start()
        services.webhooks.start()

    async def close() -> None:
        engines.stop()
        await services.outbox.close()
        await services.webhooks.close()
        await thumbnails.close()
        await services.comparisons.close()
        await engines.close()

    return create_api(
        services=services,
        max_image_bytes=settings.max_image_bytes,
        uploads_per_minute=settings.uploads_per_minute,
        base_url=settings.base_url,
        web_url=settings.web_url,
        for_people=routes_for_people(settings, engines, services, thumbnails),
        readiness=engines.readiness(),
        start=start,
        close=close,
        trusted_proxies=parse_networks(settings.trusted_proxies),
        log_requests=settings.log_requests,
    )


def _build_services(settings: Settings, engines: _Engines) -> PublicServices:
    database, store = engines.database, engines.store
    baselines, compared = SqlBaselines(database), SqlComparisons(database)
    quotas = quotas_in(database, settings)
    images = Images(
        records=engines.images,
        projects=engines.projects,
        store=store,
        quotas=quotas,
        keys=engines.keys,
        img_url=settings.img_url,
        web_url=settings.web_url,
        on_expired=metrics.EXPIRED.labels("request").inc,
    )
    comparisons = Comparisons(
        records=compared,
        baselines=baselines,
        store=store,
        images=images,
        compare=engines.comparison_workers.compare,
        identify=engines.comparison_workers.identify,
        # One more than there are workers: its images are read while the workers compare.
        slots=COMPARING.shared_by(settings.api_workers).workers + 1,
        on_decided=lambda verdict: metrics.COMPARED_PAIRS.labels(verdict).inc(),
    )
    decided, messages_due = asyncio.Event(), asyncio.Event()

    def wake() -> None:
        decided.set()
        messages_due.set()

    reviews = Reviews(
        records=SqlReviews(database),
        comparisons=comparisons,
        overview=SqlOverview(database),
        images=images,
        forge_hosts=forge_hosts(settings),
        on_decided=wake,
    )
    comments = Comments(engines.images, images, reviews, Noise(SqlNoise(database)))
    staging = Staging(records=SqlStaged(database), images=images)
    return PublicServices(
        accounts=projects_in(database),
        images=images,
        baselines=Baselines(
            records=baselines,
            comparisons=compared,
            store=store,
            images=images,
            on_stored=comparisons.baseline_stored,
        ),
        comparisons=comparisons,
        reviews=reviews,
        comments=comments,
        outbox=_build_outbox(engines, reviews, comments, decided),
        webhooks=_build_webhooks(settings, engines, reviews, messages_due),
        staging=staging,
        put_urls=PutUrls(
            records=SqlPutUrls(database), images=images, staging=staging, base_url=settings.base_url
        ),
        exchange=TokenExchange(
            SqlTrusts(database),
            _LazyIssuers(settings.issuers),
            allowed=settings.issuers,
            audiences=[settings.base_url, settings.web_url],
        ),
        counter=engines.counter,
    )


def _build_outbox(engines: _Engines, reviews: Reviews, comments: Comments, woken: asyncio.Event) -> Outbox:
    return Outbox(
        records=SqlOutbox(engines.database),
        connections=SqlConnections(engines.database),
        forges=Deliveries(engines.forges),
        reviews=reviews,
        comments=comments,
        woken=woken,
        on_sent=lambda kind, forge: metrics.OUTBOX_SENT.labels(kind, forge).inc(),
        on_failed=lambda kind, forge: metrics.OUTBOX_FAILED.labels(kind, forge).inc(),
        on_waiting=metrics.OUTBOX_WAITING.set,
    )


def _build_webhooks(
    settings: Settings, engines: _Engines, reviews: Reviews, woken: asyncio.Event
) -> WebhookSender:
    return WebhookSender(
        queues=SqlWebhookQueues(engines.database),
        receivers=engines.receivers,
        reviews=reviews,
        overview=SqlOverview(engines.database),
        web_url=settings.web_url,
        woken=woken,
        on_sent=lambda event: metrics.WEBHOOKS_SENT.labels(event).inc(),
        on_failed=lambda event: metrics.WEBHOOKS_FAILED.labels(event).inc(),
        on_waiting=metrics.WEBHOOKS_WAITING.set,
    )


def _with_space(path: Path | None, check: Check) -> Check:
    """Return a check that also raises DegradedError if the disk with the engine's files is nearly full."""

    async def check_both() -> None:
        await check()
        if path and (words := await asyncio.to_thread(shortage, path)):
            raise DegradedError(words)

    return check_both


class _LazyIssuers:
    """The issuers of CI jobs' ID tokens. Their code takes 13 MB, so it is loaded with the first token."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses
        self._issuers: Issuers | None = None
        self._outages: dict[str, Outage] = {}

    async def verify(self, issuer: str, id_token: str) -> dict[str, Any]:
        if self._issuers is None:
            loaded = await asyncio.to_thread(self._load)  # in a thread, so other requests continue
            self._issuers = self._issuers or loaded
        outage = self._outages.setdefault(
            issuer, Outage(f"issuer {issuer} unavailable", f"issuer {issuer} is back")
        )
        try:
            claims = await self._issuers.verify(issuer, id_token)
        except ProviderError as error:
            outage.note("verify", error)
            raise
        outage.note_success("verify")
        return claims

    def _load(self) -> Issuers:
        from prshots.server.adapters.identity.issuers import CiIssuers

        return CiIssuers(self._addresses)


def routes_for_people(
    settings: Settings,
    engines: _Engines,
    services: PublicServices,
    thumbnails: Thumbnails,
) -> list[Route]:
    database = engines.database
    sign_in, overview = build_sign_in(settings, database), SqlOverview(database)
    for message in allow_list(settings).never_matching(settings.providers):
        _log.warning(message)
    dashboard = DashboardServices(
        images=services.images,
        baselines=SqlBaselines(database),
        staged=SqlStaged(database),
        comparisons=services.comparisons,
        reviews=services.reviews,
        comments=services.comments,
        noise=Noise(SqlNoise(database)),
        share_links=ShareLinks(SqlShareLinks(database)),
        outbox=SqlOutbox(database),
        projects=services.accounts,
        trusts=Trusts(SqlTrusts(database), settings.issuers),
        connections=SqlConnections(database),
        forges=engines.forges,
        organizations=Organizations(SqlPeople(database), overview),
        joining=Joining(SqlInvitationLinks(database), SqlGroups(database)),
        webhooks=SqlWebhooks(database),
        receivers=engines.receivers,
        wake_webhooks=services.webhooks.wake,
        audit=SqlAudit(database),
        overview=overview,
        quotas=quotas_in(database, settings),
        usage=SqlUsage(database),
        thumbnails=thumbnails,
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
        *login_routes(sign_in, web_url=settings.web_url),
        *starlette_routes(ROUTES, dashboard, sign_in, settings.web_url),
        shared_route(dashboard),
    ]
