"""The `prshots` command."""

import io
import os
import sys

import typer

from prshots import __version__
from prshots.cli import (
    backup,
    comment,
    delete,
    doctor,
    expire,
    keys,
    login_link,
    migrate,
    projects,
    serve,
    tokens,
    upload,
)
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
app.command()(comment.comment)
app.command()(expire.expire)
app.command()(delete.delete)
app.command()(serve.serve)
app.command()(serve.sweep)
app.command()(login_link.login_link)
app.command()(doctor.doctor)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(migrate.migrate)


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
    """Run and manage a self-hosted screenshot host for pull requests.

    Settings come from PRSHOTS_* variables or a TOML file (--config). Exit codes: 0 done, 1 could not be done,
    2 called wrongly.
    """
    del version


def main() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal cannot show is no failure
    try:
        try:
            app()
        finally:
            print(end="", flush=True)  # now, while it can still be told that it did not work
    except PrshotsError as error:
        sys.exit(f"prshots: {error}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "prshots":
            raise
        sys.exit(f"prshots: this command needs {error.name}: pip install 'prshots[server]'")
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python will try once more to write the rest
        # A reader of our output that has gone wants to hear nothing more.
        sys.exit(1 if isinstance(error, BrokenPipeError) else f"prshots: {error}")
