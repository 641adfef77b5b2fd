"""Noise: alternating shots, and quarantined ones."""

from http import HTTPStatus

from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.routing import Call, project_route
from prshots.server.api.fields import shot_of
from prshots.server.domain.projects.models import Project, Role


async def list_noise(call: Call, project: Project) -> view_types.NoiseView:
    services = call.services
    found = await services.noise.alternating(project)
    ids = {each.image_id for _, pictures in found for each in pictures}
    by_id = {image.id: image for image in await services.overview.images(project.id, ids)}
    return {"shots": [views.alternating_shot_view(*each, by_id, services.images) for each in found]}


async def list_quarantines(call: Call, project: Project) -> view_types.QuarantineListView:
    found = await call.services.noise.quarantines(project)
    return {"quarantines": [views.view_of(view_types.QuarantineView, each) for each in found]}


async def quarantine(call: Call, project: Project) -> view_types.QuarantineView:
    body = await call.body()
    shot, reason, days = shot_of(body), fields.text(body, "reason").strip(), fields.number(body, "days")
    stored = await call.services.noise.quarantine(project, shot, reason, days, call.user.login)
    return views.view_of(view_types.QuarantineView, stored)


async def end_quarantine(call: Call, project: Project) -> view_types.DoneView:
    await call.services.noise.end_quarantine(project, call.path("quarantine_id"))
    return {"ok": True}


ROUTES = (
    project_route("GET", "/noise", list_noise),
    project_route("GET", "/quarantines", list_quarantines),
    project_route("POST", "/quarantines", quarantine, HTTPStatus.CREATED, needs=Role.REVIEWER),
    project_route("DELETE", "/quarantines/{quarantine_id}", end_quarantine, needs=Role.REVIEWER),
)
