"""Links to join an organization, and groups whose people are members."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.routing import Call, DashboardRoute, organization_route
from prshots.server.domain.projects.models import Organization, Role

_LINKS, _GROUPS = "/invitation-links", "/groups"


async def list_links(call: Call, organization: Organization) -> view_types.InvitationLinkListView:
    found = await call.services.joining.links(organization)
    return {"links": [views.invitation_link_view(link) for link in found]}


async def create_link(call: Call, organization: Organization) -> view_types.NewInvitationLinkView:
    role = fields.choice(Role, (await call.body()).get("role"), "role")
    link, secret = await call.services.joining.create_link(call.user, organization, role)
    # After the #, because browsers don't send that part: no log has it, and no Referer header.
    url = f"{call.services.about['web_url']}/join#{secret}"
    return {"link": views.invitation_link_view(link), "url": url}


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
    return {"groups": [views.group_view(group) for group in groups], "yours": yours}


async def name_group(call: Call, organization: Organization) -> view_types.GroupView:
    body = await call.body()
    name, role = fields.text(body, "name"), fields.choice(Role, body.get("role"), "role")
    return views.group_view(await call.services.joining.name_group(call.user, organization, name, role))


async def remove_group(call: Call, organization: Organization) -> view_types.DoneView:
    # In the query, because names contain slashes.
    provider, name = call.query.get("provider", ""), call.query.get("name", "")
    await call.services.joining.remove_group(organization, provider, name)
    return {"ok": True}


ROUTES = (
    organization_route("GET", _LINKS, list_links),
    organization_route("POST", _LINKS, create_link, HTTPStatus.CREATED),
    organization_route("DELETE", f"{_LINKS}/{{link_id}}", revoke_link),
    DashboardRoute("POST", "/join/offer", show_offer),
    DashboardRoute("POST", "/join", accept_offer),
    organization_route("GET", _GROUPS, list_groups),
    organization_route("POST", _GROUPS, name_group, HTTPStatus.CREATED),
    organization_route("DELETE", _GROUPS, remove_group),
)
