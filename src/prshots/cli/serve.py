"""`prshots serve`: run the service. `prshots login-link`: sign in to it without a login provider."""

import os
import shlex
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prshots import __version__
from prshots.cli.common import ConfigOption, run_with, say, settings_errors_as_input_errors, settings_from

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from prshots.server.config.settings import Settings


LINK_SECONDS = 10.0
"""How long the greeting waits for the sign-in link."""

_DATA_VARIABLES = ("PRSHOTS_DATA_DIR", "PRSHOTS_DATABASE_URL")


class Component(StrEnum):
    WEB = "web"
    API = "api"
    DELIVERY = "delivery"
    SWEEP = "sweep"


def serve(
    component: Annotated[
        list[Component] | None,
        typer.Argument(
            metavar="COMPONENT…", help="Any of web, api, delivery and sweep. Default: all of them."
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Run the service: dashboard, API, image delivery, hourly sweep.

    Ctrl-C or SIGTERM stops it once the uploads in progress are done.
    """
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    from prshots.server import wiring
    from prshots.server.processes import handover
    from prshots.server.processes.supervisor import Supervisor, hold_back_ctrl_c
    from prshots.server.processes.worker_group import open_worker_groups
    from prshots.server.wiring.forges import github_app

    settings = settings_from(config, component=handover.COMPONENT)
    names = [name.value for name in Component if not component or name in component]
    if Component.API in names:  # web shows avatars of the providers, but has no client secrets
        with settings_errors_as_input_errors():
            settings.check_providers()
            github_app(settings)
    groups = open_worker_groups(settings, names)
    if {Component.API, Component.DELIVERY} & set(names):
        wiring.awaited_keys(settings)  # reports an invalid file now
    # Without a login provider, people sign in with a one-time link. JSON logs go to a log collector, which
    # would store the link, so they don't include it.
    makes_link = {"web", "api"} <= set(names) and not settings.providers and settings.log_format == "console"
    if config:
        os.environ["PRSHOTS_CONFIG"] = str(config.absolute())  # for the components, which inherit it
    hold_back_ctrl_c()
    supervisor = Supervisor(
        groups=groups,
        sweeps="sweep" in names,
        drain_seconds=settings.drain_seconds,
        grace_seconds=settings.grace_seconds,
    )

    def greet(wait_until_ready: "Callable[[], bool]") -> None:
        link = ThreadPoolExecutor(1).submit(copy_context().run, new_link, settings) if makes_link else None
        if wait_until_ready() and settings.log_format == "console":
            _print_greeting(settings, names, config, _wait_for(link) if link else None)

    handover.exec_supervisor(supervisor, (settings.log_format, settings.log_level), greet)


def _wait_for(link: "Future[str]") -> str:
    """Return the link, or "" if creating it fails or takes too long, for example without a database."""
    try:
        return link.result(LINK_SECONDS)
    except Exception:  # noqa: BLE001 - the API logs why
        return ""


def _print_greeting(settings: "Settings", names: list[str], config: Path | None, link: str | None) -> None:
    addresses = {
        "api": f"  API      {settings.base_url}  (reference: {settings.base_url}/docs)",
        "delivery": f"  images   {settings.img_url}",
        "sweep": "  sweep    now and every hour",
    }
    lines = [
        f"\nprshots {__version__} is running. Press Ctrl-C to stop it.\n",
        *(_how_to_sign_in(settings, link, config) if "web" in names else ()),
        *(addresses[name] for name in names if name in addresses),
        *_data_locations(settings),
    ]
    if "api" in names:
        lines += _next_commands(config, settings.base_url)
    for line in "\n".join(lines).split("\n"):
        say(line)


def _data_locations(settings: "Settings") -> list[str]:
    if settings.on_sqlite and settings.on_disk:
        return [f"  data     {settings.data_dir}\n"]
    return [f"  records  {settings.database_place}", f"  store    {settings.store_place}\n"]


def _how_to_sign_in(settings: "Settings", link: str | None, config: Path | None) -> list[str]:
    """Return how to sign in. `link` is None with a login provider, and "" if creating it failed."""
    if link is None:
        return [f"Open {settings.web_url} in a browser.\n"]
    command = _command_to_paste("login-link", config, *_DATA_VARIABLES, "PRSHOTS_WEB_PORT", "PRSHOTS_WEB_URL")
    if not link:
        return [f"To sign in, run this command and open the link it prints: {command}\n"]
    return [
        f"Open {link}\n",
        f"The link signs you in once, within 10 minutes. To get another one: {command}\n",
    ]


def _next_commands(config: Path | None, base_url: str) -> list[str]:
    create = _command_to_paste("project create demo", config, *_DATA_VARIABLES)
    issue = _command_to_paste("token create demo", config, *_DATA_VARIABLES)
    return [
        "To upload, run this in another terminal, in the same folder:\n",
        f"  {create}",
        f"  export PRSHOTS_TOKEN=$({issue})",
        f"  {_own_command()} upload screenshots/ --pr 1 --url {base_url}\n",
    ]


def _command_to_paste(words: str, config: Path | None, *variables: str) -> str:
    """Return a command that works in another terminal, where our variables aren't set."""
    given = "".join(f"{name}={_quote_value(os.environ[name])} " for name in variables if name in os.environ)
    option = f" --config {shlex.quote(str(config))}" if config else ""
    return f"{given}{_own_command()} {words}{option}"


def _quote_value(value: str) -> str:
    """Return a variable's value quoted for the shell. Hides a URL with `@`, which may contain a password."""
    return "…" if "@" in value else shlex.quote(value)


def _own_command() -> str:
    """Return how to call this program from another terminal."""
    program = Path(sys.argv[0]).absolute()
    if program.name != "prshots":
        return "prshots"
    in_a_venv = sys.prefix != sys.base_prefix and program.parent == Path(sys.prefix, "bin")
    if not in_a_venv and shutil.which("prshots") == str(program):
        return "prshots"
    # The virtual environment may only be active in this terminal, so use the program's path.
    here = Path.cwd()
    return shlex.quote(str(program.relative_to(here) if program.is_relative_to(here) else program))


def login_link(config: ConfigOption = None) -> None:
    """Print a link that signs you in to the dashboard. It works once, within 10 minutes."""
    print(new_link(settings_from(config)))
    say("Open it in a browser within 10 minutes. It works once and signs you in as the operator.")


def new_link(settings: "Settings") -> str:
    from prshots.server.wiring.sign_in import open_sign_in

    code = run_with(open_sign_in(settings), lambda signin: signin.make_link())
    return f"{settings.web_url}/sign-in#{code}"  # after the #, so it reaches no server and no log
