"""The signed-in user, organizations and their members. `Organizations` checks permissions."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.domain.people.models import Member
from prshots.server.domain.projects.models import Role

PAGE = 60

_ORGANIZATION = "/organizations/{organization_id}"
_MEMBERS = f"{_ORGANIZATION}/members"
_MEMBER = f"{_MEMBERS}/{{member_id}}"


async def me(call: Call) -> view_types.MeView:
    services = call.services
    return {
        "user": views.user_view(call.user, services.avatar_origins),
        "organizations": [
            views.organization_view(organization, role)
            for organization, role in await services.organizations.of(call.user)
        ],
        "service": services.about,
    }


async def create_organization(call: Call) -> view_types.OrganizationView:
    name = fields.text(await call.body(), "name")
    return views.organization_view(await call.services.organizations.create(call.user, name), Role.OWNER)


async def show_organization(call: Call) -> view_types.OrganizationView:
    found = await call.services.organizations.find(call.user, call.path("organization_id"))
    return views.organization_view(*found)


async def list_members(call: Call) -> view_types.MemberListView:
    found = await call.services.organizations.members(
        call.user, call.path("organization_id"), call.after(str, str), PAGE
    )
    return {
        "members": [_view(call, member) for member in found],
        "next": next_cursor(found, PAGE, lambda member: (member.user.login, member.user.id)),
    }


async def add_member(call: Call) -> view_types.MemberView:
    body = await call.body()
    login, role = fields.text(body, "login"), fields.choice(Role, body.get("role", Role.MEMBER), "role")
    organization_id = call.path("organization_id")
    return _view(call, await call.services.organizations.add_member(call.user, organization_id, login, role))


async def change_member(call: Call) -> view_types.DoneView:
    role = fields.choice(Role, (await call.body()).get("role"), "role")
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    await call.services.organizations.change_role(call.user, organization_id, member_id, role)
    return {"ok": True}


async def remove_member(call: Call) -> view_types.DoneView:
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    await call.services.organizations.remove_member(call.user, organization_id, member_id)
    return {"ok": True}


def _view(call: Call, member: Member) -> view_types.MemberView:
    return views.member_view(member, call.user, call.services.avatar_origins)


ROUTES = (
    DashboardRoute("GET", "/me", me),
    DashboardRoute("POST", "/organizations", create_organization, HTTPStatus.CREATED),
    DashboardRoute("GET", _ORGANIZATION, show_organization),
    DashboardRoute("GET", _MEMBERS, list_members),
    DashboardRoute("POST", _MEMBERS, add_member, HTTPStatus.CREATED),
    DashboardRoute("PATCH", _MEMBER, change_member),
    DashboardRoute("DELETE", _MEMBER, remove_member),
)
