"""All routes of the dashboard's API."""

from prshots.server.api.dashboard import (
    baselines,
    images,
    me,
    members,
    organizations,
    projects,
    pull_requests,
    staged,
    tokens,
    trusts,
    usage,
    zip_download,
)
from prshots.server.api.dashboard.routing import DashboardRoute

ROUTES: tuple[DashboardRoute, ...] = (
    *me.ROUTES,
    *projects.ROUTES,
    *usage.ROUTES,
    *pull_requests.ROUTES,
    *images.ROUTES,
    *baselines.ROUTES,
    *staged.ROUTES,
    *zip_download.ROUTES,
    *tokens.ROUTES,
    *trusts.ROUTES,
    *organizations.ROUTES,
    *members.ROUTES,
)
