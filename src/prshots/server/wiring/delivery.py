"""Builds the delivery component from settings."""

import asyncio

from prshots.server.config.settings import Settings
from prshots.server.delivery.decision import Delivery
from prshots.server.http.readiness import Readiness
from prshots.server.links import FileReader
from prshots.server.wiring import awaited_keys, open_reader


def build_delivery(settings: Settings) -> tuple[Delivery, Readiness]:
    # Delivery only verifies, so a key that it created itself would be useless. It waits for the API's keys.
    reader, keys = open_reader(settings), awaited_keys(settings)

    async def check_keys() -> None:
        keys.ring()

    async def check_store() -> None:
        if isinstance(reader, FileReader):  # a disk may hang
            await asyncio.to_thread(reader.check)
        else:
            await reader.check()

    return (
        Delivery(reader, keys, settings.cache_seconds),
        Readiness({"keys": check_keys, "store": check_store}),
    )
