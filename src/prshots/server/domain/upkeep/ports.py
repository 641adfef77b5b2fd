"""The ports for upkeep, with the errors that each call raises."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from prshots.server.domain.audit.ports import AuditRecords
from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import ImageRecords, ObjectStore, PutUrlRecords, StagedRecords
from prshots.server.domain.outbox.ports import OutboxRecords
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.ports import ProjectRecords, TokenRecords
from prshots.server.domain.review.ports import NoiseRecords, ShareLinkRecords
from prshots.server.domain.storage.ports import UsageRecords
from prshots.server.domain.webhooks.ports import WebhookQueues

Total = Literal["project", "pull request", "day"]


@dataclass(frozen=True, slots=True)
class WrongTotal:
    """A stored total that differs from the actual count.

    `number` is the pull request's number, the day (Unix time // 86,400), or 0 for a project.
    """

    of: Total
    project_id: str
    number: int
    stored: Mapping[str, int]
    counted: Mapping[str, int]


class Upkeep(Protocol):
    """Queries of the sweep and `prshots check` about the whole database. Raises RecordsError.

    Each call reads one page or the totals, so none times out, regardless of the number of images.
    """

    async def installation_id(self) -> str:
        """Return the random id that this database received at its creation."""

    async def time(self) -> float | None:
        """Return the current time on the database's clock, or None if it has none."""

    async def stored(self) -> tuple[int, int]:
        """Return the number of all images and their total bytes, from the stored totals."""

    async def count_overdue(self, since: int, most: int) -> int:
        """Return how many images have been due to expire since this time. Stops counting at `most`."""

    async def images_by_id(self, after: str, until: str, limit: int) -> list[Image]:
        """Return the next images with `after` < id <= `until`, ordered by id."""

    async def active_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return the ids that have a record and aren't scheduled for expiry."""

    async def wrong_pulls(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        """Compare a page of pull requests, with numbers above `after`, with their images.

        Return the wrong totals and the last number that was compared, or None at the end.
        """

    async def wrong_days(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        """Compare a page of days above `after` with the images uploaded on them, like `wrong_pulls`.

        A day counts all uploads, including deleted ones. Its total is wrong if there are more images than
        uploads.
        """

    async def wrong_projects(self) -> list[WrongTotal]:
        """Return the projects whose totals don't match the sums over their pull requests."""

    async def recompute(self, wrong: WrongTotal) -> None:
        """Recompute this total. The new count includes every concurrent upload and expiry exactly once."""

    async def reclaim_space(self, seconds: float) -> int:
        """Return free pages to the disk for at most about `seconds`. Return how many bytes that frees."""


class UpkeepEngines(NamedTuple):
    """The engines and records that the sweep and `prshots check` use."""

    records: ImageRecords
    people: People
    store: ObjectStore
    upkeep: Upkeep
    baselines: BaselineRecords
    comparisons: ComparisonRecords
    staged: StagedRecords
    put_urls: PutUrlRecords
    projects: ProjectRecords
    tokens: TokenRecords
    noise: NoiseRecords
    share_links: ShareLinkRecords
    outbox: OutboxRecords
    audit: AuditRecords
    audit_days: int
    usage: UsageRecords
    webhooks: WebhookQueues
    encrypt_again: Callable[[], Awaitable[None]]
    """Encrypts the tokens of connections and the secrets of webhooks with the newest signing key."""
