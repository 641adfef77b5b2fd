"""What a client says about a pull request: its title, branch and author, and where its forge shows it."""

from dataclasses import dataclass

from prshots.contract.errors import NotFoundError
from prshots.contract.replies import Described
from prshots.server.domain.images.ports import ImageRecords
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from prshots.server.domain.projects.ports import ProjectRecords


@dataclass(frozen=True, slots=True)
class Description:
    """What the client knows; the rest is empty. `path` is its address without `repository`."""

    pr_number: int
    repository: str = ""
    path: str = ""
    title: str = ""
    source_branch: str = ""
    author: str = ""


class PullRequests:
    def __init__(self, records: ImageRecords, projects: ProjectRecords, images: Images) -> None:
        self._records = records
        self._projects = projects
        self._images = images

    async def describe(self, project: Project, described: Description) -> Described:
        """Record a description. The first client that knows the repository fills it in for the project.

        Raises NotFoundError if nothing was uploaded to the pull request yet.
        """
        if described.repository and not project.repository:
            await self._projects.set_repository(project.id, described.repository)
        if not await self._records.describe_pull(
            project.id,
            described.pr_number,
            title=described.title,
            source_branch=described.source_branch,
            author=described.author,
            path=described.path,
        ):
            raise NotFoundError("not found")
        return Described(described.pr_number, self._images.dashboard_url_of(project, described.pr_number))
