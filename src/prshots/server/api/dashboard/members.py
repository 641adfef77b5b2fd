"""An organization's members. `Organizations` checks who may change them."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, views
from prshots.server.api.dashboard.cursors import next_cursor
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.api.dashboard.view_types import DoneView, MemberListView, MemberView
from prshots.server.domain.people.models import Member
from prshots.server.domain.projects.models import Role

PAGE = 60

_MEMBERS = "/organizations/{organization_id}/members"


async def list_members(call: Call) -> MemberListView:
    found = await call.services.organizations.members(
        call.user, call.path("organization_id"), call.after(str, str), PAGE
    )
    return {
        "members": [_view(call, member) for member in found],
        "next": next_cursor(found, PAGE, lambda member: (member.user.login, member.user.id)),
    }


async def add_member(call: Call) -> MemberView:
    body = await call.body()
    login, role = fields.text(body, "login"), fields.role(body.get("role", Role.MEMBER))
    organization_id = call.path("organization_id")
    return _view(call, await call.services.organizations.add_member(call.user, organization_id, login, role))


async def change_member(call: Call) -> DoneView:
    role = fields.role((await call.body()).get("role"))
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    await call.services.organizations.change_role(call.user, organization_id, member_id, role)
    return {"ok": True}


async def remove_member(call: Call) -> DoneView:
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    await call.services.organizations.remove_member(call.user, organization_id, member_id)
    return {"ok": True}


def _view(call: Call, member: Member) -> MemberView:
    return views.member_view(member, call.user, call.services.avatar_origins)


ROUTES = (
    DashboardRoute("GET", _MEMBERS, list_members),
    DashboardRoute("POST", _MEMBERS, add_member, HTTPStatus.CREATED),
    DashboardRoute("PATCH", f"{_MEMBERS}/{{member_id}}", change_member),
    DashboardRoute("DELETE", f"{_MEMBERS}/{{member_id}}", remove_member),
)
