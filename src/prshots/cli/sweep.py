"""`prshots sweep`: delete expired images."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import ConfigOption, print_json, say, settings_from
from prshots.contract.sizes import pluralize, readable_size

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings
    from prshots.server.domain.upkeep.sweep import SweepReport


def sweep(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also delete if that is more than half of all images or files.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Delete images that have expired, and files without a record.

    The service does this every hour. Exit code 1 if something could not be deleted.
    """
    import asyncio

    report, seconds = asyncio.run(_sweep(settings_from(config, component="sweep"), force=force))
    if as_json:
        print_json({**asdict(report), "seconds": round(seconds, 3)})
    else:
        print(_summary(report, seconds))
    if report.foreign_store:
        from prshots.server.domain.upkeep.safeguards import FOREIGN_STORE

        say(f"Warning: {FOREIGN_STORE}; files without a record were not deleted.")
    for words in report.refused.values():
        say(f"prshots: {words}")
    if report.failed:
        say(f"{pluralize(report.failed, 'file')} could not be deleted; the next sweep tries again.")
    if report.failed or report.refused:
        raise typer.Exit(1)


async def _sweep(settings: "Settings", *, force: bool) -> tuple["SweepReport", float]:
    from rich.console import Console

    from prshots.server.domain.upkeep.sweep import sweep as run_sweep
    from prshots.server.wiring import open_for_sweep

    started = time.monotonic()
    async with open_for_sweep(settings) as engines:
        with Console(stderr=True).status("Sweeping …") as status:
            report = await run_sweep(
                engines,
                lambda so_far: status.update(f"Sweeping … {so_far.expired:,} images expired"),
                force=force,
            )
    return report, time.monotonic() - started


def _summary(report: "SweepReport", seconds: float) -> str:
    images = f"{pluralize(report.expired, 'image')} ({readable_size(report.freed_bytes)})"
    swept = f"Expired {images} in {seconds:.1f} s"
    leftovers = report.orphans + report.unfinished
    return f"{swept}; removed {pluralize(leftovers, 'file')} without a record." if leftovers else f"{swept}."
