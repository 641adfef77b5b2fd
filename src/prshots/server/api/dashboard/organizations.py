"""Organizations: create and show. `members.py` has their members."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, views
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.api.dashboard.view_types import OrganizationView
from prshots.server.domain.projects.models import Role


async def create_organization(call: Call) -> OrganizationView:
    name = fields.text(await call.body(), "name")
    return views.organization_view(await call.services.organizations.create(call.user, name), Role.OWNER)


async def show_organization(call: Call) -> OrganizationView:
    found = await call.services.organizations.find(call.user, call.path("organization_id"))
    return views.organization_view(*found)


ROUTES = (
    DashboardRoute("POST", "/organizations", create_organization, HTTPStatus.CREATED),
    DashboardRoute("GET", "/organizations/{organization_id}", show_organization),
)
