"""The signed-in user, organizations, members, and how people join. `Organizations` checks permissions."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, DashboardRoute, organization_route
from prshots.server.domain.people.models import Invitation
from prshots.server.domain.projects.models import Organization, Role

PAGE = 60

_ORGANIZATION = "/organizations/{organization_id}"
_MEMBERS = f"{_ORGANIZATION}/members"
_MEMBER = f"{_MEMBERS}/{{member_id}}"
_LINKS, _GROUPS = "/invitation-links", "/groups"


async def me(call: Call) -> view_types.MeView:
    services = call.services
    return {
        "user": views.user_view(call.user, services.avatar_origins),
        "organizations": [
            views.view_of(view_types.OrganizationView, organization, role=role)
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
    made = await call.services.organizations.create(call.user, name)
    return views.view_of(view_types.OrganizationView, made, role=Role.OWNER)


async def delete_organization(call: Call) -> view_types.DoneView:
    await call.services.organizations.delete(call.user, call.path("organization_id"))
    return {"ok": True}


async def list_members(call: Call) -> view_types.MemberListView:
    found = await call.services.organizations.members(
        call.user, call.path("organization_id"), call.after(str, str), PAGE
    )
    return {
        "members": [views.member_view(member, call.user, call.services.avatar_origins) for member in found],
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
    return {
        "tokens": [
            {**views.view_of(view_types.TokenView, token), "project": project} for token, project in found
        ]
    }


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


async def list_links(call: Call, organization: Organization) -> view_types.InvitationLinkListView:
    found = await call.services.joining.links(organization)
    return {"links": [views.view_of(view_types.InvitationLinkView, link) for link in found]}


async def create_link(call: Call, organization: Organization) -> view_types.NewInvitationLinkView:
    role = fields.choice(Role, (await call.body()).get("role"), "role")
    link, secret = await call.services.joining.create_link(call.user, organization, role)
    # After the #, because browsers don't send that part: no log has it, and no Referer header.
    url = f"{call.services.about['web_url']}/join#{secret}"
    return {"link": views.view_of(view_types.InvitationLinkView, link), "url": url}


async def revoke_link(call: Call, organization: Organization) -> view_types.DoneView:
    await call.services.joining.revoke_link(organization, call.path("link_id"))
    return {"ok": True}


async def show_offer(call: Call) -> view_types.OfferView:
    link = await call.services.joining.link(fields.text(await call.body(), "code"))
    theirs = await call.services.organizations.of(call.user)
    return views.offer_view(link, is_member=link.organization in [organization for organization, _ in theirs])


async def accept_offer(call: Call) -> view_types.OfferView:
    code = fields.text(await call.body(), "code")
    return views.offer_view(await call.services.joining.use_link(call.user, code), is_member=True)


async def list_groups(call: Call, organization: Organization) -> view_types.GroupListView:
    groups, yours = await call.services.joining.groups(call.user, organization)
    return {"groups": [views.view_of(view_types.GroupView, group) for group in groups], "yours": yours}


async def name_group(call: Call, organization: Organization) -> view_types.GroupView:
    body = await call.body()
    name, role = fields.text(body, "name"), fields.choice(Role, body.get("role"), "role")
    group = await call.services.joining.name_group(call.user, organization, name, role)
    return views.view_of(view_types.GroupView, group)


async def remove_group(call: Call, organization: Organization) -> view_types.DoneView:
    # In the query, because names contain slashes.
    provider, name = call.query.get("provider", ""), call.query.get("name", "")
    await call.services.joining.remove_group(organization, provider, name)
    return {"ok": True}


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
    organization_route("GET", _LINKS, list_links),
    organization_route("POST", _LINKS, create_link, HTTPStatus.CREATED),
    organization_route("DELETE", f"{_LINKS}/{{link_id}}", revoke_link),
    DashboardRoute("POST", "/join/offer", show_offer),
    DashboardRoute("POST", "/join", accept_offer),
    organization_route("GET", _GROUPS, list_groups),
    organization_route("POST", _GROUPS, name_group, HTTPStatus.CREATED),
    organization_route("DELETE", _GROUPS, remove_group),
)
