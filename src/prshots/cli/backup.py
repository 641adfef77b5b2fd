"""`prshots backup` and `prshots restore`."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from prshots.cli.common import ConfigOption, record_act, say, settings_from, when
from prshots.contract.sizes import readable_size


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; - for standard output.")],
    config: ConfigOption = None,
) -> None:
    """Back up the database, images and signing keys into one file. The service can keep running.

    Works with SQLite and images on disk. Keep the file secret: anyone who has it can sign image URLs.
    """
    from prshots.server.backup.create import back_up

    settings = settings_from(config)
    to_output = str(file) == "-"
    if to_output and sys.stdout.isatty():
        raise typer.BadParameter("cannot write a backup to a terminal: give a file name, or use > or |")
    with _exit_on_sigterm(), _progress("Backing up") as progress:
        made = back_up(settings, None if to_output else file, progress)
    gone = f" Skipped {made.gone_meanwhile:,} deleted during the backup." if made.gone_meanwhile else ""
    say(f"Backed up {made.images:,} images ({readable_size(made.image_bytes)}) to {file}.{gone}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `prshots backup` made.")],
    config: ConfigOption = None,
) -> None:
    """Restore a backup into an empty data folder. Image URLs, tokens and sign-ins stay valid."""
    from prshots.server.backup.restore import restore as put_back
    from prshots.server.domain.audit.models import Action

    settings = settings_from(config)
    with _exit_on_sigterm(), _progress("Restoring") as progress:
        restored = put_back(settings, file, progress)
    record_act(settings, Action.RESTORED, f"{file.name}, from {when(restored.created_at)}")
    say(
        f"Restored {restored.images:,} images ({readable_size(restored.image_bytes)}) from "
        f"{when(restored.created_at)} into {settings.data_dir}. Start the service with: prshots serve"
    )


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress, but only on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(what)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: remove unfinished files before exiting."""

    def stop(_: int, __: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
