"""`prshots quota`: limit how much organizations and projects can store."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from prshots.cli.common import (
    ConfigOption,
    JsonOption,
    Sections,
    organization_id,
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
    from prshots.server.wiring import quotas_in, use_database

    if bool(organization) == bool(project):
        raise InvalidInputError("give either --organization or --project")
    quota_bytes, about = _quota(quota)
    settings = settings_from(config)

    async def change(database: "Database") -> None:
        quotas = quotas_in(database, settings)
        if organization:
            holder_id = await organization_id(database, organization)
            await quotas.set_quota("organization", holder_id, quota_bytes)
        else:
            await quotas.set_quota("project", await _project_id(database, project), quota_bytes)

    run_with(use_database(settings), change)
    say(f"Set the quota of {organization or project!r} to {about}.")


@app.command("list")
def list_quotas(*, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List what organizations and projects store, and their quotas."""
    from prshots.server.wiring import quotas_in, use_database

    settings = settings_from(config)

    async def find(database: "Database") -> list[_Row]:
        return [row async for row in _rows(quotas_in(database, settings))]

    rows = run_with(use_database(settings), find)
    if as_json:
        print_json(rows)
        return
    print_table(
        ["NAME", "IMAGES", "STORED", "QUOTA", "USED"],
        [
            [
                "/".join(filter(None, (row["organization"], row["project"]))),
                str(row["images"]),
                readable_size(row["bytes"]),
                *_use(row["bytes"], row["limit"], is_set=row["quota_bytes"] is not None),
            ]
            for row in rows
        ],
    )


class _Row(TypedDict):
    organization: str
    project: str
    images: int
    bytes: int
    quota_bytes: int | None
    limit: int


async def _rows(quotas: "Quotas") -> AsyncIterator[_Row]:
    records, defaults = quotas.records, quotas.defaults
    async for organization in _pages(records.organizations):
        yield _row(organization, organization.name, "", defaults["organization"])
        async for project in _pages(partial(records.projects, organization.id)):
            yield _row(project, organization.name, project.name, defaults["project"])


async def _pages(
    page_after: Callable[[tuple[int, str] | None, int], Awaitable[list["QuotaHolder"]]],
) -> AsyncIterator["QuotaHolder"]:
    after = None
    while page := await page_after(after, PAGE):
        for each in page:
            yield each
        after = page[-1].bytes, page[-1].id


def _row(holder: "QuotaHolder", organization: str, project: str, default: int) -> _Row:
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


def _quota(text: str) -> tuple[int | None, str]:
    """Return the quota in bytes and in words."""
    if text == "default":
        return None, "the default"
    if text == "none":
        return 0, "no limit"
    if size := parse_size(text):
        return size, readable_size(size)
    raise InvalidInputError(
        f"SIZE takes bytes, a size such as 20GB, none for no limit, or default; got {text!r}"
    )


async def _project_id(database: "Database", name: str) -> str:
    from prshots.server.adapters.sql.projects.projects import SqlProjects
    from prshots.server.domain.projects.models import LOCAL_ORGANIZATION

    organization, slash, own_name = name.partition("/")
    owner_id = await organization_id(database, organization) if slash else LOCAL_ORGANIZATION
    found = await SqlProjects(database).project(own_name if slash else name, owner_id)
    if found is None:
        raise NotFoundError(f"no project {name!r}: `prshots quota list` lists them")
    return found.id
