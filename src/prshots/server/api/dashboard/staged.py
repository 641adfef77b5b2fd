"""Staged images: what waits for a pull request. They are deleted like any image."""

from prshots.server.api.dashboard import views
from prshots.server.api.dashboard.cursors import next_cursor
from prshots.server.api.dashboard.routing import Call, project_route
from prshots.server.api.dashboard.view_types import StagedListView
from prshots.server.domain.projects.models import Project

PAGE = 60


async def list_staged(call: Call, project: Project) -> StagedListView:
    services, after = call.services, call.after(int)
    before = after[0] if after else None
    found = await services.staged.find(project.id, services.now(), before=before, limit=PAGE)
    return {
        "staged": [views.staged_view(staged, services.images) for staged in found],
        "next": next_cursor(found, PAGE, lambda staged: (staged.image.seq,)),
    }


ROUTES = (project_route("GET", "/staged", list_staged),)
