"""Images: a pull request's gallery, staged images, baselines, thumbnails."""

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import MAX_INTEGER, next_cursor
from prshots.server.api.dashboard.routing import Call, project_route, pull_request_route
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.projects.models import Access, Project, Role

PAGE = 60
SHOTS_PAGE = 150
"""The gallery loads all shots to filter and sort them. For 300 names, this takes a few requests."""

COMMITS_PAGE = 30
MAX_THUMBNAILS = 24


async def list_shots(call: Call, project: Project, number: int) -> view_types.ShotListView:
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


async def list_images_of_shot(call: Call, project: Project, number: int) -> view_types.ImageListView:
    services, query, after = call.services, call.query, call.after(int)
    shot = ShotKey(*(query.get(part, "") for part in ShotKey._fields))
    before = after[0] if after else MAX_INTEGER - 1
    found = await services.overview.images_of_shot(project.id, number, shot, before, PAGE)
    return {
        "images": [views.image_view(image, services.images) for image in found],
        "next": next_cursor(found, PAGE, lambda image: (image.seq,)),
    }


async def list_staged(call: Call, project: Project) -> view_types.StagedListView:
    services, after = call.services, call.after(int)
    before = after[0] if after else None
    found = await services.staged.find(project.id, services.now(), before=before, limit=PAGE)
    return {
        "staged": [views.staged_view(staged, services.images) for staged in found],
        "next": next_cursor(found, PAGE, lambda staged: (staged.image.seq,)),
    }


async def list_baselines(call: Call, project: Project) -> view_types.BaselineListView:
    baselines, after = call.services.baselines, call.after(int)
    branch = call.query.get("branch") or None
    found = await baselines.commits(project.id, branch, after[0] if after else None, COMMITS_PAGE)
    return {
        "branches": await baselines.branches(project.id),
        "commits": [
            views.view_of(view_types.BaselineCommitView, commit, complete=commit.is_complete)
            for commit in found
        ],
        "next": next_cursor(found, COMMITS_PAGE, lambda commit: (commit.seq,)),
    }


async def list_baseline_images(call: Call, project: Project) -> view_types.ImageListView:
    services, query, after = call.services, call.query, call.after(str, str, str)
    found = await services.baselines.of_commit(
        project.id,
        query.get("branch", ""),
        query.get("commit_sha", ""),
        ShotKey(*after) if after else None,
        PAGE,
    )
    return {
        "images": [views.image_view(image, services.images) for image in found],
        "next": next_cursor(found, PAGE, lambda image: image.shot),
    }


async def list_baseline_history(call: Call, project: Project) -> view_types.BaselineHistoryView:
    services, query, after = call.services, call.query, call.after(int)
    shot = ShotKey(*(query.get(part, "") for part in ShotKey._fields))
    before = after[0] if after else MAX_INTEGER
    found = await services.baselines.history(project.id, query.get("branch", ""), shot)
    page = [period for period in found if period.seq < before][:COMMITS_PAGE]
    return {
        "periods": [
            views.view_of(
                view_types.BaselinePeriodView, period, image=views.image_view(period.image, services.images)
            )
            for period in page
        ],
        "next": next_cursor(page, COMMITS_PAGE, lambda period: (period.seq,)),
    }


async def delete_image(call: Call, project: Project) -> view_types.DeletedImageView:
    image_id = call.path("image_id")
    await call.services.images.delete(Access(project), image_id)
    return {"ok": True, "id": image_id}


async def make_thumbnails(call: Call, project: Project) -> view_types.ThumbnailUrlsView:
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
    project_route("GET", "/staged", list_staged),
    project_route("GET", "/baselines", list_baselines),
    project_route("GET", "/baselines/images", list_baseline_images),
    project_route("GET", "/baselines/history", list_baseline_history),
    project_route("DELETE", "/images/{image_id}", delete_image),
    project_route("POST", "/thumbnails", make_thumbnails, needs=Role.VIEWER),
)
