"""Projects."""

from typing import TypedDict

from prshots.contract.limits import Policy
from prshots.server.api.dashboard.view_types.people import OrganizationNameView
from prshots.server.domain.projects.models import Role


class ProjectView(TypedDict):
    id: str
    name: str
    organization: OrganizationNameView
    role: Role
    """The role of the signed-in user in the project's organization."""
    policy: Policy
    retain_days: int | None
    keep_baselines: int
    """How many commits per branch keep their baselines."""
    repository: str
    """The web address of the repository. Empty if unknown."""
    uploads_per_minute: int | None
    """The project's own limit. null if the service's limit applies."""
    review_verdicts: list[str]
    """The verdicts that need a decision."""
    four_eyes: bool
    """Whether the author of a pull request can't approve it."""
    created_at: int
    images: int
    bytes: int
    open_pulls: int
    last_upload_at: int | None
    uploads_per_day: list[int]
    """The last 30 days, oldest first."""


class ProjectListView(TypedDict):
    projects: list[ProjectView]
    next: str | None


class WouldExpireView(TypedDict):
    """The images that the next sweep would delete."""

    images: int
    bytes: int


class ProjectDeletionView(TypedDict):
    remaining: int
    """Images still to delete. At 0, the project is deleted as well."""
