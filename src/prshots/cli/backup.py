"""`prshots backup` and `prshots restore`."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from prshots.cli.common import ConfigOption, say, settings_from, when


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; - for standard output.")],
    config: ConfigOption = None,
) -> None:
    """Back up the database, the images and the signing keys into one file, while the service runs.

    For SQLite with images on disk. The file holds secrets: whoever has it can sign image URLs.
    """
    from prshots.server.backup.writing import back_up

    settings = settings_from(config)
    to_output = str(file) == "-"
    if to_output and sys.stdout.isatty():
        raise typer.BadParameter("a backup is no text for a terminal: name a file, or send it on with > or |")
    with _cleaned_up_after(), _progress("Backing up") as progress:
        made = back_up(settings, None if to_output else file, progress)
    gone = f"; {made.gone_meanwhile:,} more were deleted meanwhile" if made.gone_meanwhile else ""
    say(f"Backed up {made.images:,} images ({made.image_bytes / 1024**2:,.1f} MB) to {file}{gone}.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup, made with `prshots backup`.")],
    config: ConfigOption = None,
) -> None:
    """Put a backup into an empty data folder. Image URLs, tokens and sign-ins stay valid."""
    from prshots.server.backup.restoring import restore as put_back

    settings = settings_from(config)
    with _cleaned_up_after(), _progress("Restoring") as progress:
        restored = put_back(settings, file, progress)
    say(
        f"Restored {restored.images:,} images ({restored.image_bytes / 1024**2:,.1f} MB), as of "
        f"{when(restored.created_at)}, into {settings.data_dir}. Start the service: prshots serve"
    )


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far it is, on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(what)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def _cleaned_up_after() -> Iterator[None]:
    """Take SIGTERM as Ctrl-C is taken: what is half done is removed."""

    def stop(_: int, __: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
