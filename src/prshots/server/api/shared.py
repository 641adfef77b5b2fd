"""The page behind a share link, for people without an account: one pull request's changes, read-only."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prshots.server.api.dashboard import view_types, views
from prshots.server.api.dashboard.routing import DashboardServices, reply_to_version
from prshots.server.api.request_body import credentials
from prshots.server.domain.review.sharing import without_people


def shared_route(services: DashboardServices) -> Route:
    """Return the route. The secret is in a header, because addresses end up in logs."""

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
