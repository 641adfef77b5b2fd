"""Links to join an organization, and groups whose people are members. `Joining` checks permissions."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.domain.projects.models import Role

_LINKS = "/organizations/{organization_id}/invitation-links"
_GROUPS = "/organizations/{organization_id}/groups"


async def list_links(call: Call) -> view_types.InvitationLinkListView:
    found = await call.services.joining.links(call.user, call.path("organization_id"))
    return {"links": [views.invitation_link_view(link) for link in found]}


async def create_link(call: Call) -> view_types.NewInvitationLinkView:
    role = fields.choice(Role, (await call.body()).get("role"), "role")
    link, secret = await call.services.joining.create_link(call.user, call.path("organization_id"), role)
    # After the #, because browsers don't send that part: no log has it, and no Referer header.
    url = f"{call.services.about['web_url']}/join#{secret}"
    return {"link": views.invitation_link_view(link), "url": url}


async def revoke_link(call: Call) -> view_types.DoneView:
    await call.services.joining.revoke_link(call.user, call.path("organization_id"), call.path("link_id"))
    return {"ok": True}


async def show_offer(call: Call) -> view_types.OfferView:
    link = await call.services.joining.link(fields.text(await call.body(), "code"))
    theirs = await call.services.organizations.of(call.user)
    return views.offer_view(link, is_member=link.organization in [organization for organization, _ in theirs])


async def accept_offer(call: Call) -> view_types.OfferView:
    code = fields.text(await call.body(), "code")
    return views.offer_view(await call.services.joining.use_link(call.user, code), is_member=True)


async def list_groups(call: Call) -> view_types.GroupListView:
    groups, yours = await call.services.joining.groups(call.user, call.path("organization_id"))
    return {"groups": [views.group_view(group) for group in groups], "yours": yours}


async def name_group(call: Call) -> view_types.GroupView:
    body = await call.body()
    name, role = fields.text(body, "name"), fields.choice(Role, body.get("role"), "role")
    organization_id = call.path("organization_id")
    return views.group_view(await call.services.joining.name_group(call.user, organization_id, name, role))


async def remove_group(call: Call) -> view_types.DoneView:
    # In the query, because names contain slashes.
    provider, name = call.query.get("provider", ""), call.query.get("name", "")
    await call.services.joining.remove_group(call.user, call.path("organization_id"), provider, name)
    return {"ok": True}


ROUTES = (
    DashboardRoute("GET", _LINKS, list_links),
    DashboardRoute("POST", _LINKS, create_link, HTTPStatus.CREATED),
    DashboardRoute("DELETE", f"{_LINKS}/{{link_id}}", revoke_link),
    DashboardRoute("POST", "/join/offer", show_offer),
    DashboardRoute("POST", "/join", accept_offer),
    DashboardRoute("GET", _GROUPS, list_groups),
    DashboardRoute("POST", _GROUPS, name_group, HTTPStatus.CREATED),
    DashboardRoute("DELETE", _GROUPS, remove_group),
)
