"""The `prshots` command."""

import io
import os
import sys

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
    projects,
    serve,
    show,
    tokens,
    upload,
)
from prshots.cli.common import warn_about_unknown_variables
from prshots.contract.errors import PrshotsError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(projects.app, name="project")
app.add_typer(tokens.app, name="token")
app.add_typer(keys.app, name="keys")
app.command()(upload.upload)
app.command()(compare.compare)
app.command()(show.show)
app.command()(mcp.mcp)
app.command()(comment.comment)
app.command()(expire.expire)
app.command()(delete.delete)
app.command()(serve.serve)
app.command()(serve.sweep)
app.command()(login_link.login_link)
app.command()(doctor.doctor)
app.command()(check.check)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(migrate.migrate)


def _print_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"prshots {__version__}")
        raise typer.Exit


CLIENT_COMMANDS = {"upload", "show", "compare", "comment", "expire", "delete", "mcp"}


@app.callback()
def prshots(
    context: typer.Context,
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

    Settings come from PRSHOTS_* environment variables or a TOML file (--config). Exit codes: 0 success,
    1 failure, 2 invalid arguments.
    """
    del version
    if context.invoked_subcommand in CLIENT_COMMANDS:  # the others load the settings, which refuses them
        warn_about_unknown_variables()


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
        sys.exit(f"prshots: {error}")
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
