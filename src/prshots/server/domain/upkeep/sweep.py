"""The sweep: deletes images that are due to expire, and files that crashes left behind."""

import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from prshots.contract.errors import RecordsFullError
from prshots.contract.object_names import SHARDS, image_id_of
from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import KEPT_REPLY_SECONDS, SECONDS_PER_DAY
from prshots.server.domain.images.ports import ImageRecords
from prshots.server.domain.images.recorded_objects import expire_scheduled
from prshots.server.domain.people.sign_in import discard_old
from prshots.server.domain.storage.models import Measurement
from prshots.server.domain.upkeep import safeguards
from prshots.server.domain.upkeep.ports import UpkeepEngines

BATCH = 4000
"""Small enough that uploads barely wait for its transaction, and large enough that commits are cheap."""

LISTED_AT_MOST = 4_000_000
"""How many objects a sweep lists to find those without a record: about 15 minutes on S3. In a larger store,
each sweep lists only some folders at random. Otherwise it wouldn't finish before the next one."""

OBJECTS_OF_AN_IMAGE = 2  # the original and its thumbnail

RECLAIMING_SECONDS = 60.0
"""How long a sweep spends on returning free space to the disk. The next sweep continues."""

OLD_PAIRS_SECONDS = 90 * 86_400
"""After this long, the sweep discards the result of comparing two images."""

OLD_DELIVERIES_SECONDS = 30 * 86_400
"""After this long without a cause, the sweep forgets what was sent to a forge or a webhook, or why not."""

USAGE_DAYS = 400
"""How long the measured usage of a day is kept."""

ENDED_LINKS_SECONDS = 30 * 86_400
"""How long after its end the sweep removes a share link."""

FORCE = "if that is right, run `prshots sweep --force`"

Reason = Literal["clock", "retention", "orphans"]


@dataclass(slots=True)
class SweepReport:
    """The result of a sweep. The next one retries failures. `refused` says why images were kept."""

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
    engines: UpkeepEngines,
    progress: Progress = lambda _: None,
    clock: Callable[[], float] = time.time,
    *,
    force: bool = False,
) -> SweepReport:
    """Run one sweep. Idempotent, so concurrent sweeps are safe. Raises RecordsError, StoreError.

    If the clock is wrong, the sweep only deletes images that are already scheduled. Without `force`, it
    deletes at most half of all images because of retention, and at most half of all files for lack of a
    record.
    """
    run = _Sweep(engines, progress, int(clock()), force=force)
    if wrong := await safeguards.wrong_clock(engines.upkeep, engines.store, clock):
        run.report.refused["clock"] = f"{wrong}. Until then, only images that are already scheduled expire"
        await run.expire_scheduled()
        return run.report
    # A full disk has no room to schedule more images, but deleting the scheduled ones frees space.
    with contextlib.suppress(RecordsFullError):
        await run.schedule()
    await run.expire_scheduled()
    with contextlib.suppress(RecordsFullError):
        await run.discard_credentials()
        await run.discard_old_audit()
        await engines.encrypt_again()
    await run.remove_leftovers()
    with contextlib.suppress(RecordsFullError):
        run.report.returned_bytes = await engines.upkeep.reclaim_space(RECLAIMING_SECONDS)
    return run.report


class _Sweep:
    """The steps of one sweep, and their results so far."""

    def __init__(self, engines: UpkeepEngines, progress: Progress, now: int, *, force: bool) -> None:
        self.report = SweepReport()
        self._engines = engines
        self._progress = progress
        self._now = now
        self._force = force

    async def schedule(self) -> None:
        """Schedule images that are due or no longer needed, and remove old records."""
        engines, now = self._engines, self._now
        await self._schedule_due()
        while await engines.baselines.release(now, BATCH) == BATCH:
            self._progress(self.report)
        while await engines.staged.schedule_expired(now, BATCH) == BATCH:
            self._progress(self.report)
        for discard in (
            partial(engines.put_urls.discard_expired, now),
            partial(engines.comparisons.discard_old_pairs, now - OLD_PAIRS_SECONDS),
            partial(engines.outbox.discard_old, now - OLD_DELIVERIES_SECONDS),
            partial(engines.webhooks.discard_old, now - OLD_DELIVERIES_SECONDS),
            partial(engines.records.discard_kept_replies, now - KEPT_REPLY_SECONDS),
            partial(engines.noise.discard_old, now),
            partial(engines.share_links.discard_old, now - ENDED_LINKS_SECONDS, now),
        ):
            await self._discard(discard)

    async def _discard(self, discard: Callable[[int], Awaitable[int]]) -> None:
        while await discard(BATCH) > 0:
            self._progress(self.report)

    async def _schedule_due(self) -> None:
        """Schedule images that are due, unless more than half of all images have been due for over a day.

        Images that people deleted, or whose pull request they closed, are already scheduled.
        """
        upkeep = self._engines.upkeep
        stored, _ = await upkeep.stored()
        enough = max(safeguards.MASS, stored // 2) + 1
        if not self._force and safeguards.is_mass(
            await upkeep.count_overdue(self._now - safeguards.OVERDUE_SECONDS, enough), stored
        ):
            self.report.refused["retention"] = (
                f"more than half of all {stored:,} images should have expired over a day ago, so the sweep "
                "applied no retention rule. Check the retention of your projects and this machine's "
                f"clock; {FORCE}"
            )
            return
        while await self._engines.records.schedule_due(self._now, BATCH) == BATCH:
            self._progress(self.report)

    async def expire_scheduled(self) -> None:
        records, after = self._engines.records, ""
        while batch := await records.next_scheduled(after, BATCH):
            outcome = await expire_scheduled(records, self._engines.store, batch, Action.SWEEP_DELETED)
            self.report.expired += outcome.expired
            self.report.failed += outcome.failed
            self.report.freed_bytes += outcome.freed_bytes
            after = batch[-1].id  # continue after this batch, even if parts of it failed
            self._progress(self.report)

    async def discard_credentials(self) -> None:
        """Remove expired sign-ins, sessions and short-lived tokens."""
        self.report.logins = await discard_old(self._engines.people, self._now)
        while discarded := await self._engines.tokens.discard_expired_tokens(self._now, BATCH):
            self.report.tokens += discarded
            self._progress(self.report)

    async def discard_old_audit(self) -> None:
        """Remove the audit log's entries that are past their retention."""
        until = self._now - self._engines.audit_days * SECONDS_PER_DAY
        await self._discard(partial(self._engines.audit.discard_old, until))

    async def remove_leftovers(self) -> None:
        """Delete leftovers of crashes from the store, unless the store belongs to another database.

        With the wrong database, every image would look like a file without a record.
        """
        upkeep, store = self._engines.upkeep, self._engines.store
        installation_id = await upkeep.installation_id()
        if await store.owner(installation_id) != installation_id:
            self.report.foreign_store = True
            return
        cutoff = self._now - safeguards.LEFTOVER_AGE_SECONDS
        images, _ = await upkeep.stored()
        shards, measurement = _some_shards(images), Measurement()
        if await self._remove_orphans(store.stored_before(cutoff, shards), measurement):
            with contextlib.suppress(RecordsFullError):
                await self._keep_usage(measurement, len(SHARDS) / len(shards) if shards else 1.0)
        self.report.unfinished = await store.discard_unfinished(cutoff)

    async def _remove_orphans(
        self, listing: AsyncIterator[Mapping[str, int]], measurement: Measurement
    ) -> bool:
        """Delete listed files that have no record, unless that is more than half of them. Measure the others.

        Ids are random, so the first files in order of their ids are a fair sample. Return whether that
        listed and measured everything.
        """
        seen, found, held, is_whole = 0, 0, list[str](), True
        async for sizes in listing:
            without_record = await self._measure(sizes, measurement)
            seen, found, held = seen + len(sizes), found + len(without_record), held + without_record
            if len(held) > max(BATCH, safeguards.MASS):  # a large enough sample
                if self._are_too_many(found, seen):
                    is_whole = False
                    break
                await self._delete_orphans(held)
                held = []
            self._progress(self.report)
        if held:
            await self._finish_orphans(held, found, seen)
        return is_whole

    async def _measure(self, sizes: Mapping[str, int], measurement: Measurement) -> list[str]:
        """Add listed files to their projects' usage. Return the keys of those that have no record."""
        ids = list({image_id_of(key) for key in sizes})
        owners: dict[str, tuple[str, str]] = {}
        for start in range(0, len(ids), BATCH):
            owners |= await self._engines.usage.owners(ids[start : start + BATCH])
        without_record: list[str] = []
        for key, size in sizes.items():
            if owner := owners.get(image_id_of(key)):
                measurement.add(key, size, *owner)
            else:
                without_record.append(key)
        return without_record

    async def _keep_usage(self, measurement: Measurement, factor: float) -> None:
        """Replace today's usage, scaled up if only some folders were listed, and forget old days."""
        today = self._now // SECONDS_PER_DAY
        await self._engines.usage.replace_day(today, measurement.scaled(factor), is_estimated=factor > 1)
        await self._engines.usage.discard_days(today - USAGE_DAYS)

    async def _finish_orphans(self, held: list[str], found: int, seen: int) -> None:
        """Delete the last files without a record, or report why not."""
        if self._are_too_many(found, seen):
            deleted = f"only {self.report.orphans:,}" if self.report.orphans else "none"
            self.report.refused["orphans"] = (
                f"more than half of the files in the image store have no record ({found:,} of {seen:,}), so "
                f"the sweep deleted {deleted} of them. Check that the database and the store belong "
                f"together, and that the database is not an older copy; {FORCE}"
            )
            return
        await self._delete_orphans(held)
        self._progress(self.report)

    def _are_too_many(self, found: int, seen: int) -> bool:
        return not self._force and safeguards.is_mass(found, seen)

    async def _delete_orphans(self, keys: list[str]) -> None:
        failed = await self._engines.store.delete(keys)
        if deleted := len(keys) - len(failed):
            with contextlib.suppress(RecordsFullError):
                await self._engines.audit.add(Action.SWEEP_DELETED, details={"files_without_record": deleted})
        self.report.orphans += deleted
        self.report.failed += len(failed)


async def find_without_record(records: ImageRecords, keys: Sequence[str]) -> list[str]:
    """Return the keys of objects without a record. Looks them up in batches."""
    found: list[str] = []
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        known = await records.known_ids({image_id_of(key) for key in batch})
        found += [key for key in batch if image_id_of(key) not in known]
    return found


def _some_shards(images: int) -> list[str] | None:
    """Return the folders to list, or None for all."""
    share = LISTED_AT_MOST / max(1, images * OBJECTS_OF_AN_IMAGE)
    if share >= 1:
        return None
    return random.sample(SHARDS, max(1, int(share * len(SHARDS))))
