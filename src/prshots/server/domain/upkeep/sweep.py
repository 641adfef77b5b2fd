"""The sweep: deletes images that are due to expire, and files that crashes left behind."""

import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from prshots.contract.errors import RecordsFullError
from prshots.contract.object_names import SHARDS, image_id_of
from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.expiry import expire_scheduled
from prshots.server.domain.images.ports import ImageRecords, ObjectStore, PutUrlRecords, StagedRecords
from prshots.server.domain.people.ports import People
from prshots.server.domain.people.sign_in import discard_old
from prshots.server.domain.projects.ports import ProjectRecords, TokenRecords
from prshots.server.domain.upkeep.ports import Upkeep
from prshots.server.domain.upkeep.safeguards import (
    LEFTOVER_AGE_SECONDS,
    MASS,
    OVERDUE_SECONDS,
    is_mass,
    wrong_clock,
)

BATCH = 4000
"""Small enough that uploads hardly wait for its transaction, large enough that commits cost little."""

LISTED_AT_MOST = 4_000_000
"""How many objects a sweep lists to find those without a record: a quarter of an hour on S3. In a larger
store each sweep looks into some folders, at random, or it would not end before the next one."""

OBJECTS_OF_AN_IMAGE = 2  # itself and its thumbnail

RECLAIMING_SECONDS = 60.0
"""How long a sweep returns free space to the disk. The next one continues."""

OLD_PAIRS_SECONDS = 90 * 86_400
"""After so long, the result of comparing two images is forgotten."""

FORCE = "if that is right, run `prshots sweep --force`"

Reason = Literal["clock", "retention", "orphans"]


class SweepEngines(NamedTuple):
    """What a sweep works on, and a check."""

    records: ImageRecords
    people: People
    store: ObjectStore
    upkeep: Upkeep
    baselines: BaselineRecords
    comparisons: ComparisonRecords
    staged: StagedRecords
    put_urls: PutUrlRecords
    projects: ProjectRecords
    tokens: TokenRecords


@dataclass(slots=True)
class SweepReport:
    """The result of a sweep. The next sweep retries everything that failed.

    `refused` says what the sweep did not dare to delete, and why.
    """

    expired: int = 0
    failed: int = 0
    orphans: int = 0
    unfinished: int = 0
    logins: int = 0
    tokens: int = 0
    freed_bytes: int = 0
    returned_bytes: int = 0
    foreign_store: bool = False
    refused: dict[Reason, str] = field(default_factory=dict)


Progress = Callable[[SweepReport], None]


async def sweep(
    engines: SweepEngines,
    progress: Progress = lambda _: None,
    clock: Callable[[], float] = time.time,
    *,
    force: bool = False,
) -> SweepReport:
    """Run one sweep. Idempotent, so concurrent sweeps are safe. Raises RecordsError, StoreError.

    With a wrong clock it only finishes what people asked for. Without `force`, it deletes no more than half
    of all images by a retention rule, and no more than half of all files for having no record.
    """
    records, people, store, upkeep, baselines, comparisons, staged, put_urls, _, tokens = engines
    report = SweepReport()
    now = clock()
    if wrong := await wrong_clock(upkeep, store, clock):
        report.refused["clock"] = f"{wrong}. Until then, only images that are already scheduled expire"
        await _expire_scheduled(records, store, report, progress)
        return report
    # On a full disk no more images can be scheduled, but deleting the scheduled ones frees space.
    with contextlib.suppress(RecordsFullError):
        await _schedule_due(records, upkeep, int(now), report, progress, force=force)
        while await baselines.release(int(now), BATCH) == BATCH:
            progress(report)
        while await staged.schedule_expired(int(now), BATCH) == BATCH:
            progress(report)
        while await put_urls.discard_expired(int(now), BATCH) > 0:
            progress(report)
        while await comparisons.discard_old_pairs(int(now) - OLD_PAIRS_SECONDS, BATCH) > 0:
            progress(report)
    await _expire_scheduled(records, store, report, progress)
    with contextlib.suppress(RecordsFullError):
        report.logins = await discard_old(people, int(now))
        while (discarded := await tokens.discard_expired_tokens(int(now), BATCH)) > 0:
            report.tokens += discarded
            progress(report)
    # With the wrong database, every image would look like a file without a record.
    installation_id = await upkeep.installation_id()
    report.foreign_store = await store.owner(installation_id) != installation_id
    if not report.foreign_store:
        shards = _some_shards((await upkeep.stored())[0])
        listing = store.stored_before(now - LEFTOVER_AGE_SECONDS, shards)
        await _remove_orphans(records, store, listing, report, progress, force=force)
        report.unfinished = await store.discard_unfinished(now - LEFTOVER_AGE_SECONDS)
    with contextlib.suppress(RecordsFullError):
        report.returned_bytes = await upkeep.reclaim_space(RECLAIMING_SECONDS)
    return report


async def _schedule_due(
    records: ImageRecords, upkeep: Upkeep, now: int, report: SweepReport, progress: Progress, *, force: bool
) -> None:
    """Schedule what the retention rules make due, unless that is most of all images and has been for a day.

    Images of closed pull requests and deleted images are scheduled already: people asked for that.
    """
    stored, _ = await upkeep.stored()
    enough = max(MASS, stored // 2) + 1
    if not force and is_mass(await upkeep.count_overdue(now - OVERDUE_SECONDS, enough), stored):
        report.refused["retention"] = (
            f"more than half of all {stored:,} images should have expired over a day ago, so the sweep "
            "expired none by a retention rule. Check the retention of your projects and this machine's "
            f"clock; {FORCE}"
        )
        return
    while await records.schedule_due(now, BATCH) == BATCH:
        progress(report)


async def _expire_scheduled(
    records: ImageRecords, store: ObjectStore, report: SweepReport, progress: Progress
) -> None:
    after = ""
    while batch := await records.next_scheduled(after, BATCH):
        outcome = await expire_scheduled(records, store, batch)
        report.expired += outcome.expired
        report.failed += outcome.failed
        report.freed_bytes += outcome.freed_bytes
        after = batch[-1].id  # continue behind this batch, also if some of it failed
        progress(report)


async def _remove_orphans(
    records: ImageRecords,
    store: ObjectStore,
    listing: AsyncIterator[list[str]],
    report: SweepReport,
    progress: Progress,
    *,
    force: bool,
) -> None:
    """Delete listed files without a record, unless most of them have none.

    Ids are random. So the first files, in the order of their ids, are a fair sample of all of them.
    """
    seen, found, held = 0, 0, list[str]()
    async for keys in listing:
        for batch in _in_batches(keys):
            known = await records.known_ids({image_id_of(key) for key in batch})
            held += [key for key in batch if image_id_of(key) not in known]
        seen += len(keys)
        if len(held) > max(BATCH, MASS):  # enough to judge by
            if not force and is_mass(found + len(held), seen):
                break
            found += len(held)
            await _delete_orphans(store, held, report)
            held = []
        progress(report)
    if held and not force and is_mass(found + len(held), seen):
        report.refused["orphans"] = (
            f"more than half of the files in the image store have no record ({found + len(held):,} of "
            f"{seen:,}), so the sweep deleted none of them. Check that the database and the store belong "
            f"together, and that the database is not an older copy; {FORCE}"
        )
    elif held:
        await _delete_orphans(store, held, report)
        progress(report)


def _some_shards(images: int) -> list[str] | None:
    """Return which folders to list; None for all."""
    share = LISTED_AT_MOST / max(1, images * OBJECTS_OF_AN_IMAGE)
    if share >= 1:
        return None
    return random.sample(SHARDS, max(1, int(share * len(SHARDS))))


async def _delete_orphans(store: ObjectStore, keys: list[str], report: SweepReport) -> None:
    failed = await store.delete(keys)
    report.orphans += len(keys) - len(failed)
    report.failed += len(failed)


def _in_batches(keys: list[str]) -> Iterator[list[str]]:
    return (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))
