"""Images: a pull request's gallery, one image, and thumbnails."""

from prshots.server.api.dashboard import fields, views
from prshots.server.api.dashboard.cursors import MAX_INTEGER, next_cursor
from prshots.server.api.dashboard.routing import Call, project_route, pull_request_route
from prshots.server.api.dashboard.view_types import (
    DeletedImageView,
    ImageListView,
    ShotListView,
    ThumbnailUrlsView,
)
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Project

PAGE = 60
SHOTS_PAGE = 150
"""The gallery loads all shots, to filter and order them. 300 names take it a few requests."""

MAX_THUMBNAILS = 24


async def list_shots(call: Call, project: Project, number: int) -> ShotListView:
    services, after = call.services, call.after(str, str, str)
    found = await services.overview.shots(project.id, number, ShotKey(*after) if after else None, SHOTS_PAGE)
    return {
        "shots": [
            {
                "newest": views.image_view(shot.newest, services.images),
                "commits": shot.commits,
                "unchanged_since": shot.unchanged_since,
            }
            for shot in found
        ],
        "next": next_cursor(found, SHOTS_PAGE, lambda shot: shot.newest.shot),
    }


async def list_images_of_shot(call: Call, project: Project, number: int) -> ImageListView:
    services, query, after = call.services, call.query, call.after(int)
    shot = ShotKey(*(query.get(part, "") for part in ShotKey._fields))
    before = after[0] if after else MAX_INTEGER - 1
    found = await services.overview.images_of_shot(project.id, number, shot, before, PAGE)
    return {
        "images": [views.image_view(image, services.images) for image in found],
        "next": next_cursor(found, PAGE, lambda image: (image.seq,)),
    }


async def delete_image(call: Call, project: Project) -> DeletedImageView:
    image_id = call.path("image_id")
    await call.services.images.delete(project, image_id)
    return {"ok": True, "id": image_id}


async def make_thumbnails(call: Call, project: Project) -> ThumbnailUrlsView:
    services = call.services
    ids = fields.image_ids((await call.body()).get("ids"), MAX_THUMBNAILS)
    images = await services.overview.images(project.id, ids)
    answers = await services.thumbnails.make(images)
    return {
        "thumbnails": {
            image.id: services.images.thumbnail_url_of(image) if answers[image.id] == "made" else None
            for image in images
            if image.id in answers
        },
        "missing": {image_id: answer for image_id, answer in answers.items() if answer != "made"},
    }


ROUTES = (
    pull_request_route("GET", "/shots", list_shots),
    pull_request_route("GET", "/images", list_images_of_shot),
    project_route("DELETE", "/images/{image_id}", delete_image),
    project_route("POST", "/thumbnails", make_thumbnails),
)
