"""Trusts: which CI jobs may upload without a token."""

from http import HTTPStatus

from prshots.contract.errors import NotFoundError
from prshots.server.api.dashboard import fields, views
from prshots.server.api.dashboard.routing import Call, as_not_found, project_route
from prshots.server.api.dashboard.view_types import DoneView, TrustListView, TrustView
from prshots.server.domain.projects.models import Project


async def list_trusts(call: Call, project: Project) -> TrustListView:
    return {"trusts": [views.trust_view(trust) for trust in await call.services.trusts.of(project)]}


async def create_trust(call: Call, project: Project) -> TrustView:
    body = await call.body()
    issuer, claims = fields.text(body, "issuer").strip(), fields.claims(body.get("claims"))
    return views.trust_view(await call.services.trusts.add(project, issuer, claims, call.user.login))


async def remove_trust(call: Call, project: Project) -> DoneView:
    with as_not_found(NotFoundError):  # its message is for the command line
        await call.services.trusts.remove(call.path("trust_id"), project)
    return {"ok": True}


async def unpin_trust(call: Call, project: Project) -> DoneView:
    with as_not_found(NotFoundError):  # its message is for the command line
        await call.services.trusts.unpin(call.path("trust_id"), project)
    return {"ok": True}


ROUTES = (
    project_route("GET", "/trusts", list_trusts),
    project_route("POST", "/trusts", create_trust, HTTPStatus.CREATED),
    project_route("DELETE", "/trusts/{trust_id}", remove_trust),
    project_route("DELETE", "/trusts/{trust_id}/pins", unpin_trust),
)
