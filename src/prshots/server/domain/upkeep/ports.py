"""The ports of the upkeep, and how each call can fail."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import ImageRecords, ObjectStore, PutUrlRecords, StagedRecords
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.ports import ProjectRecords, TokenRecords

Total = Literal["project", "pull request", "day"]


@dataclass(frozen=True, slots=True)
class WrongTotal:
    """A stored total that differs from what was counted.

    `number` is the pull request's number, or the day (Unix time // 86,400); 0 for a project.
    """

    of: Total
    project_id: str
    number: int
    stored: Mapping[str, int]
    counted: Mapping[str, int]


class Upkeep(Protocol):
    """What the sweep and `prshots check` ask about the whole database. Raises RecordsError.

    Each call reads a page or the totals, so that none times out however many images there are.
    """

    async def installation_id(self) -> str:
        """Return the random id that this database got when it was created."""

    async def time(self) -> float | None:
        """Return the current time by the database's own clock. None if it has none."""

    async def stored(self) -> tuple[int, int]:
        """Return the number of all images and the sum of their bytes, from the totals."""

    async def count_overdue(self, since: int, most: int) -> int:
        """Return how many images have been due to expire since this time; counts no further than `most`."""

    async def images_by_id(self, after: str, until: str, limit: int) -> list[Image]:
        """Return the next images with `after` < id <= `until`, ordered by id."""

    async def active_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return which of these ids have a record that is not scheduled for expiry."""

    async def wrong_pulls(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        """Compare a page of pull requests with numbers above `after` with their images.

        Return the wrong ones, and the last number that was compared. None at the end.
        """

    async def wrong_days(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        """Compare some days above `after` with the images uploaded then, like `wrong_pulls`.

        A day counts uploads, including those deleted since. It is wrong if there are more images than that.
        """

    async def wrong_projects(self) -> list[WrongTotal]:
        """Return the projects whose totals are not the sums over their pull requests."""

    async def recompute(self, wrong: WrongTotal) -> None:
        """Write this total again, from a count that includes every concurrent upload and expiry once."""

    async def reclaim_space(self, seconds: float) -> int:
        """Return free pages to the disk, for about this long at most. Return the bytes given back."""


class UpkeepEngines(NamedTuple):
    """What the sweep and `prshots check` work on."""

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
