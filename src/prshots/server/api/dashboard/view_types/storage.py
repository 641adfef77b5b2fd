"""Usage and quotas."""

from typing import TypedDict

from prshots.server.api.dashboard.view_types.pull_requests import PullRequestView
from prshots.server.domain.storage.models import FileKind, QuotaHolder, QuotaUse


class DayOfUploadsView(TypedDict):
    day: str
    """A date in UTC, such as 2026-11-15."""
    uploads: int
    bytes: int


class FilesView(TypedDict):
    kind: FileKind
    files: int
    bytes: int


class BytesOfDayView(TypedDict):
    day: str
    """A date in UTC."""
    bytes: int


class MeasuredView(TypedDict):
    """What the store really has, measured by the sweep. Includes files that don't count towards quotas."""

    day: str | None
    """When it was last measured, as a date in UTC. null if never."""
    estimated: bool
    """Whether the store is so large that the sweep measured only a part of it."""
    kinds: list[FilesView]
    """The last measurement, largest first."""
    days: list[BytesOfDayView]
    """The measured days of the requested period, oldest first."""


class QuotasView(TypedDict):
    quotas: list[QuotaUse]
    """The quotas that apply."""


class QuotaHoldersView(TypedDict):
    holders: list[QuotaHolder]
    """Largest first."""
    default_bytes: int
    """The quota of those that have null. 0 for no limit."""
    next: str | None


class StoredProjectView(TypedDict):
    id: str
    name: str
    images: int
    bytes: int


class OrganizationUsageView(TypedDict):
    images: int
    bytes: int
    projects: list[StoredProjectView]
    """The 100 largest projects, largest first."""
    measured: MeasuredView


class UsageView(TypedDict):
    days: list[DayOfUploadsView]
    """Every day of the requested period, oldest first."""
    images: int
    bytes: int
    biggest: list[PullRequestView]
    measured: MeasuredView
