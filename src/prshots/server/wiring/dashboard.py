"""Builds the API's routes for people: sign-in and the dashboard."""

import structlog
from starlette.routing import Route

from prshots import __version__
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.api.dashboard.routes import ROUTES
from prshots.server.api.dashboard.routing import DashboardServices, starlette_routes
from prshots.server.api.login import login_routes
from prshots.server.api.services import PublicServices
from prshots.server.config.settings import Settings
from prshots.server.domain.images.thumbnails import Thumbnails
from prshots.server.domain.people.organizations import Organizations
from prshots.server.domain.projects.keyless import Trusts
from prshots.server.wiring.avatars import avatar_origins
from prshots.server.wiring.sign_in import allow_list, build_sign_in


def routes_for_people(
    settings: Settings,
    database: Database,
    services: PublicServices,
    thumbnails: Thumbnails,
) -> list[Route]:
    sign_in, overview = build_sign_in(settings, database), SqlOverview(database)
    for message in allow_list(settings).never_matching(settings.providers):
        structlog.get_logger().warning(message)
    dashboard = DashboardServices(
        images=services.images,
        baselines=SqlBaselines(database),
        staged=SqlStaged(database),
        comparisons=services.comparisons,
        comments=services.comments,
        projects=services.accounts,
        trusts=Trusts(SqlTrusts(database), settings.issuers),
        organizations=Organizations(SqlPeople(database), overview),
        overview=overview,
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
    ]
