"""The share links of a pull request."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.routing import Call, DashboardServices, pull_request_route, reply_to_version
from prshots.server.api.request_body import credentials
from prshots.server.domain.projects.models import Project, Role
from prshots.server.domain.review.sharing import DEFAULT_DAYS, MAX_DAYS, without_people


async def list_share_links(call: Call, project: Project, number: int) -> view_types.ShareLinkListView:
    found = await call.services.share_links.of_pull(project, number)
    return {"share_links": [views.view_of(view_types.ShareLinkView, link) for link in found]}


async def create_share_link(call: Call, project: Project, number: int) -> view_types.NewShareLinkView:
    body = {"days": DEFAULT_DAYS, **await call.body()}
    days = fields.number(body, "days", f"a whole number from 1 to {MAX_DAYS}")
    link, secret = await call.services.share_links.create(project, number, days, call.user.login)
    # A member who was removed in the meantime gets a 404, and nobody the secret.
    await call.services.organizations.project(call.user, project.id, Role.MAINTAINER)
    url = f"{call.services.about['web_url']}/shared#{secret}"
    return {"share_link": views.view_of(view_types.ShareLinkView, link), "url": url}


async def revoke_share_link(call: Call, project: Project, number: int) -> view_types.DoneView:
    await call.services.share_links.revoke(project, number, call.path("share_link_id"), call.user.login)
    return {"ok": True}


def shared_route(services: DashboardServices) -> Route:
    """Return the route of the page behind a share link: one pull request's changes, for anyone, read-only.

    The secret is in a header, because addresses end up in logs.
    """

    async def show_changes(request: Request) -> Response:
        shared = await services.share_links.open(credentials(request, "share") or "")
        project, number = shared.project, shared.pr_number

        async def view() -> view_types.SharedChangesView:
            stored = await services.comparisons.latest(project, number)
            compared = None
            if stored:
                reviewed = without_people(await services.reviews.of(project, stored))
                compared = views.comparison_view(stored, reviewed, services.images)
            return {
                "project": project.name,
                "pr_number": number,
                "title": shared.title,
                "expires_at": shared.expires_at,
                "comparison": compared,
            }

        version = await services.reviews.version(project, number)
        about = (project.name, shared.title, shared.expires_at)
        response = await reply_to_version(request, version and f"{version} {about}", view)
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return Route("/v1/shared/changes", show_changes, methods=["GET"])


ROUTES = (
    pull_request_route("GET", "/share-links", list_share_links),
    pull_request_route("POST", "/share-links", create_share_link, status=HTTPStatus.CREATED),
    pull_request_route("DELETE", "/share-links/{share_link_id}", revoke_share_link),
)
