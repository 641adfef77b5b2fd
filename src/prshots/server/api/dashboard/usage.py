"""A project's usage: uploads by day, and its biggest pull requests."""

from datetime import UTC, datetime

from prshots.contract.errors import InvalidInputError
from prshots.server.api.dashboard import fields, views
from prshots.server.api.dashboard.projects import summary_of
from prshots.server.api.dashboard.routing import Call, DashboardRoute
from prshots.server.api.dashboard.view_types import DayOfUploadsView, UsageView
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.projects.models import DayOfUploads

BIGGEST = 10
MAX_DAYS = 366


async def usage(call: Call) -> UsageView:
    summary, today = await summary_of(call, call.path("project_id")), call.services.today()
    project_id, overview = summary.project.id, call.services.overview
    count = fields.number(call.query.get("days", "90"), "days")
    if not 1 <= count <= MAX_DAYS:
        raise InvalidInputError(f"days must be a whole number from 1 to {MAX_DAYS}")
    days = await overview.days([project_id], today - count + 1)
    biggest = await overview.biggest_pulls(project_id, BIGGEST)
    return {
        "days": [_day_view(day) for day in views.every_day(days.get(project_id, []), today, count)],
        "images": summary.images,
        "bytes": summary.bytes,
        "biggest": [views.pull_view(pull, summary.project.repository) for pull in biggest],
    }


def _day_view(day: DayOfUploads) -> DayOfUploadsView:
    date = datetime.fromtimestamp(day.day * SECONDS_PER_DAY, UTC).date()
    return {"day": date.isoformat(), "uploads": day.uploads, "bytes": day.bytes}


ROUTES = (DashboardRoute("GET", "/projects/{project_id}/usage", usage),)
