"""Storage: an organization's usage, the quotas that apply, and the operator's changes to them."""

from prshots.contract.errors import InvalidInputError
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, operator_route, organization_route, project_route
from prshots.server.domain.projects.models import Organization, Project, Role
from prshots.server.domain.storage.models import QuotaHolder

PAGE = 60
SHOWN_PROJECTS = 100


async def organization_usage(call: Call, organization: Organization) -> view_types.OrganizationUsageView:
    quotas, usage = call.services.quotas, call.services.usage
    since_day = call.services.today() - fields.day_count(call.query) + 1
    images, size = await quotas.records.total(organization.id)
    largest = await quotas.records.projects(organization.id, None, SHOWN_PROJECTS)
    return {
        "images": images,
        "bytes": size,
        "projects": [
            {"id": each.id, "name": each.name, "images": each.images, "bytes": each.bytes} for each in largest
        ],
        "measured": views.measured_view(await usage.of_organization(organization.id, since_day)),
    }


async def organization_quotas(call: Call, organization: Organization) -> view_types.QuotasView:
    return {"quotas": await call.services.quotas.uses_of_organization(organization)}


async def project_quotas(call: Call, project: Project) -> view_types.QuotasView:
    return {"quotas": await call.services.quotas.uses_of_project(project)}


async def list_organizations(call: Call) -> view_types.QuotaHoldersView:
    quotas = call.services.quotas
    found = await quotas.records.organizations(call.after(int, str), PAGE)
    return _holders(found, quotas.defaults["organization"])


async def list_projects(call: Call) -> view_types.QuotaHoldersView:
    quotas = call.services.quotas
    found = await quotas.records.projects(call.path("organization_id"), call.after(int, str), PAGE)
    return _holders(found, quotas.defaults["project"])


async def set_organization_quota(call: Call) -> view_types.DoneView:
    await call.services.quotas.set_quota("organization", call.path("organization_id"), await _quota(call))
    return {"ok": True}


async def set_project_quota(call: Call) -> view_types.DoneView:
    await call.services.quotas.set_quota("project", call.path("project_id"), await _quota(call))
    return {"ok": True}


async def _quota(call: Call) -> int | None:
    body, takes = await call.body(), "a whole number of bytes, 0 for no limit, or null for the default"
    if "quota_bytes" not in body:
        raise InvalidInputError(f"quota_bytes is required and must be {takes}")
    return fields.number_or_null(body, "quota_bytes", takes)


def _holders(found: list[QuotaHolder], default_bytes: int) -> view_types.QuotaHoldersView:
    return {
        "holders": found,
        "default_bytes": default_bytes,
        "next": next_cursor(found, PAGE, lambda each: (each.bytes, each.id)),
    }


ROUTES = (
    organization_route("GET", "/usage", organization_usage, needs=Role.VIEWER),
    organization_route("GET", "/quotas", organization_quotas, needs=Role.VIEWER),
    project_route("GET", "/quotas", project_quotas),
    operator_route("GET", "/organizations", list_organizations),
    operator_route("PATCH", "/organizations/{organization_id}", set_organization_quota),
    operator_route("GET", "/organizations/{organization_id}/projects", list_projects),
    operator_route("PATCH", "/projects/{project_id}", set_project_quota),
)
