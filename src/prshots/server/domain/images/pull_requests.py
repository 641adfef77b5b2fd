"""What a client says about a pull request: its title, branch and author, and where its forge shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.replies import Described
from prshots.server.domain.images.checks import pr_number_from_json
from prshots.server.domain.images.ports import ImageRecords
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from prshots.server.domain.projects.names import MAX_ADDRESS, check_repository
from prshots.server.domain.projects.ports import ProjectRecords

MAX_TEXT = 300


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


def description_from_json(body: Mapping[str, Any]) -> Description:
    """Raise InvalidInputError."""
    pr_number = pr_number_from_json(body.get("pr_number"))
    repository, url = _text(body, "repository", MAX_ADDRESS).rstrip("/"), _text(body, "url", MAX_ADDRESS)
    if repository:
        check_repository(repository)
    is_below = repository and url.startswith(f"{repository}/")
    return Description(
        pr_number,
        repository,
        url.removeprefix(repository) if is_below else "",  # of another place, there is nothing to link to
        *(_text(body, name, MAX_TEXT) for name in ("title", "source_branch", "author")),
    )


def _text(body: Mapping[str, Any], name: str, longest: int) -> str:
    """Return a text of one line; "" if it is missing. A title that is too long is cut."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string")
    line = " ".join(value.split())
    if len(line) > longest and name in {"repository", "url"}:
        raise InvalidInputError(f"{name} takes at most {longest} characters")
    return line[:longest]
