"""`prshots quota`: limit how much organizations and projects can store."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import (
    ConfigOption,
    JsonOption,
    Sections,
    print_json,
    print_table,
    run_with,
    say,
    settings_from,
)
from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.sizes import parse_size, readable_size

if TYPE_CHECKING:
    from prshots.server.adapters.sql.database.database import Database
    from prshots.server.domain.storage.models import QuotaHolder
    from prshots.server.domain.storage.service import Quotas

PAGE = 1000

app = typer.Typer(
    cls=Sections, help="Limit how much organizations and projects can store.", no_args_is_help=True
)


@app.command("set")
def set_quota(
    quota: Annotated[
        str,
        typer.Argument(
            metavar="SIZE", help="Bytes, a size such as 20GB, none for no limit, or default for the setting."
        ),
    ],
    *,
    organization: Annotated[str, typer.Option(metavar="NAME", help="The organization.")] = "",
    project: Annotated[
        str,
        typer.Option(metavar="NAME", help="The project: ORGANIZATION/NAME, or NAME if it belongs to local."),
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Set the quota of an organization or a project. A quota below the stored size deletes nothing."""
    if bool(organization) == bool(project):
        raise InvalidInputError("give either --organization or --project")
    quota_bytes = {"none": 0, "default": None}.get(quota) if quota in {"none", "default"} else _size(quota)
    settings = settings_from(config)

    async def change(database: "Database") -> None:
        from prshots.server.wiring import quotas_in

        quotas = quotas_in(database, settings)
        if organization:
            await quotas.set_organization(await _organization_id(database, organization), quota_bytes)
        else:
            await quotas.set_project(await _project_id(database, project), quota_bytes)

    from prshots.server.wiring import use_database

    run_with(use_database(settings), change)
    about = {None: "the default", 0: "no limit"}.get(quota_bytes) or readable_size(quota_bytes or 0)
    say(f"Set the quota of {organization or project!r} to {about}.")


@app.command("list")
def list_quotas(*, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List what organizations and projects store, and their quotas."""
    from prshots.server.wiring import quotas_in, use_database

    settings = settings_from(config)

    async def find(database: "Database") -> list[dict[str, object]]:
        return [row async for row in _rows(quotas_in(database, settings))]

    rows = run_with(use_database(settings), find)
    if as_json:
        print_json(rows)
        return
    print_table(
        ["NAME", "IMAGES", "STORED", "QUOTA", "USED"],
        [
            [
                str((row["project"] and f"{row['organization']}/{row['project']}") or row["organization"]),
                str(row["images"]),
                readable_size(int(str(row["bytes"]))),
                *_use(int(str(row["bytes"])), int(str(row["limit"])), is_set=row["quota_bytes"] is not None),
            ]
            for row in rows
        ],
    )


async def _rows(quotas: "Quotas") -> AsyncIterator[dict[str, object]]:
    async for organization in _pages(quotas, None):
        yield _row(organization, organization.name, "", quotas.organization_default)
        async for project in _pages(quotas, organization.id):
            yield _row(project, organization.name, project.name, quotas.project_default)


async def _pages(quotas: "Quotas", organization_id: str | None) -> AsyncIterator["QuotaHolder"]:
    records, after = quotas.records, None
    while page := (
        await records.organizations(after, PAGE)
        if organization_id is None
        else await records.projects(organization_id, after, PAGE)
    ):
        for each in page:
            yield each
        after = page[-1].bytes, page[-1].id


def _row(holder: "QuotaHolder", organization: str, project: str, default: int) -> dict[str, object]:
    return {
        "organization": organization,
        "project": project,
        "images": holder.images,
        "bytes": holder.bytes,
        "quota_bytes": holder.quota_bytes,
        "limit": default if holder.quota_bytes is None else holder.quota_bytes,
    }


def _use(stored: int, limit: int, *, is_set: bool) -> tuple[str, str]:
    if not limit:
        return "no limit", "-"
    return readable_size(limit) + ("" if is_set else " (default)"), f"{stored * 100 // limit} %"


def _size(text: str) -> int:
    size = parse_size(text)
    if not size:
        raise InvalidInputError(
            f"SIZE takes bytes, a size such as 20GB, none for no limit, or default; got {text!r}"
        )
    return size


async def _organization_id(database: "Database", name: str) -> str:
    from prshots.server.adapters.sql.people import SqlPeople

    found = await SqlPeople(database).organization_called(name)
    if found is None:
        raise NotFoundError(f"no organization {name!r}: `prshots quota list` lists them")
    return found.id


async def _project_id(database: "Database", name: str) -> str:
    from prshots.server.adapters.sql.projects.projects import SqlProjects
    from prshots.server.domain.projects.models import LOCAL_ORGANIZATION

    organization, slash, own_name = name.partition("/")
    organization_id = await _organization_id(database, organization) if slash else LOCAL_ORGANIZATION
    found = await SqlProjects(database).project(own_name if slash else name, organization_id)
    if found is None:
        raise NotFoundError(f"no project {name!r}: `prshots quota list` lists them")
    return found.id
