"""The ports for images, with the errors that each call raises."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from prshots.server.domain.audit.models import Action
from prshots.server.domain.images.models import (
    BranchPlace,
    Description,
    Hit,
    Image,
    KeptReply,
    ListedImage,
    PullRequestRecord,
    PutUrl,
    Shot,
    ShotKey,
    StagedImage,
    ThumbnailState,
)
from prshots.server.domain.projects.models import Project
from prshots.server.domain.projects.ports import ProjectOverview
from prshots.server.domain.storage.models import Limits


class ImageRecords(Protocol):
    """The images of pull requests. Raises RecordsError. Methods that write also raise RecordsFullError."""

    async def add_image(
        self,
        image: Image,
        branch: str = "",
        before: Image | None = None,
        kept: KeptReply | None = None,
        limits: Limits = (),
    ) -> bool:
        """Commit the records of the image and its `before` image, together and durably, before returning.

        With a branch, the image becomes a baseline there. With `kept`, return False and add nothing if the
        key already has a reply. Raises UnauthorizedError if the project, and therefore its token, no longer
        exists. Here and below, raises QuotaReachedError if the images don't fit into the limits.
        """

    async def keep_reply(self, kept: KeptReply) -> None:
        """Keep the reply to an upload that added nothing, unless its key already has one."""

    async def kept_reply(self, project_id: str, key: str, since: int) -> dict[str, str | int] | None:
        """Return the fields of the reply that the project got for this key after `since`."""

    async def discard_kept_replies(self, until: int, limit: int) -> int:
        """Remove about `limit` replies that were kept until this time or earlier. Return how many."""

    async def add_references(
        self,
        project_id: str,
        pr_number: int,
        commit_sha: str,
        shots: Sequence[tuple[ShotKey, str]],
        now: int,
    ) -> list[bool]:
        """Add references for the shots whose bytes, named by their SHA-256, are known, in one transaction.

        Return whether the bytes of each shot are known: as an image of the same shot in this pull request, or
        as a baseline. A commit that already has them gets no reference. Raises UnauthorizedError like
        `add_image`.
        """

    async def references_to(self, image_id: str) -> list[Image]:
        """Return the references to this image, even if they are scheduled for expiry."""

    async def image(self, project_id: str, image_id: str) -> Image | None:
        """Find an image in this project. Takes equally long for an unknown id and another project's id."""

    async def branches_of(self, image_id: str) -> set[str]:
        """Return the branches on which the image is a baseline or staged."""

    async def before_images(self, before_ids: Collection[str]) -> list[Image]:
        """Return the before images that exist, even if they are scheduled for expiry."""

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> list[Image]:
        """Return the newest images that aren't scheduled for expiry, in upload order."""

    async def comment_entries(
        self, project_id: str, pr_number: int, newest: int
    ) -> tuple[int, list[ListedImage]]:
        """Return how many uploads aren't scheduled for expiry, and the newest of them in upload order."""

    async def newest_of_shots(self, project_id: str, pr_number: int, limit: int) -> tuple[list[Image], int]:
        """Return the newest image of each shot, and the number of commits with images."""

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Schedule images for expiry. Images that are already scheduled keep their time.

        Here and below, scheduling an image also schedules its before image and the references to it.
        """

    async def close_pr(
        self, project_id: str, pr_number: int, now: int, *, schedule: bool, deleted_by: str = ""
    ) -> int:
        """Mark the pull request's images as closed. Return how many weren't marked before.

        With `schedule`, the same transaction also schedules all its images for expiry and removes its
        comparisons. With `deleted_by`, it only does that, and records who deleted them: the pull request
        stays open. Ends the pull request's share links in any case.
        """

    async def is_closed(self, project_id: str, pr_number: int) -> bool:
        """Return whether the pull request is closed and has no later upload. False for an unknown one."""

    async def next_scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        """Return the next images scheduled for expiry, ordered by id, with ids greater than `after`.

        The store arranges images by id, so a batch in this order touches few folders.
        """

    async def schedule_due(self, now: int, limit: int) -> int:
        """Schedule up to `limit` images that are due to expire. Return how many.

        An image is due when it exceeds its project's `retain_days` or, under `pr_close`, when its pull
        request closes.
        """

    async def remove_images(self, image_ids: Collection[str], recorded_as: Action | None = None) -> int:
        """Remove these records and all references to them. Return how many existed, without before images.

        With `recorded_as`, the audit log of the installation gets an entry with their number.
        """

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return the ids that have a record."""

    async def count_signed_with(self, kid: str) -> int: ...

    async def set_thumbnail(self, image_id: str, state: ThumbnailState) -> bool:
        """Record the thumbnail's state. Return False if the image is deleted or scheduled for expiry."""

    async def describe_pull(self, project_id: str, described: Description) -> bool:
        """Store a description. Empty values change nothing. Return False if the pull request is unknown."""

    async def close(self) -> None: ...


class Overview(ProjectOverview, Protocol):
    """The dashboard's queries. Raises RecordsError.

    Lists are paged by the key of the last entry seen. No query slows down as a project gains images.
    """

    async def pulls(
        self,
        project_id: str,
        *,
        closed: bool | None,
        search: str,
        before: tuple[int, int] | None,
        limit: int,
    ) -> list[PullRequestRecord]:
        """Return pull requests, newest (last_upload_at, pr_number) first.

        `search` matches the start of the number, the start of the last commit or, in the newest 5,000 pull
        requests, any part of a screenshot's name.
        """

    async def pull(self, project_id: str, pr_number: int) -> PullRequestRecord | None: ...

    async def biggest_pulls(self, project_id: str, limit: int) -> list[PullRequestRecord]: ...

    async def shots(self, project_id: str, pr_number: int, after: ShotKey | None, limit: int) -> list[Shot]:
        """Return the gallery's shots, ordered by name, viewport and theme."""

    async def images_of_shot(
        self, project_id: str, pr_number: int, shot: ShotKey, before: int, limit: int
    ) -> list[Image]:
        """Return the images of one shot, newest first, with a `seq` below `before`."""

    async def images(self, project_id: str, image_ids: Collection[str]) -> list[Image]:
        """Return the images that belong to the project and aren't scheduled for expiry."""


class StagedRecords(Protocol):
    """Staged images. Raises RecordsError. Methods that write also raise RecordsFullError.

    Images that are past their `expires_at` or scheduled for expiry count as deleted.
    """

    async def add(self, staged: StagedImage, kept: KeptReply | None = None, limits: Limits = ()) -> bool:
        """Commit the image's record and its place, with the same result and errors as `add_image`."""

    async def find(
        self,
        project_id: str,
        now: int,
        *,
        branch: str | None = None,
        repository: str | None = None,
        before: int | None = None,
        limit: int,
    ) -> list[StagedImage]:
        """Return staged images, newest first, with a `seq` below `before`.

        With `repository`, return only images that can move to a pull request from that repository: those
        staged for it, and those without a repository.
        """

    async def count(self, project_id: str, branch: str, now: int) -> int: ...

    async def move(self, project_id: str, place: BranchPlace, pr_number: int, now: int, limit: int) -> int:
        """Move up to `limit` images that are staged for this branch and repository to a pull request.

        Includes images without a repository. Moved images count as uploads to the pull request. Return how
        many were moved. Concurrent calls move each image once.
        """

    async def schedule_expired(self, now: int, limit: int) -> int:
        """Schedule up to `limit` staged images that are past their `expires_at`. Return how many."""


class PutUrlRecords(Protocol):
    """One-time upload URLs. Raises RecordsError. Methods that write also raise RecordsFullError."""

    async def add(self, put_url: PutUrl) -> None:
        """Add a URL. Raises UnauthorizedError if its project no longer exists."""

    async def find(self, sha256: str, now: int) -> tuple[PutUrl, Project] | None:
        """Find a URL by the hash of its secret, or of the secret for its before image.

        Return None if the URL was used or has expired, or if the token that created it is no longer valid.
        """

    async def use(
        self, put_url: PutUrl, image: Image, staged: StagedImage | None, limits: Limits = ()
    ) -> bool:
        """Commit the image's record and mark the URL as used. If it was already used, return False."""

    async def use_before(self, put_url: PutUrl, before: Image, limits: Limits = ()) -> bool:
        """Commit the before image's record, like `use`. The image must follow before the URL expires."""

    async def discard_expired(self, now: int, limit: int) -> int:
        """Remove up to `limit` expired URLs, and schedule unpaired before images. Return how many URLs."""


class ObjectStore(Protocol):
    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        """Store an object completely and durably, or not at all. Raises StoreError, StoreFullError."""

    async def read(self, key: str) -> bytes | None:
        """Return a whole object, or None if it doesn't exist. Raises StoreError."""

    async def delete(self, keys: Collection[str]) -> set[str]:
        """Delete objects durably. Missing objects count as deleted. Return the keys that failed."""

    async def owner(self, claimant: str) -> str:
        """Return the id of the store's owner. Without one, `claimant` becomes it. Raises StoreError."""

    async def exists(self, key: str) -> bool:
        """Return whether the object is in the store. Raises StoreError."""

    async def time(self) -> float | None:
        """Return the current time on the store's clock, or None if it has none. Raises StoreError."""

    def stored_before(
        self, cutoff: float, shards: Sequence[str] | None = None
    ) -> AsyncIterator[dict[str, int]]:
        """Yield the keys of all objects last written before `cutoff`, in order and in batches, with sizes.

        `shards` restricts the listing to ids that begin with these pairs of digits. Raises StoreError.
        """

    async def sizes(self, shard: str) -> dict[str, int]:
        """Return the size by key of each object whose id starts with these digits. Raises StoreError."""

    async def discard_unfinished(self, cutoff: float) -> int:
        """Remove partial writes that crashes left before `cutoff`. Return how many. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if the store can't currently write or read objects."""

    def close(self) -> None: ...


class RateCounter(Protocol):
    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        """Count one upload, unless the project has reached its limit for the last minute.

        `project_id` can have a suffix, which counts other calls of the project. Without `limit`, the
        service's limit applies. Raises CounterUnavailableError after at most 50 ms, so a slow counter can't
        delay uploads. Time in which this process was busy doesn't count.
        """

    async def check(self) -> None:
        """Raise CounterUnavailableError if the counter can't currently count uploads."""

    async def close(self) -> None: ...


class RenderThumbnail(Protocol):
    """Renders thumbnails. Raises PictureError for an image that it can't or won't decode.

    Raises PictureWorkerError if a later attempt may succeed, and its subclass PictureWorkerDiedError if the
    image may be the cause.
    """

    async def __call__(self, data: bytes, tallness: float) -> bytes:
        """Return a small WebP. `tallness` is the maximum ratio of height to width."""
