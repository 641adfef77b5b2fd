"""A project's connection to its forge. Members can see it, and owners change it. Nobody sees its token."""

from prshots.contract import validate
from prshots.contract.errors import InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.routing import Call, project_route
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.projects.models import Project, Role

_PATH = "/connection"


async def show_connection(call: Call, project: Project) -> view_types.ConnectionReplyView:
    found = await call.services.connections.find(project.id)
    return {"connection": _view(call, found) if found else None}


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
    return {"connection": _view(call, connection)}


async def remove_connection(call: Call, project: Project) -> view_types.DoneView:
    await call.services.connections.remove(project.id)
    return {"ok": True}


def _view(call: Call, connection: Connection) -> view_types.ConnectionView:
    return views.connection_view(connection, call.services.forges.problem(connection))


ROUTES = (
    project_route("GET", _PATH, show_connection),
    project_route("PUT", _PATH, put_connection, needs=Role.OWNER),
    project_route("DELETE", _PATH, remove_connection, needs=Role.OWNER),
)
