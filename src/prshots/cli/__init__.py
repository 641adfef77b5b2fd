"""The `prshots` command."""

import io
import os
import sys
from functools import partial

import typer

from prshots import __version__
from prshots.cli import (
    backup,
    check,
    comment,
    compare,
    delete,
    doctor,
    expire,
    keys,
    login_link,
    mcp,
    migrate,
    move,
    projects,
    serve,
    show,
    sweep,
    tokens,
    upload,
)
from prshots.cli.common import say_failure
from prshots.cli.help_sections import CLIENT, SERVER, ClientCommand, Sections
from prshots.contract.errors import InvalidInputError, NotFoundError, PrshotsError, RefusedInputError

INVALID_ARGUMENTS = 2
"""The exit code if an option, an argument or a variable is missing or invalid."""

app = typer.Typer(
    cls=Sections,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
client = partial(app.command, cls=ClientCommand, rich_help_panel=CLIENT)
server = partial(app.command, rich_help_panel=SERVER)
server_group = partial(app.add_typer, rich_help_panel=SERVER)

client()(upload.upload)
client()(show.show)
client()(compare.compare)
client()(comment.comment)
client()(expire.expire)
client()(delete.delete)
client()(mcp.mcp)
server()(serve.serve)
server()(sweep.sweep)
server()(login_link.login_link)
server()(doctor.doctor)
server()(check.check)
server()(backup.backup)
server()(backup.restore)
server()(migrate.migrate)
server()(move.move)
server_group(projects.app, name="project")
server_group(tokens.app, name="token")
server_group(keys.app, name="keys")


def _print_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"prshots {__version__}")
        raise typer.Exit


@app.callback()
def prshots(
    *,
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        is_eager=True,
        callback=lambda asked: _print_version(asked=asked),
    ),
) -> None:
    """Host screenshots for pull requests: upload them from CI, and run the service.

    Client commands run in CI or on your machine and call a service. Server commands run and maintain one.
    Options and settings can also be PRSHOTS_* environment variables.

    Exit codes: 0 success, 1 failure, 2 an option or a setting is missing or invalid.
    """
    del version


def _is_in_arguments(error: PrshotsError) -> bool:
    """Return whether other arguments or variables would help. Otherwise the world outside has failed."""
    return isinstance(error, InvalidInputError | NotFoundError) and not isinstance(error, RefusedInputError)


def main() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # do not fail on a name that the terminal cannot show
    try:
        try:
            app()
        finally:
            print(end="", flush=True)  # now, while an error can still be reported
    except PrshotsError as error:
        say_failure(f"prshots: {error}")
        sys.exit(INVALID_ARGUMENTS if _is_in_arguments(error) else 1)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "prshots":
            raise
        sys.exit(f"prshots: this command needs {error.name}: pip install 'prshots[server]'")
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # at exit, Python tries again to write the rest
        # If the reader of our output has gone, there is no one to tell.
        sys.exit(1 if isinstance(error, BrokenPipeError) else f"prshots: {error}")
