"""A project's credentials: upload tokens and trusts for CI jobs, and the connection to its forge."""

from http import HTTPStatus

from prshots.contract import validate
from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.forge_kinds import ForgeKind
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import Call, as_not_found, project_route
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.projects.models import Project, Role

PAGE = 60
_CONNECTION = "/connection"


async def list_tokens(call: Call, project: Project) -> view_types.TokenListView:
    found = await call.services.overview.tokens(project.id, call.after(int, str), PAGE)
    return {
        "tokens": [views.view_of(view_types.TokenView, token) for token in found],
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
    return {"token": views.view_of(view_types.TokenView, token), "secret": secret}


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


async def show_connection(call: Call, project: Project) -> view_types.ConnectionReplyView:
    """Return the connection. Members can see it, and owners change it. Nobody sees its token."""
    found = await call.services.connections.find(project.id)
    return {"connection": _connection_view(call, found) if found else None}


async def put_connection(call: Call, project: Project) -> view_types.ConnectionReplyView:
    body = await call.body()
    url, token = fields.text(body, "url").strip(), validate.token(fields.text(body, "token"))
    repository = validate.repository(fields.text(body, "repository"))
    if "/" not in repository:
        raise InvalidInputError("repository is invalid: enter it as owner/name")
    if url and not validate.root(url):
        raise InvalidInputError(
            "url is invalid: enter the web address of the forge, such as https://gitlab.com"
        )
    if not token:
        raise InvalidInputError("token is invalid: enter it without spaces")
    connection = Connection(
        project.id,
        fields.choice(ForgeKind, body.get("forge"), "forge"),
        api_url="",
        repository=repository,
        created_by=call.user.login,
        created_at=call.services.now(),
    )
    connection = await call.services.forges.connect(connection, validate.root(url), token)
    # The check takes seconds. Someone who stopped being an owner in the meantime gets a 403 or 404.
    await call.services.organizations.project(call.user, project.id, Role.OWNER)
    await call.services.connections.put(connection)
    return {"connection": _connection_view(call, connection)}


async def remove_connection(call: Call, project: Project) -> view_types.DoneView:
    await call.services.connections.remove(project.id)
    return {"ok": True}


def _connection_view(call: Call, connection: Connection) -> view_types.ConnectionView:
    return views.view_of(
        view_types.ConnectionView, connection, problem=call.services.forges.problem(connection)
    )


ROUTES = (
    project_route("GET", "/tokens", list_tokens, needs=Role.MAINTAINER),
    project_route("POST", "/tokens", create_token, HTTPStatus.CREATED),
    project_route("DELETE", "/tokens/{token_id}", revoke_token),
    project_route("GET", "/trusts", list_trusts, needs=Role.MAINTAINER),
    project_route("POST", "/trusts", create_trust, HTTPStatus.CREATED),
    project_route("DELETE", "/trusts/{trust_id}", remove_trust),
    project_route("DELETE", "/trusts/{trust_id}/pins", unpin_trust),
    project_route("GET", _CONNECTION, show_connection),
    project_route("PUT", _CONNECTION, put_connection, needs=Role.OWNER),
    project_route("DELETE", _CONNECTION, remove_connection, needs=Role.OWNER),
)
