"""Credentials for CI jobs: upload tokens, and trusts for keyless uploads."""

from http import HTTPStatus

from prshots.contract.errors import NotFoundError
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, as_not_found, project_route
from prshots.server.domain.projects.models import Project, Role

PAGE = 60


async def list_tokens(call: Call, project: Project) -> view_types.TokenListView:
    found = await call.services.overview.tokens(project.id, call.after(int, str), PAGE)
    return {
        "tokens": [views.token_view(token) for token in found],
        "next": next_cursor(found, PAGE, lambda token: (token.created_at, token.id)),
    }


async def create_token(call: Call, project: Project) -> view_types.NewTokenView:
    body = await call.body()
    token, secret = await call.services.projects.create_token(
        project,
        fields.text(body, "label").strip(),
        created_by=call.user.login,
        creator_id=call.user.id,
        expires_days=fields.number_or_null(
            body, "expires_days", "a whole number of days, or null for no end date"
        ),
    )
    # A member who was removed in the meantime gets a 404, and nobody the secret.
    await call.services.organizations.project(call.user, project.id, Role.MAINTAINER)
    return {"token": views.token_view(token), "secret": secret}


async def revoke_token(call: Call, project: Project) -> view_types.DoneView:
    with as_not_found(NotFoundError):  # the original message is for the command line
        await call.services.projects.revoke_token(call.path("token_id"), call.user.login, project)
    return {"ok": True}


async def list_trusts(call: Call, project: Project) -> view_types.TrustListView:
    return {"trusts": [views.trust_view(trust) for trust in await call.services.trusts.of(project)]}


async def create_trust(call: Call, project: Project) -> view_types.TrustView:
    body = await call.body()
    issuer, claims = fields.text(body, "issuer").strip(), fields.claims(body.get("claims"))
    return views.trust_view(await call.services.trusts.add(project, issuer, claims, call.user.login))


async def remove_trust(call: Call, project: Project) -> view_types.DoneView:
    with as_not_found(NotFoundError):  # the original message is for the command line
        await call.services.trusts.remove(call.path("trust_id"), project)
    return {"ok": True}


async def unpin_trust(call: Call, project: Project) -> view_types.DoneView:
    with as_not_found(NotFoundError):  # the original message is for the command line
        await call.services.trusts.unpin(call.path("trust_id"), project)
    return {"ok": True}


ROUTES = (
    project_route("GET", "/tokens", list_tokens, needs=Role.MAINTAINER),
    project_route("POST", "/tokens", create_token, HTTPStatus.CREATED),
    project_route("DELETE", "/tokens/{token_id}", revoke_token),
    project_route("GET", "/trusts", list_trusts, needs=Role.MAINTAINER),
    project_route("POST", "/trusts", create_trust, HTTPStatus.CREATED),
    project_route("DELETE", "/trusts/{trust_id}", remove_trust),
    project_route("DELETE", "/trusts/{trust_id}/pins", unpin_trust),
)
