"""Projects: list, create, change and delete them, and show their usage."""

from http import HTTPStatus

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.limits import Policy
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, DashboardRoute, project_route
from prshots.server.api.fields import flag_of
from prshots.server.domain.projects.models import Project, ProjectSummary, Role
from prshots.server.domain.projects.service import ProjectChanges

PAGE = 24
BIGGEST = 10
MAX_FAILING = 100
DELETION_SECONDS = 2.0
"""How long one call spends on deleting a project. The page then shows the progress and calls again."""


async def list_projects(call: Call) -> view_types.ProjectListView:
    overview, today = call.services.overview, call.services.today()
    found = await overview.projects_of(call.user.id, call.after(str, str), PAGE)
    days = await overview.days([summary.project.id for summary in found], today - views.CARD_DAYS + 1)
    return {
        "projects": [
            views.project_view(summary, days.get(summary.project.id, []), today) for summary in found
        ],
        "next": next_cursor(found, PAGE, lambda summary: (summary.project.name, summary.project.id)),
    }


async def create_project(call: Call) -> view_types.ProjectView:
    body = await call.body()
    organization = await call.services.organizations.find_for(
        call.user, fields.text(body, "organization_id"), Role.MAINTAINER
    )
    project = await call.services.projects.create_project(
        fields.text(body, "name"), organization=organization
    )
    return await _view(call, project.id)


async def show_project(call: Call) -> view_types.ProjectView:
    return await _view(call, call.path("project_id"))


async def change_project(call: Call, project: Project) -> view_types.ProjectView:
    body = await call.body()
    changes: ProjectChanges = {}
    if "name" in body:
        changes["name"] = fields.text(body, "name")
    if "policy" in body:
        changes["policy"] = fields.choice(Policy, body["policy"], "policy")
    if "retain_days" in body:
        changes["retain_days"] = fields.number_or_null(
            body, "retain_days", "a whole number of days, or null for no limit"
        )
    if "keep_baselines" in body:
        changes["keep_baselines"] = fields.number(body, "keep_baselines")
    if "repository" in body:
        changes["repository"] = fields.text(body, "repository").strip().rstrip("/")
    if "uploads_per_minute" in body:
        changes["uploads_per_minute"] = fields.number_or_null(
            body, "uploads_per_minute", "a whole number, or null for the service's limit"
        )
    if "review_verdicts" in body:
        changes["review_verdicts"] = ",".join(fields.texts(body, "review_verdicts"))
    if "four_eyes" in body:
        changes["four_eyes"] = flag_of(body, "four_eyes")
    changed = await call.services.projects.change_project(project, **changes)
    return await _view(call, changed.id)


async def would_expire(call: Call, project: Project) -> view_types.WouldExpireView:
    given = call.query.get("retain_days")
    count, size = await call.services.overview.would_expire(
        project.id,
        fields.choice(Policy, call.query.get("policy", project.policy), "policy"),
        fields.number_from_text(given, "retain_days") if given else None,
        call.services.now(),
    )
    return {"images": count, "bytes": size}


async def delete_project(call: Call, project: Project) -> view_types.ProjectDeletionView:
    if fields.text(await call.body(), "name") != project.name:
        raise InvalidInputError("the name does not match: type the project's name exactly as shown")
    return {"remaining": await call.services.images.remove_project(project, DELETION_SECONDS)}


async def usage(call: Call) -> view_types.UsageView:
    summary, today = await _summary(call, call.path("project_id")), call.services.today()
    project_id, overview = summary.project.id, call.services.overview
    count = fields.day_count(call.query)
    days = await overview.days([project_id], today - count + 1)
    biggest = await overview.biggest_pulls(project_id, BIGGEST)
    measured = await call.services.usage.of_project(project_id, today - count + 1)
    return {
        "days": [
            views.view_of(view_types.DayOfUploadsView, day, day=views.date_of(day.day))
            for day in views.every_day(days.get(project_id, []), today, count)
        ],
        "images": summary.images,
        "bytes": summary.bytes,
        "biggest": [views.pull_view(pull, summary.project.repository) for pull in biggest],
        "measured": views.measured_view(measured),
    }


async def show_outbox(call: Call, project: Project) -> view_types.OutboxView:
    failing, waiting = await call.services.outbox.failing(project.id, MAX_FAILING)
    return {
        "failing": [views.view_of(view_types.FailingDeliveryView, each) for each in failing],
        "waiting": waiting,
    }


async def _summary(call: Call, project_id: str) -> ProjectSummary:
    """Return a project as the user sees it. Raises NotFoundError if the user may not see it."""
    summary = await call.services.overview.summary_of(call.user.id, project_id)
    if summary is None:
        raise NotFoundError("not found")
    return summary


async def _view(call: Call, project_id: str) -> view_types.ProjectView:
    summary, today = await _summary(call, project_id), call.services.today()
    days = await call.services.overview.days([project_id], today - views.CARD_DAYS + 1)
    return views.project_view(summary, days.get(project_id, []), today)


ROUTES = (
    DashboardRoute("GET", "/projects", list_projects),
    DashboardRoute("POST", "/projects", create_project, HTTPStatus.CREATED),
    DashboardRoute("GET", "/projects/{project_id}", show_project),
    project_route("PATCH", "", change_project),
    project_route("POST", "/delete", delete_project, needs=Role.OWNER),
    project_route("GET", "/would-expire", would_expire),
    DashboardRoute("GET", "/projects/{project_id}/usage", usage),
    project_route("GET", "/outbox", show_outbox),
)
