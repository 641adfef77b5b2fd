"""The ports of images, and how each call can fail."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from prshots.server.domain.images.models import (
    BranchPlace,
    Hit,
    Image,
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


class ImageRecords(Protocol):
    """The images of pull requests. Raises RecordsError; methods that write also raise RecordsFullError."""

    async def add_image(self, image: Image, branch: str = "", before: Image | None = None) -> None:
        """Commit the image's record durably before returning. With a branch, it becomes a baseline there.

        A `before` image is committed with it, or neither is.

        Raises UnauthorizedError if its project is gone, and the token with it.
        """

    async def image(self, project_id: str, image_id: str) -> Image | None:
        """Find an image of this project. Takes equally long for another project's id and an unknown one."""

    async def before_images(self, before_ids: Collection[str]) -> list[Image]:
        """Return the before images that exist, even if they are scheduled for expiry."""

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> tuple[int, list[Image]]:
        """Return how many images are not scheduled for expiry, and the newest of them in upload order."""

    async def comment_entries(
        self, project_id: str, pr_number: int, newest: int
    ) -> tuple[int, list[ListedImage]]:
        """Return the same as `images_of_pr`, with only what the comment says about each image."""

    async def newest_of_shots(self, project_id: str, pr_number: int, limit: int) -> tuple[list[Image], int]:
        """Return the newest image of each shot, and how many commits have images."""

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Mark images as scheduled for expiry. Images that are already scheduled keep their time.

        Here and below, scheduling an image also schedules its before image.
        """

    async def close_pr(self, project_id: str, pr_number: int, now: int, *, schedule: bool) -> int:
        """Mark the PR's images as belonging to a closed PR. Return how many were not marked before.

        With `schedule`, also schedule all of the PR's images for expiry in the same transaction, and remove
        its comparisons.
        """

    async def is_closed(self, project_id: str, pr_number: int) -> bool:
        """Return whether the pull request was closed, with no upload since; False for an unknown one."""

    async def next_scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        """Return the next images scheduled for expiry, ordered by id, with ids greater than `after`.

        The store keeps images by id, so that a batch in this order touches few folders.
        """

    async def schedule_due(self, now: int, limit: int) -> int:
        """Schedule up to `limit` images that are due to expire. Return how many.

        Images are due past their project's `retain_days`, and under `pr_close` once their PR is closed.
        """

    async def remove_images(self, image_ids: Collection[str]) -> int:
        """Remove these records and what refers to them. Return how many existed, without before images."""

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return which of these ids have a record."""

    async def count_signed_with(self, kid: str) -> int: ...

    async def set_thumbnail(self, image_id: str, state: ThumbnailState) -> bool:
        """Record the thumbnail's state. Return False if the image is deleted or scheduled for expiry."""

    async def check(self) -> None:
        """Run the cheapest possible query."""

    async def describe_pull(
        self, project_id: str, pr_number: int, *, title: str, source_branch: str, author: str, path: str
    ) -> bool:
        """Write what the forge says about a pull request. Empty values change nothing.

        Return False if it does not exist.
        """

    async def close(self) -> None: ...


class Overview(ProjectOverview, Protocol):
    """The dashboard's queries. Raises RecordsError.

    Lists are paged by the key of the last entry seen. No query gets slower with the number of images in a
    project.
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

        `search` matches the start of the number, the start of the last commit and, in the newest 5,000 pull
        requests, any part of a screenshot's name.
        """

    async def pull(self, project_id: str, pr_number: int) -> PullRequestRecord | None: ...

    async def biggest_pulls(self, project_id: str, limit: int) -> list[PullRequestRecord]: ...

    async def newest_images(
        self, project_id: str, pr_numbers: Collection[int], each: int
    ) -> dict[int, list[Image]]:
        """Return the newest images of each pull request, newest first."""

    async def shots(self, project_id: str, pr_number: int, after: ShotKey | None, limit: int) -> list[Shot]:
        """Return the gallery ordered by name, viewport and theme."""

    async def images_of_shot(
        self, project_id: str, pr_number: int, shot: ShotKey, before: int, limit: int
    ) -> list[Image]:
        """Return the images of one shot, newest first, with a `seq` below `before`."""

    async def images(self, project_id: str, image_ids: Collection[str]) -> list[Image]:
        """Return those of the images that belong to the project and are not scheduled for expiry."""


class StagedRecords(Protocol):
    """Images that wait for a pull request. Raises RecordsError; methods that write also RecordsFullError.

    An image that is past its `expires_at` or scheduled for expiry counts as gone.
    """

    async def add(self, staged: StagedImage) -> None:
        """Commit the image's record and where it is staged. Raises UnauthorizedError like `add_image`."""

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

        With `repository`, only what moves to a pull request from there: its own, and those of no repository.
        """

    async def count(self, project_id: str, branch: str, now: int) -> int: ...

    async def move(self, project_id: str, place: BranchPlace, pr_number: int, now: int, limit: int) -> int:
        """Give up to `limit` images that are staged for this branch of this repository to a pull request.

        Includes images of no repository. They then count as uploaded to it. Return how many. Concurrent
        calls move each image once.
        """

    async def schedule_expired(self, now: int, limit: int) -> int:
        """Schedule up to `limit` staged images that are past their `expires_at`. Return how many."""


class PutUrlRecords(Protocol):
    """One-time URLs for uploads. Raises RecordsError; methods that write also raise RecordsFullError."""

    async def add(self, put_url: PutUrl) -> None:
        """Add it. Raises UnauthorizedError if its project is gone."""

    async def find(self, sha256: str, now: int) -> tuple[PutUrl, Project] | None:
        """Find a URL by the hash of its secret, or of the secret for its before image.

        None if it was used or has expired, or if the token that it was made with is not valid any more.
        """

    async def use(self, put_url: PutUrl, image: Image, staged: StagedImage | None) -> bool:
        """Commit the image's record and use up the URL. Return False, and do neither, if it was used."""

    async def use_before(self, put_url: PutUrl, before: Image) -> bool:
        """Commit the record of its before image, like `use`. Its image must follow before the URL expires."""

    async def discard_expired(self, now: int, limit: int) -> int:
        """Remove up to `limit` URLs past their `expires_at`, and schedule before images without an image.

        Return how many URLs.
        """


class ObjectStore(Protocol):
    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        """Store an object completely and durably, or not at all. Raises StoreError, StoreFullError."""

    async def read(self, key: str) -> bytes | None:
        """Return a whole object. None if it does not exist. Raises StoreError."""

    async def delete(self, keys: Collection[str]) -> set[str]:
        """Delete objects durably. Missing ones count as deleted. Return the keys that failed."""

    async def owner(self, claimant: str) -> str:
        """Return the id of the installation that owns the store. Without an owner, `claimant` becomes it.

        Raises StoreError.
        """

    async def exists(self, key: str) -> bool:
        """Return whether the object is in the store. Raises StoreError."""

    async def time(self) -> float | None:
        """Return the current time by the store's own clock. None if it cannot tell. Raises StoreError."""

    def stored_before(self, cutoff: float, shards: Sequence[str] | None = None) -> AsyncIterator[list[str]]:
        """Yield the keys of all objects last written before `cutoff`, in order and in batches.

        `shards` restricts it to ids that begin with these pairs of digits. Raises StoreError.
        """

    async def sizes(self, shard: str) -> dict[str, int]:
        """Return the size by key of all objects whose ids begin with these two digits. Raises StoreError."""

    async def discard_unfinished(self, cutoff: float) -> int:
        """Remove partial writes that a crash left behind before `cutoff`. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if objects cannot be stored or read now."""

    def close(self) -> None: ...


class RateCounter(Protocol):
    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        """Count one upload, unless the project has reached its limit for the last minute.

        Without `limit`, the service's limit applies.

        Raises CounterUnavailableError after at most 50 ms, so that a slow counter cannot delay uploads. The
        time in which this process was busy does not count.
        """

    async def check(self) -> None:
        """Raise CounterUnavailableError if uploads cannot be counted now."""

    async def close(self) -> None: ...


class RenderThumbnail(Protocol):
    """Raises PictureError for images that it cannot or will not decode.

    Raises PictureWorkerError if a later try may succeed, as its PictureWorkerDiedError if the image may be to
    blame.
    """

    async def __call__(self, data: bytes, tallness: float) -> bytes:
        """Return a small WebP. `tallness` is the maximum ratio of height to width."""
