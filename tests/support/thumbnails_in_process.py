"""Thumbnails that are rendered in this process: tests of picture workers start them."""

import asyncio

from prshots.server.adapters.pictures.engine.thumbnail_rendering import render_thumbnail
from prshots.server.domain.images.ports import ObjectStore, RenderThumbnail
from prshots.server.domain.images.thumbnails import Thumbnails
from support.stores_and_records import Records
from support.waiting import HANGS_AFTER_SECONDS


async def rendered(data: bytes, tallness: float) -> bytes:
    return await asyncio.to_thread(render_thumbnail, data, tallness)


def patient_thumbnails(
    records: Records, store: ObjectStore, render: RenderThumbnail = rendered
) -> Thumbnails:
    """Return thumbnails that are never `later` because the machine is busy."""
    return Thumbnails(records=records, store=store, render=render, patience_seconds=HANGS_AFTER_SECONDS)
