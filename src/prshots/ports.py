"""What the services need from the outside, and how each of it can fail.

Read-only code gets a read-only port. Adapters turn their vendor's exceptions into ours; no other exception
crosses a port.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import NamedTuple, Protocol

from prshots.models import Image, Policy, Project, UploadToken
from prshots.signing import KeyRing


class Records(Protocol):
    """The database. Every method raises RecordsError; the writing ones also RecordsFullError."""

    async def add_image(self, image: Image) -> None:
        """Commit the image's record, durably, before returning."""

    async def image(self, project_id: str, image_id: str) -> Image | None:
        """Find an image of this project. Costs the same whether another project has the id or nobody."""

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> tuple[int, list[Image]]:
        """Return how many images are not scheduled for expiry, and the newest of them in upload order."""

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Mark images as scheduled for expiry; one already marked keeps its time."""

    async def close_pr(self, project_id: str, pr_number: int, now: int, *, schedule: bool) -> int:
        """Mark the PR's images as belonging to a closed PR, and return how many were not so marked before.

        With `schedule`, all of the PR's images are scheduled for expiry in the same transaction.
        """

    async def scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        """Return the next images scheduled for expiry whose id is past `after`, in the order of their ids.

        In that order their bytes lie together, so that a batch touches few folders.
        """

    async def schedule_due(self, now: int, limit: int) -> int:
        """Schedule up to `limit` images that a policy wants gone; return how many.

        Due are images past their project's `retain_days`, and images of closed PRs under `pr_close`.
        """

    async def remove_images(self, image_ids: Collection[str]) -> int:
        """Remove these records and return how many there were; those already gone are no error."""

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return which of these ids have a record."""

    async def installation_id(self) -> str:
        """Return the random id this database was given when it was made."""

    async def count_signed_with(self, kid: str) -> int: ...

    async def add_project(self, project: Project) -> None:
        """Raise ConflictError when the organization has a project of that name."""

    async def project(self, name: str, organization: str) -> Project | None: ...

    async def projects(self) -> list[Project]: ...

    async def set_policy(self, project_id: str, policy: Policy, retain_days: int | None) -> None: ...

    async def add_token(self, token: UploadToken) -> None: ...

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        """Find a token that is not revoked, by its hash. Asked every time: revoking holds at once."""

    async def tokens(self, project_id: str) -> list[UploadToken]: ...

    async def revoke_token(self, token_id: str, now: int) -> bool:
        """Return False when there is no such token; revoking one twice keeps the first time."""

    async def touch_token(self, token_id: str, now: int) -> None: ...

    async def close(self) -> None: ...


class OpenObject(NamedTuple):
    """An open file of the origin store: whoever gets it closes it."""

    fd: int
    size: int


class ObjectReader(Protocol):
    def open(self, key: str) -> OpenObject | None:
        """Open an object for reading; None when it is not there. Raises StoreError."""


class ObjectStore(ObjectReader, Protocol):
    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        """Store an object whole and durably, or leave nothing. Raises StoreError, StoreFullError."""

    async def delete(self, keys: Collection[str]) -> set[str]:
        """Delete objects, durably; one that is not there counts as deleted. Return the keys that failed."""

    async def owner(self, claimant: str) -> str:
        """Return the id of the installation whose images these are; `claimant`, if they were nobody's.

        Raises StoreError.
        """

    def stored_before(self, cutoff: float) -> AsyncIterator[list[str]]:
        """Return the keys of all objects last written before `cutoff`, in batches. Raises StoreError."""

    async def discard_unfinished(self, cutoff: float) -> int:
        """Remove what writes cut short by a crash left behind before `cutoff`. Raises StoreError."""


class RateCounter(Protocol):
    async def hit(self, project_id: str) -> bool:
        """Count one upload; False when the project has used up its minute. Raises CounterUnavailableError."""


class KeySource(Protocol):
    def ring(self) -> KeyRing:
        """Return the keys as of a few seconds ago at most; cheap enough for every request."""

    def fresh_ring(self) -> KeyRing:
        """Return the keys as of now: for a URL signed with a key that is not known yet."""
