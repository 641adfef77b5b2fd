"""Pull requests: list, search and expire them, and show their comment and comparison."""

import asyncio
from functools import lru_cache

from prshots.contract.comments import MAX_COMMENT_BYTES, Marker
from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.replies import Decided
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, project_route, pull_request_route
from prshots.server.api.decisions import MAX_DECISION_BYTES, read_decision
from prshots.server.domain.images.models import PullRequestRecord
from prshots.server.domain.projects.models import Project, Role
from prshots.server.domain.review.models import Decision
from prshots.server.domain.review.service import NOT_REVIEWED

PAGE = 30

_CLOSED_BY_STATE = {"": None, "open": False, "closed": True}


async def list_pull_requests(call: Call, project: Project) -> view_types.PullRequestListView:
    state = call.query.get("state", "")
    if state not in _CLOSED_BY_STATE:
        raise InvalidInputError("state must be open or closed")
    found = await call.services.overview.pulls(
        project.id,
        closed=_CLOSED_BY_STATE[state],
        search=fields.search(call.query.get("q", "")),
        before=call.after(int, int),
        limit=PAGE,
    )
    compared = await call.services.comparisons.summaries(project, [pull.pr_number for pull in found])
    reviewed = await call.services.reviews.of_several(project, compared)

    def view(pull: PullRequestRecord) -> view_types.ListedPullRequestView:
        summary = compared.get(pull.pr_number)
        return {
            **views.pull_view(pull, project.repository),
            "comparison": views.comparison_summary_view(summary) if summary else None,
            "gate": reviewed[pull.pr_number].gate if summary else None,
        }

    return {
        "pulls": [view(pull) for pull in found],
        "next": next_cursor(found, PAGE, lambda pull: (pull.last_upload_at, pull.pr_number)),
    }


async def show_pull_request(call: Call, project: Project, number: int) -> view_types.PullRequestView:
    pull = await call.services.overview.pull(project.id, number)
    if pull is None:
        raise NotFoundError("not found")
    return views.pull_view(pull, project.repository)


async def show_comparison(call: Call, project: Project, number: int) -> view_types.LatestComparisonView:
    reviews, stored = call.services.reviews, await call.services.comparisons.latest(project, number)
    together = await reviews.of_projects(project, number, stored.request.commit_sha if stored else "")
    reviewed = await reviews.of(project, stored) if stored else NOT_REVIEWED
    sent = await call.services.outbox.of_pull(project.id, number)
    images = call.services.images
    return {
        "comparison": views.comparison_view(stored, reviewed, images, sent) if stored else None,
        "siblings": [{"id": each.id, "name": each.name, "gate": of.gate} for each, of in together if of],
    }


async def version_of_comparison(call: Call, project: Project, number: int) -> str | None:
    version = await call.services.reviews.version(project, number)
    return version and f"{version} {await call.services.outbox.of_pull(project.id, number)}"


async def decide(call: Call, project: Project, number: int) -> Decided:
    body = await call.body(MAX_DECISION_BYTES)
    kind = fields.choice(Decision, body.get("decision"), "decision")
    decision = read_decision(body, kind, by=call.user.login, user_id=call.user.id)
    return await call.services.reviews.decide(project, number, call.user, decision)


async def comment(call: Call, project: Project, number: int) -> view_types.CommentView:
    """Show the comment that clients post by default. The service doesn't know a job's view or template."""
    written = await call.services.comments.write_sized(project, number, MAX_COMMENT_BYTES, Marker.HTML, None)
    return {"markdown": written.markdown, "html": await asyncio.to_thread(_render, written.markdown)}


@lru_cache(maxsize=32)
def _render(markdown: str) -> str:
    """Render the comment to HTML, as a forge does. Cached, because open pages poll."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").render(markdown))


async def expire(call: Call, project: Project, number: int) -> view_types.ExpiredView:
    outcome = await call.services.images.expire(project, number, deleted_by=call.user.login)
    pull = await call.services.overview.pull(project.id, number)
    return {"expired": outcome.expired, "failed": pull.images if pull else 0}


ROUTES = (
    project_route("GET", "/pulls", list_pull_requests),
    pull_request_route("GET", "", show_pull_request),
    pull_request_route("GET", "/comparison", show_comparison, version_of_comparison),
    pull_request_route("GET", "/comment", comment),
    pull_request_route("POST", "/expire", expire),
    pull_request_route("POST", "/decisions", decide, needs=Role.REVIEWER),
)
