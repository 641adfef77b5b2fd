"""Expires images: marks them, deletes their bytes, then removes their records. Every trigger uses this."""

from collections.abc import Sequence
from dataclasses import dataclass

from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import ImageRecords, ObjectStore


@dataclass(frozen=True, slots=True)
class ExpiryOutcome:
    expired: int
    failed: int
    freed_bytes: int


async def expire_scheduled(
    records: ImageRecords, store: ObjectStore, images: Sequence[Image]
) -> ExpiryOutcome:
    """Expire scheduled images and their before images. Images whose bytes can't be deleted stay scheduled.

    Images are marked before this call, so the next sweep can finish the job after a crash. Raises
    RecordsError.
    """
    going = await _with_before_images(records, images)
    failed_keys = await store.delete([key for image in going for key in image.keys])
    failed = {image.id for image in going if not failed_keys.isdisjoint(image.keys)}
    # Keep an image whose before image can't be deleted: only the image refers to it.
    gone = [image for image in going if failed.isdisjoint({image.id, image.before_id})]
    expired = await records.remove_images([image.id for image in gone]) if gone else 0
    return ExpiryOutcome(expired, len(going) - len(gone), sum(image.size for image in gone))


async def _with_before_images(records: ImageRecords, images: Sequence[Image]) -> Sequence[Image]:
    absent = {image.before_id for image in images if image.before_id} - {image.id for image in images}
    return [*images, *await records.before_images(absent)] if absent else images
