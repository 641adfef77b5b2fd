"""`prshots move`: move to another database or store while the service runs."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import ConfigOption, say, settings_from
from prshots.contract.errors import RecordsError, StoreError
from prshots.contract.sizes import pluralize, readable_size

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings
    from prshots.server.move import MoveReport, Progress, ShowProgress
    from prshots.server.move.estimate import Estimate
    from prshots.server.move.plan import MovePlan

LINE_SECONDS = 10.0
"""How often to print a progress line if there is no terminal for a bar."""

AGAIN = "Nothing is lost, and the service keeps running where it is. Run the same command again to continue."


def move(
    *,
    to_database: Annotated[
        str | None,
        typer.Option(
            "--to-database",
            envvar="PRSHOTS_TO_DATABASE_URL",
            metavar="URL",
            help="Where the records go, as in PRSHOTS_DATABASE_URL.",
        ),
    ] = None,
    to_store: Annotated[
        str | None,
        typer.Option(
            "--to-store",
            envvar="PRSHOTS_TO_STORE_URL",
            metavar="URL",
            help="Where the images go, as in PRSHOTS_STORE_URL.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate the size and duration.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Read every image back and compare it.")] = False,
    cancel: Annotated[
        bool,
        typer.Option("--cancel", help="Cancel a move, or let the old place accept writes again."),
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Move records and images to another database or store. The service can keep running.

    Copies while the service runs, then stops uploads for seconds, and says what to set. From then on the old
    place refuses writes. To continue an interrupted move, run the same command again.
    """
    import asyncio

    from prshots.server.move.estimate import estimate
    from prshots.server.move.plan import MovePlan
    from prshots.server.move.steps import move as run_move

    settings = settings_from(config)
    if cancel:
        _cancel(settings)
        return
    plan = MovePlan.of(settings, to_database, to_store)
    if dry_run:
        print(_describe_estimate(asyncio.run(estimate(plan))))
        return
    began = time.monotonic()
    try:
        with _progress() as show:
            report = asyncio.run(run_move(plan, show, verify=verify))
    except (RecordsError, StoreError) as error:
        raise type(error)(f"{error}. {AGAIN}") from error
    print(_summary(plan, report, time.monotonic() - began))


@contextmanager
def _progress() -> "Iterator[ShowProgress]":
    """Show a bar for each phase on a terminal, and lines elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _MoveLines().show
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}
        began: dict[str, float] = {}

        def show(so_far: "Progress") -> None:
            if so_far.phase not in tasks:
                tasks[so_far.phase] = bars.add_task(so_far.phase, rate="")
                began[so_far.phase] = time.monotonic()
            rate = _rate(so_far, began[so_far.phase])
            bars.update(tasks[so_far.phase], completed=so_far.done, total=so_far.total, rate=rate)

        yield show


class _MoveLines:
    """Prints each phase once, and its progress every few seconds."""

    def __init__(self) -> None:
        self._phase, self._began, self._said = "", 0.0, 0.0

    def show(self, so_far: "Progress") -> None:
        now = time.monotonic()
        if so_far.phase != self._phase:
            self._phase, self._began, self._said = so_far.phase, now, now
            say(f"{so_far.phase} …")
        elif now - self._said > LINE_SECONDS:
            self._said = now
            per_second = max(so_far.done / (now - self._began), 0.001)
            left = (so_far.total - so_far.done) / per_second
            say(
                f"{so_far.phase}: {so_far.done:,} of {so_far.total:,} {so_far.unit}, "
                f"{_rate(so_far, self._began)}, {_duration(left)} left"
            )


def _rate(so_far: "Progress", began: float) -> str:
    return f"{so_far.done / max(time.monotonic() - began, 0.001):,.0f} {so_far.unit}/s"


def _duration(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"  # noqa: PLR2004 - two hours


def _describe_estimate(found: "Estimate") -> str:
    what = [
        *([f"{pluralize(found.rows, 'row')} of records"] if found.rows else []),
        *([f"{pluralize(found.images, 'image')} ({readable_size(found.bytes)})"] if found.images else []),
    ]
    basis = f", from copying {pluralize(found.sampled, 'image')}" if found.sampled else ""
    return (
        f"To move: {' and '.join(what) or 'nothing'}.\n"
        f"It takes about {_duration(found.seconds)}. This is an estimate{basis}.\n"
        "The targets answer and are empty. Nothing was moved."
    )


def _summary(plan: "MovePlan", report: "MoveReport", seconds: float) -> str:
    lines = []
    if report.was_done:
        lines.append("This move is done.")
    else:
        moved = []
        if plan.moves_database:
            moved.append(pluralize(sum(report.tables.values()), "row"))
        if plan.moves_store:
            moved.append(pluralize(report.files, "file"))
        lines.append(f"Moved {' and '.join(moved)}.")
        copied = f"{pluralize(report.objects, 'file')} ({readable_size(report.bytes)})"
        lines.append(
            f"This run took {_duration(seconds)}, copied {copied} and followed "
            f"{pluralize(report.changes, 'change')}."
        )
        lines.append(f"Writes stopped for {report.stopped_seconds:.1f} s.")
        lines += _describe_broken(report)
    return "\n".join([*lines, "", *_next_steps(plan)])


def _describe_broken(report: "MoveReport") -> list[str]:
    from prshots.server.move import SHOWN

    kinds = {
        "missing in the source, and so in the target": report.missing,
        "damaged in the source, and copied as they are": report.damaged,
    }
    return [
        f"{pluralize(len(keys), 'file')} {what}, such as {', '.join(list(keys)[:SHOWN])}."
        for what, keys in kinds.items()
        if keys
    ]


def _next_steps(plan: "MovePlan") -> list[str]:
    from prshots.server.move.plan import settings_to_use

    old = plan.source.database_place if plan.moves_database else plan.source.store_place
    lines = [
        f"{old} refuses writes now: uploads get a 503 until the service runs with the new settings.",
        "Set these for every process, then restart all of them (API, delivery, web, sweep):",
        "",
        *(f"  {name}={shlex.quote(value)}" for name, value in settings_to_use(plan).items()),
        "",
    ]
    if any("…" in value for value in settings_to_use(plan).values()):
        lines.append("Put the password in place of … in the URL.")
    if not plan.target.signing_keys:
        lines.append(
            f"Signing keys: keep {plan.target.signing_keys_file}, and copy it to every other machine."
        )
    if plan.target.counts_in_memory:
        lines.append("Several machines also need PRSHOTS_COUNTER_URL=redis://… for the upload limit.")
    lines.append(
        "When the service works, delete the old copy. Until then, `prshots move --cancel` with the old "
        "settings lets it accept writes again."
    )
    return lines


def _cancel(settings: "Settings") -> None:
    """Cancel the move in the settings' database, ignoring the targets, which may be set as variables."""
    from prshots.server.move.source import open_source

    with open_source(settings) as source, source.lock(settings):
        state = source.cancel()
    if state is None:
        say("There is no move to cancel.")
        return
    if state.phase == "moved":
        say(
            f"{settings.database_place} accepts writes again. Images uploaded to {state.destination} since "
            "the move exist only there: do not run a service on both."
        )
    else:
        say(f"Canceled the move. Its copy is still in {state.destination}: delete it.")
