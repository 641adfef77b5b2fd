"""`prshots serve` and `prshots sweep`."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prshots import __version__
from prshots.cli.common import ConfigOption, print_json, say, settings_from

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings
    from prshots.server.domain.sweep import Report


_WHERE_THE_DATA_IS = ("PRSHOTS_DATA_DIR", "PRSHOTS_DATABASE_URL")


class PartName(StrEnum):
    WEB = "web"
    API = "api"
    DELIVERY = "delivery"
    SWEEP = "sweep"


def serve(
    part: Annotated[
        list[PartName] | None, typer.Argument(help="Which parts to run; all, if none is named.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Run the service: the dashboard, the API, image delivery, and a sweep at start and every hour.

    Stops on Ctrl-C or SIGTERM, after the uploads under way.
    """
    import asyncio

    from prshots.server import wiring
    from prshots.server.processes.supervisor import Supervisor, hold_back_ctrl_c, parts_of

    settings = settings_from(config, part="serve")
    settings.check_providers()
    names = [name.value for name in PartName if not part or name in part]
    parts = parts_of(settings, names)
    if names != [PartName.WEB]:  # which signs and checks nothing
        wiring.key_source(settings)  # made here, before two parts could each want to
    # People open the dashboard of their own machine with a link; with a login provider they sign in there. A
    # collector of logs keeps what it is given, so it gets no link.
    makes_link = {"web", "api"} <= set(names) and not settings.providers and settings.log_format == "console"
    hold_back_ctrl_c()
    link = _LinkInTheMaking(config) if makes_link else None
    supervisor = Supervisor(
        parts=parts,
        sweeps="sweep" in names,
        config=config.absolute() if config else None,
        stop_seconds=settings.drain_seconds + settings.grace_seconds,
        on_ready=lambda: _greet(settings, names, config, link.made() if link else None),
    )
    sys.exit(asyncio.run(supervisor.run()))


def sweep(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Run one sweep: finish expiries that are due or failed, remove bytes that no record names."""
    import asyncio

    report, seconds = asyncio.run(_sweep(settings_from(config, part="sweep")))
    if as_json:
        print_json({**asdict(report), "seconds": round(seconds, 3)})
    else:
        print(_summary(report, seconds))
    if report.foreign_store:
        from prshots.server.domain.sweep import FOREIGN_STORE

        say(f"Warning: {FOREIGN_STORE}.")
    if report.failed:
        say(f"{report.failed} could not be deleted now; the next sweep tries again.")
        raise typer.Exit(1)


async def _sweep(settings: "Settings") -> tuple["Report", float]:
    from rich.console import Console

    from prshots.server.domain.sweep import sweep as run_sweep
    from prshots.server.wiring import opened_for_sweep

    started = time.monotonic()
    async with opened_for_sweep(settings) as (records, people, store):
        with Console(stderr=True).status("Sweeping …") as status:
            report = await run_sweep(
                records,
                people,
                store,
                lambda so_far: status.update(f"Sweeping … {so_far.expired:,} images expired"),
            )
    return report, time.monotonic() - started


def _summary(report: "Report", seconds: float) -> str:
    swept = f"Expired {report.expired:,} images ({report.freed_bytes / 1024**2:,.1f} MB) in {seconds:.1f} s"
    leftovers = report.orphans + report.unfinished
    return f"{swept}; removed {leftovers:,} files without a record." if leftovers else f"{swept}."


class _LinkInTheMaking:
    """A one-time sign-in link, made by a process of its own while the parts start.

    This process stays for as long as the service runs, and the database's code would stay in its memory.
    """

    def __init__(self, config: Path | None) -> None:
        option = ["--config", str(config)] if config else []
        command = [sys.executable, "-m", "prshots", "login-link", *option]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def made(self) -> str:
        """Return the link; "" when none could be made."""
        return self._process.communicate()[0].strip()


def _greet(settings: "Settings", names: list[str], config: Path | None, link: str | None) -> None:
    if settings.log_format == "json":
        import structlog

        structlog.get_logger().info("ready", version=__version__, parts=names)
        return
    addresses = {
        "api": f"  API      {settings.base_url}  (its manual: {settings.base_url}/docs)",
        "delivery": f"  images   {settings.img_url}",
        "sweep": "  sweep    now and every hour",
    }
    lines = [
        f"\nprshots {__version__} is running; Ctrl-C stops it.\n",
        *(_way_in(settings, link, config) if "web" in names else ()),
        *(addresses[name] for name in names if name in addresses),
        *_where_it_is_kept(settings),
    ]
    if "api" in names:
        lines += _next_commands(config, settings.base_url)
    say("\n".join(lines))


def _where_it_is_kept(settings: "Settings") -> list[str]:
    if settings.on_sqlite and settings.on_disk:
        return [f"  data     {settings.data_dir}\n"]
    return [f"  records  {settings.database_place}", f"  store    {settings.store_place}\n"]


def _way_in(settings: "Settings", link: str | None, config: Path | None) -> list[str]:
    """Return what a newcomer does first. `link` is None where people sign in with a provider."""
    if link is None:
        return [f"Open {settings.web_url} in a browser.\n"]
    another = _pasteable("login-link", config, *_WHERE_THE_DATA_IS, "PRSHOTS_WEB_PORT", "PRSHOTS_WEB_URL")
    if not link:
        return [f"Open the link that this prints: {another}\n"]
    return [f"Open {link}\n", f"It signs you in, once, within 10 minutes; for another: {another}\n"]


def _next_commands(config: Path | None, base_url: str) -> list[str]:
    create = _pasteable("project create demo", config, *_WHERE_THE_DATA_IS)
    issue = _pasteable("token create demo", config, *_WHERE_THE_DATA_IS)
    return [
        "To upload, in another terminal, in the same folder:\n",
        f"  {create}",
        f"  export PRSHOTS_TOKEN=$({issue})",
        f"  {_own_command()} upload screenshots/ --pr 1 --url {base_url}\n",
    ]


def _pasteable(words: str, config: Path | None, *variables: str) -> str:
    """Write a command so that it works in another terminal, which has not the variables set for us."""
    given = "".join(f"{name}={_shown(os.environ[name])} " for name in variables if name in os.environ)
    option = f" --config {shlex.quote(str(config))}" if config else ""
    return f"{given}{_own_command()} {words}{option}"


def _shown(value: str) -> str:
    """Return a variable's value for the shell, but not the address of a server: it may hold a password."""
    return "…" if "@" in value else shlex.quote(value)


def _own_command() -> str:
    """Return how to call this program from another terminal, so that what we print can be pasted there."""
    called = Path(sys.argv[0]).absolute()
    if called.name != "prshots":
        return "prshots"
    in_a_venv = sys.prefix != sys.base_prefix and called.parent == Path(sys.prefix, "bin")
    if not in_a_venv and shutil.which("prshots") == str(called):
        return "prshots"
    # A virtual environment may be activated in this terminal only, so its path is spelled out.
    here = Path.cwd()
    return shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))
