"""What a move has done so far, for its progress bar and its last words."""

from collections.abc import Callable
from dataclasses import dataclass, field

SHOWN = 5
"""How many of the broken files are named. All are counted."""


@dataclass(slots=True)
class MoveReport:
    rows: int = 0
    """Rows that were copied page by page. Those that changed later are not counted again."""
    changes: int = 0
    """Changes that were followed while the service ran."""
    objects: int = 0
    bytes: int = 0
    """Files that this run has copied, and their size."""
    files: int = 0
    """Files that the last comparison of the stores has seen to be in the target."""
    checked_rows: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    """Keys of files that a record names and the source does not have, in the order they were found."""
    damaged: dict[str, None] = field(default_factory=dict)
    """Keys of images whose bytes are not those of their record. They are copied as they are."""
    stopped_seconds: float = 0.0
    was_done: bool = False
    """Whether there was nothing left to do."""
    tables: dict[str, int] = field(default_factory=dict)
    """The rows of each table at the end, the same in both databases."""


@dataclass(slots=True)
class Progress:
    """One phase of a move. `total` is an estimate."""

    phase: str
    done: int
    total: int
    unit: str = "rows"


ShowProgress = Callable[[Progress], None]
