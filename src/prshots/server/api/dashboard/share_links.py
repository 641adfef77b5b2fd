"""The share links of a pull request."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.routing import Call, pull_request_route
from prshots.server.domain.projects.models import Project, Role
from prshots.server.domain.review.sharing import DEFAULT_DAYS, MAX_DAYS


async def list_share_links(call: Call, project: Project, number: int) -> view_types.ShareLinkListView:
    found = await call.services.share_links.of_pull(project, number)
    return {"share_links": [views.share_link_view(link) for link in found]}


async def create_share_link(call: Call, project: Project, number: int) -> view_types.NewShareLinkView:
    body = {"days": DEFAULT_DAYS, **await call.body()}
    days = fields.number(body, "days", f"a whole number from 1 to {MAX_DAYS}")
    link, secret = await call.services.share_links.create(project, number, days, call.user.login)
    # A member who was removed in the meantime gets a 404, and nobody the secret.
    await call.services.organizations.project(call.user, project.id, Role.MAINTAINER)
    url = f"{call.services.about['web_url']}/shared#{secret}"
    return {"share_link": views.share_link_view(link), "url": url}


async def revoke_share_link(call: Call, project: Project, number: int) -> view_types.DoneView:
    await call.services.share_links.revoke(project, number, call.path("share_link_id"), call.user.login)
    return {"ok": True}


ROUTES = (
    pull_request_route("GET", "/share-links", list_share_links),
    pull_request_route("POST", "/share-links", create_share_link, status=HTTPStatus.CREATED),
    pull_request_route("DELETE", "/share-links/{share_link_id}", revoke_share_link),
)
