"""Helpers shared by the commands: options, tables, times, and running async code."""

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from prshots.contract.errors import ClosedPullRequestError, InvalidInputError, NotFoundError, SettingsError
from prshots.contract.safe_text import printable, safe_json
from prshots.contract.statements import error_code, statements
from prshots.contract.variables import unknown_variable_message, unknown_variables

if TYPE_CHECKING:
    from prshots.server.adapters.sql.database.database import Database
    from prshots.server.config.settings import Settings
    from prshots.server.domain.audit.models import Action
    from prshots.server.domain.projects.keyless import Trusts
    from prshots.server.domain.projects.service import Projects

_JSON_ASKED = re.compile(r" --(json|format[ =]json)\b")

S = TypeVar("S")
T = TypeVar("T")


def stated_option(key: str, **more: Any) -> Any:  # noqa: ANN401 - typer.Option's types
    """Return an option as defined in contract/client.json. Typer adds the choices and the default."""
    option = statements()["options"][key]
    flags = [f"--{option.get('name', key)}", *(f"-{letter}" for letter in option.get("short", ""))]
    takes = None if "choices" in option else option.get("takes")
    return typer.Option(*flags, envvar=option.get("variable"), metavar=takes, help=option["help"], **more)


def stated_argument(command: str) -> Any:  # noqa: ANN401 - as above
    argument = statements()["commands"][command]["argument"]
    return typer.Argument(metavar=argument["name"], help=argument["help"])


def stated_help(command: str) -> str:
    stated = statements()["commands"][command]
    return "\n\n".join([stated["summary"], *stated["details"]])


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", envvar="PRSHOTS_CONFIG", metavar="FILE", help="A TOML file of settings."),
]


class _Volume:
    """Whether --quiet was given. Each run of a command with that option sets it."""

    is_quiet = False


def _set_quiet(given: bool) -> bool:
    _Volume.is_quiet = given
    return given


QuietOption = Annotated[bool, stated_option("quiet", callback=_set_quiet)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def settings_from(config: Path | None, component: str = "command") -> "Settings":
    """Load the settings and configure logging. Raises InvalidInputError if one is invalid."""
    import structlog

    from prshots.server.config.settings import ignored_variables, load_settings
    from prshots.server.domain.audit.models import ActorKind, act_as
    from prshots.server.observability.logs import configure_logs

    with settings_errors_as_input_errors():
        settings = load_settings(config)
    configure_logs(settings.log_format, settings.log_level, component)
    act_as(ActorKind.OPERATOR, "", account_name())
    for name in ignored_variables():
        structlog.get_logger().warning("unknown variable, ignored: see docs/run/settings.md", variable=name)
    return settings


def account_name() -> str:
    """Return the name of the operator's account on this machine, even with sudo, or "" if it has none."""
    import getpass

    with suppress(OSError, KeyError):  # in a container, the user may have no name
        return os.environ.get("SUDO_USER") or getpass.getuser()
    return ""


@contextmanager
def settings_errors_as_input_errors() -> Iterator[None]:
    """Turn SettingsError into InvalidInputError, because to the caller, settings are arguments."""
    try:
        yield
    except SettingsError as error:
        raise InvalidInputError(str(error)) from error


async def organization_id(database: "Database", name: str) -> str:
    """Return the id of the organization with this name. Raises NotFoundError."""
    from prshots.server.adapters.sql.people import SqlPeople

    found = await SqlPeople(database).organization_called(name)
    if found is None:
        raise NotFoundError(f"no organization {name!r}: `prshots quota list` lists them")
    return found.id


def with_accounts(settings: "Settings", work: Callable[["Projects", "Trusts"], Awaitable[T]]) -> T:
    """Run the work with an open database. The service doesn't have to be running."""
    from prshots.server.wiring import open_accounts

    return run_with(open_accounts(settings), lambda opened: work(*opened))


def run_with(opening: AbstractAsyncContextManager[S], work: Callable[[S], Awaitable[T]]) -> T:
    import asyncio  # imported here: commands that run in CI don't need it

    async def run() -> T:
        async with opening as opened:
            return await work(opened)

    return asyncio.run(run())


def record_act(settings: "Settings", action: "Action", target: str) -> None:
    """Add an act that happened outside the database to the audit log of the installation."""
    from prshots.server.adapters.sql.audit import SqlAudit
    from prshots.server.wiring import use_database

    run_with(use_database(settings), lambda database: SqlAudit(database).add(action, target=target))


def print_json(value: Any) -> None:  # noqa: ANN401 - any JSON value
    print(safe_json(json.dumps(value, indent=2, ensure_ascii=False)))


def print_json_failure(words: str, code: str) -> None:
    """With --json, print why the command failed, so that a program always gets one JSON object."""
    if _JSON_ASKED.search(" ".join(sys.argv)):  # not the parsed options, which may be what is wrong
        print_json({"error": words, "code": code})


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns. They are never cut or wrapped, to work with grep and awk."""
    table = [list(map(printable, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


MAX_ROWS = 20
"""Longer tables aren't printed, because they would fill the log. The formats for scripts have every row."""


def when(timestamp: int | None) -> str:
    return "-" if timestamp is None else datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def say(words: str) -> None:
    """Print a message for the user to standard error, unless --quiet was given."""
    if not _Volume.is_quiet:
        say_failure(words)


def say_failure(words: str) -> None:
    """Print a failure to standard error, on one line, even with --quiet."""
    typer.echo(printable(words), err=True)


CLIENT = "Client commands"
SERVER = "Server commands"

_WHOLE = 1000
"""Longer than every summary, to keep Typer from cutting one off."""


class Sections(TyperGroup):
    """Lists each command under its `rich_help_panel`. By default, Typer only does so in boxes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Typer's types are private
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = max(map(len, commands), default=0)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in commands.items():
            if command is not None and not command.hidden:
                title = getattr(command, "rich_help_panel", None) or "Commands"
                row = (name.ljust(width), command.get_short_help_str(_WHOLE))
                sections.setdefault(title, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class ClientCommand(TyperCommand):
    """A command that calls a service. For a closed pull request, it succeeds without sending anything.

    Warns about PRSHOTS_ variables that nothing reads. They aren't an error, because a CI job may have its
    own. Other commands load the settings, which rejects them.
    """

    def invoke(self, ctx: Any) -> None:  # noqa: ANN401 - as above
        if unknown_variables(os.environ, ()):
            from prshots.server.config.settings import NAMES  # imported late: it takes time to load

            for name, nearest in unknown_variables(os.environ, NAMES).items():
                say(f"Warning: {unknown_variable_message(name, nearest)}")
        try:
            super().invoke(ctx)
        except ClosedPullRequestError as error:
            say(str(error))
            print_json_failure(str(error), error_code(error))
