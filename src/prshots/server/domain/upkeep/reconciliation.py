"""`prshots check`: compares records with stored bytes and totals with records, and repairs differences.

The check reads records and bytes in the order of their ids, one window at a time, so memory doesn't grow with
the number of images. The service can keep running. The check confirms every difference with a second lookup,
because an upload writes its bytes before its record, and an expiry marks the record before it deletes the
bytes.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from prshots.contract.errors import StoreError, WrongClockError
from prshots.contract.object_names import image_id_of
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.images.recorded_objects import expire_scheduled
from prshots.server.domain.upkeep import safeguards
from prshots.server.domain.upkeep.ports import Upkeep, UpkeepEngines, WrongTotal
from prshots.server.domain.upkeep.sweep import find_without_record

BATCH = 4000
LOOKED_UP_AT_ONCE = 16
_AFTER_EVERY_ID = "g"  # ids are hex

Discrepancy = Image | str | WrongTotal
"""A record without bytes, the key of an object without a record, or a wrong total."""


@dataclass(slots=True)
class CheckReport:
    """The results of a check, and of a repair."""

    records: int = 0
    files: int = 0
    records_without_bytes: int = 0
    files_without_record: int = 0
    wrong_totals: int = 0
    repaired: int = 0
    failed: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def found(self) -> int:
        return self.records_without_bytes + self.files_without_record + self.wrong_totals


@dataclass(frozen=True, slots=True)
class _Window:
    records: int
    files: int
    without_bytes: Sequence[Image]
    without_record: Sequence[str]


Progress = Callable[[CheckReport], None]


async def check(
    engines: UpkeepEngines,
    found: Callable[[Discrepancy], None] = lambda _: None,
    progress: Progress = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> CheckReport:
    """Compare everything without changing anything. Call `found` for each difference.

    Raises WrongClockError, ForeignStoreError, RecordsError, StoreError.
    """
    cutoff = await _cutoff(engines, clock)
    report = CheckReport()
    async for window in _compare_all(engines, cutoff):
        report.records += window.records
        report.files += window.files
        report.records_without_bytes += len(window.without_bytes)
        report.files_without_record += len(window.without_record)
        for image in window.without_bytes:
            found(image)
        for key in window.without_record:
            found(key)
        progress(report)
    async for wrong in _wrong_totals(engines):
        report.wrong_totals += 1
        found(wrong)
        progress(report)
    return report


async def repair(
    engines: UpkeepEngines,
    report: CheckReport,
    *,
    force: bool = False,
    progress: Progress = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> None:
    """Repair the differences that a check found, and update its report. Confirms each one again first.

    Expires records without bytes like any other image, deletes files without a record, and recomputes totals.
    Without `force`, never removes more than half of all records or files. Raises the same errors as `check`.
    """
    cutoff = await _cutoff(engines, clock)
    expires, deletes = report.records_without_bytes > 0, report.files_without_record > 0
    if not force and safeguards.is_mass(report.records_without_bytes, report.records):
        expires = False
        report.refused.append(
            f"{report.records_without_bytes:,} of {report.records:,} images have no bytes: check that "
            "PRSHOTS_STORE_URL names the right store and that its disk is mounted"
        )
    if not force and safeguards.is_mass(report.files_without_record, report.files):
        deletes = False
        report.refused.append(
            f"{report.files_without_record:,} of {report.files:,} files have no record: check that "
            "PRSHOTS_DATABASE_URL names the right database, and that it is not an older copy"
        )
    if expires or deletes:
        await engines.store.owner(await engines.upkeep.installation_id())
        async for window in _compare_all(engines, cutoff):
            if window.without_bytes and expires:
                await _expire(engines, window.without_bytes, report, int(clock()))
            if window.without_record and deletes:
                failed = await engines.store.delete(window.without_record)
                report.repaired += len(window.without_record) - len(failed)
                report.failed += len(failed)
            progress(report)
    async for wrong in _wrong_totals(engines):
        await engines.upkeep.recompute(wrong)
        report.repaired += 1
        progress(report)


async def _cutoff(engines: UpkeepEngines, clock: Callable[[], float]) -> float:
    """Return the time before which a file without a record counts as a leftover."""
    await safeguards.require_own_store(engines.upkeep, engines.store)
    if wrong := await safeguards.wrong_clock(engines.upkeep, engines.store, clock):
        raise WrongClockError(wrong)
    return clock() - safeguards.LEFTOVER_AGE_SECONDS


async def _expire(engines: UpkeepEngines, images: Sequence[Image], report: CheckReport, now: int) -> None:
    await engines.records.schedule([image.id for image in images], now)
    outcome = await expire_scheduled(engines.records, engines.store, images)
    report.repaired += outcome.expired
    report.failed += outcome.failed


async def _compare_all(engines: UpkeepEngines, cutoff: float) -> AsyncIterator[_Window]:
    after: str = ""
    held: list[str] = []
    async for listed in engines.store.stored_before(cutoff):
        keys = held + list(listed)
        if not keys:
            continue
        if keys != sorted(keys) or image_id_of(keys[0]) <= after:
            raise StoreError("the store doesn't list its objects in order, so they can't be compared")
        last = image_id_of(keys[-1])
        held = [key for key in keys if image_id_of(key) == last]  # its thumbnail may be in the next batch
        keys = keys[: len(keys) - len(held)]
        if keys:
            until = image_id_of(keys[-1])
            async for window in _compare_between(engines, after, until, keys):
                yield window
            after = until
    async for window in _compare_between(engines, after, _AFTER_EVERY_ID, held):
        yield window


async def _compare_between(
    engines: UpkeepEngines, after: str, until: str, keys: list[str]
) -> AsyncIterator[_Window]:
    """Compare the records with `after` < id <= `until` with the keys in this range."""
    listed: dict[str, list[str]] = {}
    for key in keys:
        listed.setdefault(image_id_of(key), []).append(key)
    page_is_full = True
    while page_is_full:
        page = await engines.upkeep.images_by_id(after, until, BATCH)
        absent = [
            image
            for image in page
            if image.key not in listed.pop(image.id, ())
            and image.source_id is None  # whose bytes are checked
        ]
        yield _Window(len(page), 0, await without_bytes(engines.upkeep, engines.store, absent), ())
        page_is_full = len(page) == BATCH
        after = page[-1].id if page else after
    rest = [key for its_keys in listed.values() for key in its_keys]
    yield _Window(0, len(keys), (), await _without_record(engines, rest))


async def without_bytes(upkeep: Upkeep, store: ObjectStore, images: list[Image]) -> list[Image]:
    """Return the images whose bytes are missing now. Images scheduled for expiry may lack their bytes.

    Checks the store before the record: bytes that an expiry has just deleted belong to a marked record.
    """
    active = [image for image in images if image.scheduled_at is None]
    there = await _find_existing(store, [image.key for image in active])
    absent = {image.id: image for image in active if image.key not in there}
    still = await upkeep.active_ids(absent.keys()) if absent else set()
    return [image for image_id, image in absent.items() if image_id in still]


async def _without_record(engines: UpkeepEngines, keys: list[str]) -> list[str]:
    """Return the keys of objects that exist but currently have no record."""
    unknown = await find_without_record(engines.records, keys)
    there = await _find_existing(engines.store, unknown)
    return [key for key in unknown if key in there]


async def _find_existing(store: ObjectStore, keys: Sequence[str]) -> set[str]:
    slots = asyncio.Semaphore(LOOKED_UP_AT_ONCE)

    async def exists(key: str) -> bool:
        async with slots:
            return await store.exists(key)

    answers = await asyncio.gather(*map(exists, keys))
    return {key for key, is_there in zip(keys, answers, strict=True) if is_there}


async def _wrong_totals(engines: UpkeepEngines) -> AsyncIterator[WrongTotal]:
    """Yield wrong totals. Projects come last, because they sum up their pull requests."""
    for project in await engines.projects.projects():
        for compare in (engines.upkeep.wrong_pulls, engines.upkeep.wrong_days):
            after: int | None = NO_PULL_REQUEST - 1
            while after is not None:
                wrong, after = await compare(project.id, after)
                for each in wrong:
                    yield each
    for each in await engines.upkeep.wrong_projects():
        yield each
