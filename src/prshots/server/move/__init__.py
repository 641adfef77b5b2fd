"""Moves an installation to another database or store while the service runs.

    plan.py       where the data goes, and the checks before the first write
    source.py     the database that the data comes from: the log of changes, snapshots, the stop of writes
    target.py     the database that the data goes to
    objects.py    the images: copies those that a store lacks, with many requests at a time
    ends.py       opens both ends of a move, and begins or continues it
    steps.py      the steps: copy, check, stop, switch
    estimate.py   the dry run

Every transaction on the target makes it equal to one snapshot of the source, as far as it is copied. So a
move that is killed continues with the next page, and nothing ever has to be undone.
`docs/understand/decisions/0032-move.md` has the reasons.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

SHOWN = 5
"""How many of the broken files the report names. It counts all."""


@dataclass(slots=True)
class MoveReport:
    rows: int = 0
    """Rows copied page by page. Rows that changed later are not counted again."""
    changes: int = 0
    """Changes applied while the service ran."""
    objects: int = 0
    bytes: int = 0
    """Files that this run copied, and their size."""
    files: int = 0
    """Files that the target had at the last comparison of the stores."""
    checked_rows: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    """Keys of files that a record names but the source lacks, in the order they were found."""
    damaged: dict[str, None] = field(default_factory=dict)
    """Keys of images whose bytes do not match their record. They are copied as they are."""
    stopped_seconds: float = 0.0
    was_done: bool = False
    """Whether there was nothing left to do."""
    tables: dict[str, int] = field(default_factory=dict)
    """The number of rows of each table at the end, the same in both databases."""


@dataclass(slots=True)
class Progress:
    """One phase of a move. `total` is an estimate."""

    phase: str
    done: int
    total: int
    unit: str = "rows"


ShowProgress = Callable[[Progress], None]
