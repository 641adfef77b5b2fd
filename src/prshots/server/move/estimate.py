"""The dry run: how much data there is, how long a move takes, and whether the targets are usable."""

import contextlib
import secrets
import time
from dataclasses import dataclass

from sqlalchemy import func, select

from prshots.contract.object_names import origin_key
from prshots.server import wiring
from prshots.server.adapters.sql.database.schema import images
from prshots.server.adapters.sql.move.row_copies import count_rows, digest, page_after
from prshots.server.move.objects import run_all
from prshots.server.move.plan import (
    MovePlan,
    open_existing_database,
    require_unused_database,
    require_unused_store,
)
from prshots.server.move.source import SourceDatabase, open_source
from prshots.server.move.target import TABLES

SAMPLE = 200
"""How many images the dry run copies to measure the duration. It deletes the copies."""

WRITE_FACTOR = 8
"""A rule of thumb: copying and checking a row takes about 8 times as long as reading and hashing it."""

_HAS_BYTES = images.c.source_id.is_(None)


@dataclass(frozen=True, slots=True)
class Estimate:
    rows: int
    """0 if the records stay."""
    images: int
    """0 if the images stay."""
    bytes: int
    seconds: float
    sampled: int
    """How many images the dry run copied."""


async def estimate(plan: MovePlan) -> Estimate:
    """Check that the targets answer and are unused, and estimate the duration.

    Raises MoveError, RecordsError, StoreError.
    """
    with open_source(plan.source) as source:
        rows, row_seconds = _measure_rows(source) if plan.moves_database else (0, 0.0)
        if plan.moves_database and (engine := open_existing_database(plan.target)):
            try:
                require_unused_database(engine, plan.target)
            finally:
                engine.dispose()
        if not plan.moves_store:
            return Estimate(rows, 0, 0, row_seconds, 0)
        with source.snapshot() as snapshot:
            sums = select(func.count(), func.coalesce(func.sum(images.c.size), 0))
            count, size = snapshot.execute(sums.where(_HAS_BYTES)).one()
        sampled, seconds = await _measure_objects(plan, source)
    image_seconds = seconds * count / sampled if sampled else 0.0
    return Estimate(rows, count, int(size), row_seconds + image_seconds, sampled)


def _measure_rows(source: SourceDatabase) -> tuple[int, float]:
    """Return the number of rows, and how long copying and checking them takes."""
    with source.snapshot() as snapshot:
        total = sum(count_rows(snapshot, table) for table in TABLES)
        began = time.perf_counter()
        page = page_after(snapshot, images, ())
        digest(page)
    seconds = time.perf_counter() - began
    return total, WRITE_FACTOR * seconds * total / len(page) if page else 0.0


async def _measure_objects(plan: MovePlan, source: SourceDatabase) -> tuple[int, float]:
    """Copy some images under other names, and delete the copies. Return their number and the duration."""
    with (
        contextlib.closing(wiring.open_store(plan.source)) as from_store,
        contextlib.closing(wiring.open_store(plan.target)) as to_store,
    ):
        await require_unused_store(to_store, plan.target, source.installation_id())
        with source.snapshot() as snapshot:
            some = snapshot.execute(
                select(images.c.id, images.c.ext).where(_HAS_BYTES).order_by(images.c.id).limit(SAMPLE)
            ).all()
        copies = {origin_key(image_id, ext): origin_key(secrets.token_hex(16), ext) for image_id, ext in some}

        async def copy(key: str) -> None:
            if data := await from_store.read(key):
                await to_store.put(copies[key], [data])

        began = time.perf_counter()
        try:
            await run_all(copy, list(copies))
            return len(copies), time.perf_counter() - began
        finally:
            await to_store.delete(copies.values())
