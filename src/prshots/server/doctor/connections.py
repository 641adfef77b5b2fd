"""Check the operator's GitHub App, and the connections of projects to their forges."""

import asyncio
from contextlib import closing

from prshots.contract.errors import PrshotsError
from prshots.contract.redaction import redact
from prshots.server import wiring
from prshots.server.adapters.forges.forge_opener import CHECKS
from prshots.server.adapters.keys import FixedKeys
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.config.settings import Settings
from prshots.server.doctor import DoctorFinding, ok, problem, warning
from prshots.server.domain.outbox.models import Connection
from prshots.server.links import KeyRing
from prshots.server.wiring.forges import github_app, open_forges

ABOUT = "connections"
MOST = 40
"""How many connections to check. If most forges answer, that takes less time than the doctor allows."""


async def check_app(settings: Settings) -> list[DoctorFinding]:
    app = github_app(settings)
    return [ok("GitHub App", f"GitHub knows it as {await asyncio.to_thread(app.name)}")] if app else []


async def check_connections(settings: Settings, ring: KeyRing) -> list[DoctorFinding]:
    database = wiring.database_as_it_is(settings)
    try:
        connections = await SqlConnections(database).connections()
        projects = {project.id: project.name for project in await wiring.projects_in(database).projects()}
    finally:
        await database.close()
    turns = asyncio.Semaphore(CHECKS)
    with closing(open_forges(settings, FixedKeys(ring))) as forges:

        async def check(connection: Connection) -> DoctorFinding | None:
            try:
                async with turns:
                    await forges.check(connection)
            except PrshotsError as error:
                project = projects.get(connection.project_id, "")
                return problem(ABOUT, redact(f"project {project!r}, {connection.repository}: {error}"))
            return None

        found = list(filter(None, await asyncio.gather(*map(check, connections[:MOST]))))
    if len(connections) > MOST:
        found.append(warning(ABOUT, f"only {MOST} of {len(connections):,} connections were checked"))
    if found or not connections:
        return found
    return [ok(ABOUT, f"every connection to a forge works: {len(connections):,}")]
