"""The sweep: deletes images that are due to expire, and files that crashes left behind."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prshots.contract.errors import RecordsFullError
from prshots.contract.object_names import image_id_of
from prshots.server.domain.expiry import expire_scheduled
from prshots.server.domain.ports import ObjectStore, People, Records
from prshots.server.domain.sign_in import discard_old

BATCH = 4000
"""Small enough that uploads hardly wait for its transaction, large enough that commits cost little."""

LEFTOVER_AGE_SECONDS = 3600
"""A file without a record may belong to an upload in progress, but not when it is an hour old."""

FOREIGN_STORE = "the image store belongs to another database; files without a record were not deleted"


@dataclass(slots=True)
class SweepReport:
    """The result of a sweep. The next sweep retries everything that failed."""

    expired: int = 0
    failed: int = 0
    orphans: int = 0
    unfinished: int = 0
    logins: int = 0
    tokens: int = 0
    freed_bytes: int = 0
    foreign_store: bool = False


async def sweep(
    records: Records,
    people: People,
    store: ObjectStore,
    progress: Callable[[SweepReport], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> SweepReport:
    """Run one sweep. Idempotent, so concurrent sweeps are safe. Raises RecordsError, StoreError."""
    report = SweepReport()
    now = clock()
    # On a full disk no more images can be scheduled, but deleting the scheduled ones frees space.
    with contextlib.suppress(RecordsFullError):
        while await records.schedule_due(int(now), BATCH) == BATCH:
            progress(report)
    await _expire_scheduled(records, store, report, progress)
    with contextlib.suppress(RecordsFullError):
        report.logins = await discard_old(people, int(now))
        while (discarded := await records.discard_expired_tokens(int(now), BATCH)) > 0:
            report.tokens += discarded
            progress(report)
    # With the wrong database, every image would look like a file without a record.
    installation_id = await records.installation_id()
    report.foreign_store = await store.owner(installation_id) != installation_id
    if not report.foreign_store:
        await _remove_orphans(records, store, now - LEFTOVER_AGE_SECONDS, report, progress)
        report.unfinished = await store.discard_unfinished(now - LEFTOVER_AGE_SECONDS)
    return report


async def _expire_scheduled(
    records: Records, store: ObjectStore, report: SweepReport, progress: Callable[[SweepReport], None]
) -> None:
    after = ""
    while batch := await records.scheduled(after, BATCH):
        outcome = await expire_scheduled(records, store, batch)
        report.expired += outcome.expired
        report.failed += outcome.failed
        report.freed_bytes += outcome.freed_bytes
        after = batch[-1].id  # continue behind this batch, also if some of it failed
        progress(report)


async def _remove_orphans(
    records: Records,
    store: ObjectStore,
    cutoff: float,
    report: SweepReport,
    progress: Callable[[SweepReport], None],
) -> None:
    async for keys in store.stored_before(cutoff):
        for batch in _in_batches(keys):
            known = await records.known_ids({image_id_of(key) for key in batch})
            orphans = [key for key in batch if image_id_of(key) not in known]
            if orphans:
                failed = await store.delete(orphans)
                report.orphans += len(orphans) - len(failed)
                report.failed += len(failed)
        progress(report)


def _in_batches(keys: list[str]) -> Iterator[list[str]]:
    return (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))
