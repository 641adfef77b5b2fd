"""What every measurement gets, and the error that voids one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class BenchError(Exception):
    """The measurement is void: a server failed, or did not do what it was asked to do."""


@dataclass(frozen=True, slots=True)
class Run:
    """A folder to work in, the length of each wrk run, and a function that prints progress."""

    directory: Path
    seconds: int
    say: Callable[[str], None]
