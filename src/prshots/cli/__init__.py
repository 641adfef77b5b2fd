"""The `prshots` command."""

import io
import os
import sys
from functools import partial
from typing import Annotated, Any

import typer

from prshots import __version__
from prshots.cli import (
    audit,
    backup,
    check,
    comment,
    compare,
    delete,
    doctor,
    expire,
    gate,
    keys,
    mcp,
    migrate,
    move,
    projects,
    quotas,
    review,
    serve,
    show,
    sweep,
    tokens,
    upload,
)
from prshots.cli.common import (
    CLIENT,
    SERVER,
    ClientCommand,
    Sections,
    print_json_failure,
    say_failure,
    stated_help,
    stated_option,
)
from prshots.contract.errors import PrshotsError
from prshots.contract.statements import error_code, exit_code, statements

_INTRODUCTION = """Show screenshots in pull requests: upload them from CI, and run the service.

Client commands run in CI or on your machine and call a service. Server commands run and maintain one."""

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

client(help=stated_help("upload"))(upload.upload)
client()(show.show)
client(help=stated_help("compare"))(compare.compare)
client(help=stated_help("comment"))(comment.comment)
client(help=stated_help("gate"))(gate.gate)
client(help=stated_help("expire"))(expire.expire)
client(help=stated_help("delete"))(delete.delete)
client()(review.review)
client()(mcp.mcp)
server()(serve.serve)
server()(sweep.sweep)
server()(serve.login_link)
server()(doctor.doctor)
server()(check.check)
server()(audit.audit)
server()(backup.backup)
server()(backup.restore)
server()(migrate.migrate)
server()(move.move)
server_group(projects.app, name="project")
server_group(tokens.app, name="token")
server_group(quotas.app, name="quota")
server_group(keys.app, name="keys")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"prshots {__version__}")
        raise typer.Exit


@app.callback(help="\n\n".join([_INTRODUCTION, *statements()["general_help"]]))
def prshots(
    *,
    version: Annotated[bool, stated_option("version", is_eager=True, callback=_print_version)] = False,
) -> None:
    del version


_UsageError: Any = typer.BadParameter.__base__  # of Typer's own copy of Click, which isn't public
_IN_ARGUMENTS = {"invalid_arguments", "not_found"}
"""Codes of errors that other arguments or variables would fix. Otherwise the failure is external."""


def main() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the terminal can't show
    try:
        try:
            sys.exit(app(standalone_mode=False))
        finally:
            print(end="", flush=True)  # now, while an error can still be reported
    except _UsageError as error:
        error.show()
        print_json_failure(error.format_message(), "invalid_arguments")
        sys.exit(error.exit_code)
    except PrshotsError as error:
        code = error_code(error)
        say_failure(f"prshots: {error}")
        print_json_failure(str(error), code)
        sys.exit(exit_code("invalid_arguments" if code in _IN_ARGUMENTS else "failed"))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "prshots":
            raise
        words = f"this command needs {error.name}: pip install 'prshots[server]'"
        print_json_failure(words, "failed")
        sys.exit(f"prshots: {words}")
    except KeyboardInterrupt:
        sys.exit(exit_code("interrupted"))
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # at exit, Python tries to write the rest again
        # Nobody reads our output any more, so print nothing.
        sys.exit(1 if isinstance(error, BrokenPipeError) else f"prshots: {error}")
