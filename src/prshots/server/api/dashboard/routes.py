"""All routes of the dashboard's API."""

from prshots.server.api.dashboard import (
    audit,
    credentials,
    images,
    people,
    projects,
    pull_requests,
    quarantines,
    share_links,
    storage,
    webhooks,
    zip_download,
)
from prshots.server.api.dashboard.routing import DashboardRoute

ROUTES: tuple[DashboardRoute, ...] = (
    *people.ROUTES,
    *audit.ROUTES,
    *projects.ROUTES,
    *pull_requests.ROUTES,
    *images.ROUTES,
    *zip_download.ROUTES,
    *credentials.ROUTES,
    *quarantines.ROUTES,
    *share_links.ROUTES,
    *storage.ROUTES,
    *webhooks.ROUTES,
)
