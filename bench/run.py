"""The input of every measurement, and the error that voids one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class BenchError(Exception):
    """The measurement is void, because a server failed or misbehaved."""


@dataclass(frozen=True, slots=True)
class Run:
    """A folder to work in, the length of each wrk run, and a function that prints progress."""

    directory: Path
    seconds: int
    say: Callable[[str], None]
