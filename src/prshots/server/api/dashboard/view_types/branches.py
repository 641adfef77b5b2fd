"""Images of branches: baselines, staged images and noise."""

from typing import TypedDict

from prshots.server.api.dashboard.view_types.pull_requests import ImageView


class BaselineCommitView(TypedDict):
    """The baselines of a branch at a commit."""

    branch: str
    commit_sha: str
    complete: bool
    created_at: int
    shots: int
    bytes: int


class BaselineListView(TypedDict):
    branches: list[str]
    commits: list[BaselineCommitView]
    next: str | None


class BaselinePeriodView(TypedDict):
    """Consecutive commits of a branch at which a shot had the same image."""

    image: ImageView
    first_commit: str
    first_at: int
    last_commit: str
    last_at: int
    commits: int


class BaselineHistoryView(TypedDict):
    periods: list[BaselinePeriodView]
    """Newest first."""
    next: str | None


class StagedView(TypedDict):
    """An image that is staged until its branch has a pull request."""

    image: ImageView
    before: ImageView | None
    branch: str
    repository: str
    """The branch's repository, as owner/name. Empty for the project's own."""
    expires_at: int


class StagedListView(TypedDict):
    staged: list[StagedView]
    """Newest first."""
    next: str | None


class QuarantineView(TypedDict):
    """A shot that doesn't need decisions for a while."""

    id: str
    name: str
    viewport: str
    theme: str
    reason: str
    created_by: str
    """A login."""
    created_at: int
    until: int
    compared: int
    """How many commits of pull requests were compared since it began."""
    differed: int
    """At how many of these commits the shot differed."""


class QuarantineListView(TypedDict):
    quarantines: list[QuarantineView]
    """In order of their end."""


class AlternatingPictureView(TypedDict):
    pixels: str
    image: ImageView | None
    """null if it was deleted."""
    at: int
    """When the branch last got this picture."""


class AlternatingShotView(TypedDict):
    """A shot that alternated between pictures on a branch in the last 30 days."""

    name: str
    viewport: str
    theme: str
    branch: str
    pictures: list[AlternatingPictureView]
    changes: int
    """How often the branch's picture changed in that time."""
    last_at: int
    """When it last changed."""


class NoiseView(TypedDict):
    shots: list[AlternatingShotView]
    """At most 100, those that changed last first."""
