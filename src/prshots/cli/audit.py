"""`prshots audit`: who did what."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import ConfigOption, organization_id, print_table, run_with, say, settings_from, when
from prshots.contract.errors import InvalidInputError
from prshots.contract.safe_text import safe_json

if TYPE_CHECKING:
    from prshots.server.adapters.sql.database.database import Database
    from prshots.server.domain.audit.models import AuditEntry, AuditFilter

PAGE = 50


def audit(
    *,
    organization: Annotated[str, typer.Option(metavar="NAME", help="Show only this organization.")] = "",
    actor: Annotated[
        str, typer.Option(metavar="NAME", help="Show only this login, token label or operator account.")
    ] = "",
    action: Annotated[
        str,
        typer.Option(
            metavar="ACTION",
            help="Show only this action, such as token.created, or subject, such as token.",
        ),
    ] = "",
    target: Annotated[
        str, typer.Option(metavar="NAME", help="Show only this target, such as a screenshot's name.")
    ] = "",
    project: Annotated[str, typer.Option(metavar="NAME", help="Show only this project.")] = "",
    pr: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show only this pull request.")] = None,
    since: Annotated[
        str,
        typer.Option(metavar="DATE", help="Show only entries from this day on (UTC), such as 2026-01-31."),
    ] = "",
    until: Annotated[
        str, typer.Option(metavar="DATE", help="Show only entries up to the end of this day (UTC).")
    ] = "",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Show at most the newest N entries.")] = 100,
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help="Print entries as JSON, one per line. Ignores --limit.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Show who did what in this installation, newest first."""
    from prshots.server.domain.audit.models import AuditFilter
    from prshots.server.domain.images.models import SECONDS_PER_DAY
    from prshots.server.wiring import use_database

    which = AuditFilter(
        actor=actor,
        action=action,
        target=target,
        pr_number=pr,
        project=project,
        since=_midnight("since", since) if since else None,
        until=_midnight("until", until) + SECONDS_PER_DAY if until else None,
        with_shots=json_lines,
    )

    async def show(database: "Database") -> list["AuditEntry"]:
        found: list[AuditEntry] = []
        async for entry in _entries(database, organization, which):
            if json_lines:
                print(safe_json(json.dumps(entry.as_exported(), ensure_ascii=False)))
            elif len(found) < limit:
                found.append(entry)
            else:
                break
        return found

    found = run_with(use_database(settings_from(config)), show)
    if json_lines:
        return
    print_table(
        ["TIME", "WHO", "FROM", "ACTION", "ON", "PULL REQUEST", "PROJECT"],
        [
            [
                when(entry.at),
                entry.actor.name or entry.actor.kind,
                entry.actor.address or "-",
                entry.action,
                entry.target or "-",
                f"#{entry.pr_number}" if entry.pr_number else "-",
                entry.project or "-",
            ]
            for entry in found
        ],
    )
    if not found:
        say("No entries match.")


def _midnight(option: str, day: str) -> int:
    try:
        return int(datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise InvalidInputError(f"--{option} takes a date such as 2026-01-31; got {day!r}") from None


async def _entries(
    database: "Database", organization: str, which: "AuditFilter"
) -> AsyncIterator["AuditEntry"]:
    from prshots.server.adapters.sql.audit import SqlAudit

    owner_id = await organization_id(database, organization) if organization else None
    before = None
    while page := await SqlAudit(database).entries(owner_id, which, before, PAGE):
        for entry in page:
            yield entry
        before = page[-1].seq
