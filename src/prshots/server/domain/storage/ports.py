"""The ports for quotas and usage, with the errors that each call raises."""

from collections.abc import Collection, Sequence
from typing import Protocol

from prshots.server.domain.storage.models import Limit, Measured, QuotaHolder, Scope, UsageDay


class QuotaRecords(Protocol):
    """The quotas that the operator set. Raises RecordsError. Writing also raises RecordsFullError.

    The records of images check quotas: in the transaction that adds an image, so they are exact.
    """

    async def stored(self, limit: Limit) -> int:
        """Return how many of the bytes that this limits are stored."""

    async def total(self, organization_id: str) -> tuple[int, int]:
        """Return how many images and bytes an organization has stored."""

    async def organizations(self, after: tuple[int, str] | None, limit: int) -> list[QuotaHolder]:
        """Return organizations, largest (bytes, id) first."""

    async def projects(
        self, organization_id: str, after: tuple[int, str] | None, limit: int
    ) -> list[QuotaHolder]:
        """Return the projects of an organization, largest (bytes, id) first."""

    async def set_quota(self, of: Scope, holder_id: str, quota_bytes: int | None, default: int = 0) -> bool:
        """Set the quota of an organization or project. Return False if it doesn't exist.

        `default` is the limit that applies with None. A lower limit may cause the event `quota`.
        """


class UsageRecords(Protocol):
    """What the store had each day. Raises RecordsError. Writing also raises RecordsFullError."""

    async def owners(self, image_ids: Collection[str]) -> dict[str, tuple[str, str]]:
        """Return the project and the kind of each image that has a record."""

    async def replace_day(self, day: int, measured: Sequence[Measured], *, is_estimated: bool) -> None:
        """Replace what was measured on this day. Ignores projects that no longer exist."""

    async def discard_days(self, before: int) -> None:
        """Remove what was measured before this day."""

    async def of_project(self, project_id: str, since_day: int) -> list[UsageDay]:
        """Return the measured days, oldest first."""

    async def of_organization(self, organization_id: str, since_day: int) -> list[UsageDay]: ...
