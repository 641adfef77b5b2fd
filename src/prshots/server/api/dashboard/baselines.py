"""Baselines: the commits of each branch, and the images of one commit."""

from prshots.server.api.dashboard import views
from prshots.server.api.dashboard.cursors import next_cursor
from prshots.server.api.dashboard.routing import Call, project_route
from prshots.server.api.dashboard.view_types import BaselineListView, ImageListView
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Project

COMMITS = 30
IMAGES = 60


async def list_baselines(call: Call, project: Project) -> BaselineListView:
    baselines, after = call.services.baselines, call.after(int)
    branch = call.query.get("branch") or None
    found = await baselines.commits(project.id, branch, after[0] if after else None, COMMITS)
    return {
        "branches": await baselines.branches(project.id),
        "commits": [views.baseline_commit_view(commit) for commit in found],
        "next": next_cursor(found, COMMITS, lambda commit: (commit.seq,)),
    }


async def list_baseline_images(call: Call, project: Project) -> ImageListView:
    services, query, after = call.services, call.query, call.after(str, str, str)
    found = await services.baselines.of_commit(
        project.id,
        query.get("branch", ""),
        query.get("commit_sha", ""),
        ShotKey(*after) if after else None,
        IMAGES,
    )
    return {
        "images": [views.image_view(image, services.images) for image in found],
        "next": next_cursor(found, IMAGES, lambda image: image.shot),
    }


ROUTES = (
    project_route("GET", "/baselines", list_baselines),
    project_route("GET", "/baselines/images", list_baseline_images),
)
