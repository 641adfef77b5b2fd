"""Move an installation to another database or store while the service runs.

Every transaction on the target makes the copied part equal to one snapshot of the source. A killed move
therefore continues with the next page, and nothing ever has to be undone.
`docs/understand/decisions/0032-move.md` has the reasons.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

SHOWN = 5
"""How many broken files the report names. It counts all of them."""


@dataclass(slots=True)
class MoveReport:
    rows: int = 0
    """Rows copied page by page. Rows that changed later aren't counted again."""
    changes: int = 0
    """Changes applied while the service ran."""
    objects: int = 0
    bytes: int = 0
    """The number and size of the files that this run copied."""
    files: int = 0
    """The number of files in the target at the last comparison of the stores."""
    checked_rows: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    """Keys of recorded files that the source lacks, in the order they were found."""
    damaged: dict[str, None] = field(default_factory=dict)
    """Keys of images whose bytes don't match their record. They are copied unchanged."""
    stopped_seconds: float = 0.0
    was_done: bool = False
    """Whether there was nothing left to do."""
    tables: dict[str, int] = field(default_factory=dict)
    """The number of rows in each table at the end, the same in both databases."""


@dataclass(slots=True)
class Progress:
    """One phase of a move. `total` is an estimate."""

    phase: str
    done: int
    total: int
    unit: str = "rows"


ShowProgress = Callable[[Progress], None]
