"""Who is signed in, and what the pages need to know about the service."""

from prshots.server.api.dashboard import views
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.api.dashboard.view_types import MeView


async def me(call: Call) -> MeView:
    services = call.services
    return {
        "user": views.user_view(call.user, services.avatar_origins),
        "organizations": [
            views.organization_view(organization, role)
            for organization, role in await services.organizations.of(call.user)
        ],
        "service": services.about,
    }


ROUTES = (DashboardRoute("GET", "/me", me),)
