"""Keeps the sweep and `prshots check --repair` from deleting images by mistake.

A wrong clock makes images look old, a wrong database makes them look like leftovers, and a mistyped retention
makes most of them due. `docs/understand/decisions/0020-reconcile.md` explains the limits.
"""

from collections.abc import Callable

from prshots.contract.errors import ForeignStoreError
from prshots.contract.object_names import OWNER_MARK
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.upkeep.ports import Upkeep

CLOCK_SECONDS = 60.0
"""The largest difference between clocks at which the age of a file is still reliable."""

MASS = 100
"""Deleting up to this many needs no confirmation, even if that is everything."""

OVERDUE_SECONDS = 86_400
"""The last 24 sweeps should have deleted images that have been due for a day."""

LEFTOVER_AGE_SECONDS = 3600
"""A file without a record may belong to an upload in progress, but not after an hour."""

FOREIGN_STORE = "the image store belongs to another database"


def is_mass(deleted: int, of: int) -> bool:
    """Return whether deleting this many needs confirmation."""
    return deleted > MASS and deleted * 2 > of


async def wrong_clock(upkeep: Upkeep, store: ObjectStore, clock: Callable[[], float]) -> str:
    """Return a message if the engines' clocks differ from ours, or "". Raises RecordsError, StoreError."""
    for name, read_clock in (("database", upkeep.time), ("image store", store.time)):
        before = clock()
        theirs = await read_clock()
        if theirs is None:
            continue
        # The engine read its clock at some moment between our two readings.
        ahead = before - theirs if before > theirs else min(0.0, clock() - theirs)
        if abs(ahead) > CLOCK_SECONDS:
            direction = "ahead of" if ahead > 0 else "behind"
            return (
                f"this machine's clock is {abs(ahead):,.0f} s {direction} the {name}'s: set both clocks (NTP)"
            )
    return ""


async def require_own_store(upkeep: Upkeep, store: ObjectStore) -> None:
    """Raise ForeignStoreError if the store belongs to another installation."""
    mark = await store.read(OWNER_MARK)
    if mark is not None and mark.decode("utf-8", errors="replace") != await upkeep.installation_id():
        raise ForeignStoreError(
            f"{FOREIGN_STORE}: set PRSHOTS_DATABASE_URL and PRSHOTS_STORE_URL to a pair that belongs together"
        )
