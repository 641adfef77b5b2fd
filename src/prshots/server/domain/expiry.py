"""How an image goes: marked, then its bytes, then its record. The one way, for every trigger."""

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
    """Expire images that are marked as scheduled; those whose bytes cannot be deleted stay so.

    The mark comes first: a crash after the bytes went leaves a record that the next sweep knows to finish.
    Raises RecordsError.
    """
    failed_keys = await store.delete([key for image in images for key in image.keys])
    gone = [image for image in images if failed_keys.isdisjoint(image.keys)]
    expired = await records.remove_images([image.id for image in gone]) if gone else 0
    return ExpiryOutcome(expired, len(images) - len(gone), sum(image.size for image in gone))
