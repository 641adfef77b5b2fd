"""The signed-in user, organizations and their members. `Organizations` checks permissions."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.domain.people.models import Invitation, Member
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
        "invitations": [
            _invitation_view(call, invitation)
            for invitation in await services.organizations.invitations_of(call.user)
        ],
        "service": services.about,
        "operator": call.user.is_operator,
    }


async def create_organization(call: Call) -> view_types.OrganizationView:
    name = fields.text(await call.body(), "name")
    return views.organization_view(await call.services.organizations.create(call.user, name), Role.OWNER)


async def delete_organization(call: Call) -> view_types.DoneView:
    await call.services.organizations.delete(call.user, call.path("organization_id"))
    return {"ok": True}


async def list_members(call: Call) -> view_types.MemberListView:
    found = await call.services.organizations.members(
        call.user, call.path("organization_id"), call.after(str, str), PAGE
    )
    return {
        "members": [_view(call, member) for member in found],
        "next": next_cursor(found, PAGE, lambda member: (member.user.login, member.user.id)),
    }


async def join(call: Call) -> view_types.DoneView:
    await call.services.organizations.join(call.user, call.path("organization_id"))
    return {"ok": True}


async def change_member(call: Call) -> view_types.DoneView:
    role = fields.choice(Role, (await call.body()).get("role"), "role")
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    await call.services.organizations.change_role(call.user, organization_id, member_id, role)
    return {"ok": True}


async def list_tokens_of_member(call: Call) -> view_types.MemberTokensView:
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    found = await call.services.organizations.tokens_of_member(call.user, organization_id, member_id)
    return {"tokens": [{**views.token_view(token), "project": project} for token, project in found]}


async def remove_member(call: Call) -> view_types.DoneView:
    organization_id, member_id = call.path("organization_id"), call.path("member_id")
    keep = call.query.get("keep_tokens") == "true"
    await call.services.organizations.remove_member(call.user, organization_id, member_id, keep_tokens=keep)
    return {"ok": True}


async def list_invitations(call: Call) -> view_types.InvitationListView:
    found = await call.services.organizations.invitations_to(call.user, call.path("organization_id"))
    return {"invitations": [_invitation_view(call, invitation) for invitation in found]}


async def invite(call: Call) -> view_types.InvitationView:
    body = await call.body()
    login, role = fields.text(body, "login"), fields.choice(Role, body.get("role", Role.VIEWER), "role")
    organization_id = call.path("organization_id")
    invitation = await call.services.organizations.invite(call.user, organization_id, login, role)
    return _invitation_view(call, invitation)


def _invitation_view(call: Call, invitation: Invitation) -> view_types.InvitationView:
    return views.invitation_view(invitation, call.services.avatar_origins)


def _view(call: Call, member: Member) -> view_types.MemberView:
    return views.member_view(member, call.user, call.services.avatar_origins)


ROUTES = (
    DashboardRoute("GET", "/me", me),
    DashboardRoute("POST", "/organizations", create_organization, HTTPStatus.CREATED),
    DashboardRoute("DELETE", _ORGANIZATION, delete_organization),
    DashboardRoute("GET", _MEMBERS, list_members),
    DashboardRoute("POST", _MEMBERS, join, HTTPStatus.CREATED),
    DashboardRoute("PATCH", _MEMBER, change_member),
    DashboardRoute("DELETE", _MEMBER, remove_member),
    DashboardRoute("GET", f"{_MEMBER}/tokens", list_tokens_of_member),
    DashboardRoute("GET", f"{_ORGANIZATION}/invitations", list_invitations),
    DashboardRoute("POST", f"{_ORGANIZATION}/invitations", invite, HTTPStatus.CREATED),
)
