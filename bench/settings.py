"""What every measurement needs to know."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Run:
    directory: Path
    seconds: int
    say: Callable[[str], None]
