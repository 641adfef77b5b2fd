"""Expire images: mark them, delete their bytes, then remove their records. Every trigger uses this."""

from collections.abc import Sequence
from dataclasses import dataclass

from prshots.server.domain.models import Image
from prshots.server.domain.ports import ObjectStore, Records


@dataclass(frozen=True, slots=True)
class ExpiryOutcome:
    expired: int
    failed: int
    freed_bytes: int


async def expire_scheduled(records: Records, store: ObjectStore, images: Sequence[Image]) -> ExpiryOutcome:
    """Expire images that are scheduled. Images whose bytes cannot be deleted stay scheduled.

    They are marked first, so that after a crash the next sweep finishes them. Raises RecordsError.
    """
    failed_keys = await store.delete([key for image in images for key in image.keys])
    gone = [image for image in images if failed_keys.isdisjoint(image.keys)]
    expired = await records.remove_images([image.id for image in gone]) if gone else 0
    return ExpiryOutcome(expired, len(images) - len(gone), sum(image.size for image in gone))
