"""The forges, and how to find, create and change a comment there."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from prshots.client.ci import ForgeKind, Job
from prshots.client.sender import OnWait, ignore_wait
from prshots.contract.comments import Marker
from prshots.contract.errors import InvalidInputError

_KINDS = {
    ForgeKind.GITHUB: ("github", "GitHub"),
    ForgeKind.GITLAB: ("gitlab", "GitLab"),
    ForgeKind.GITEA: ("gitea", "Gitea"),
    ForgeKind.BITBUCKET: ("bitbucket", "Bitbucket"),
}
"""The module and the class of each. Only the one in use is imported."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on the forge. `author` is what `Forge.me` returns for its author.

    `place` is the file and line that it is about; empty if it is about the whole pull request.
    """

    id: str
    body: str
    author: str
    url: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged pull request: the commit that it became, with 40 characters, and the branch that has it."""

    commit_sha: str
    branch: str


@dataclass(frozen=True, slots=True)
class ForgePullRequest:
    """A pull request. Its head is the branch `branch` of `repository`, which is another one if `from_fork`.

    Unknown values are empty: the repository of a fork is, if it was deleted or if the forge does not name it.
    """

    number: int
    branch: str
    repository: str = ""
    from_fork: bool = False
    is_open: bool = True
    target_branch: str = ""
    title: str = ""
    author: str = ""
    url: str = ""


class Forge(Protocol):
    """One repository on one forge. Every method may raise ForgeError, UnreachableError, RateLimitedError."""

    @property
    def label(self) -> str:
        """The forge's name, such as GitHub."""

    @property
    def max_characters(self) -> int:
        """The longest comment that the forge accepts."""

    @property
    def marker_style(self) -> Marker:
        """How our comment is marked here: invisibly, so it depends on the forge's markdown."""

    def marker(self, pr_number: int) -> str:
        """Return the first line of our comment."""

    def me(self) -> str | None:
        """Return the author that our token writes as; empty if the forge doesn't say.

        None if only an attempt shows it: only the author can change a comment, and `update` raises
        NotFoundError for someone else's.
        """

    def comments(self, pr_number: int) -> Iterator[Comment]:
        """Yield all comments on a pull request, oldest first. Pages are requested as needed."""

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        """Yield what `comments` leaves out: reviews, and comments on lines of the diff."""

    def create(self, pr_number: int, body: str) -> Comment: ...

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        """Change a comment's text. Raises NotFoundError if it no longer exists."""

    def delete(self, pr_number: int, comment_id: str) -> None:
        """Delete a comment. Not an error if it no longer exists."""

    def pull_request(self, pr_number: int) -> ForgePullRequest:
        """Return a pull request, open or not. Raises NotFoundError if there is none."""

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        """Return the open pull requests whose head is this branch, of this repository or of the given fork.

        Another repository's branch of the same name is another branch.
        """

    def merge_of(self, pr_number: int) -> Merge | None:
        """Return how the pull request was merged; None if it was not, or if the forge doesn't say."""

    def proxied_images(self, comment_id: str) -> list[str]:
        """Return the addresses of the comment's images on the forge's image proxy."""

    def purge(self, url: str) -> bool:
        """Ask the image proxy to drop its copy. Return whether it did."""

    def close(self) -> None: ...


def forge_of(job: Job, on_wait: OnWait = ignore_wait) -> Forge:
    """Return the job's repository on its forge. Raises InvalidInputError if something is missing."""
    if job.forge is None:
        raise InvalidInputError(f"no forge detected: use --forge, one of {', '.join(ForgeKind)}")
    module, name = _KINDS[job.forge]
    if not job.repository:
        raise InvalidInputError(f"no {name} repository detected: use --repository, such as owner/name")
    if not job.forge_api.startswith(("http://", "https://")):
        raise InvalidInputError(f"no {name} address detected: use --forge-url, the base URL of its API")
    if not job.forge_token:
        from prshots.client.forges.forks import fork_advice

        missing = f"no token to comment on {name}: use --forge-token, or set PRSHOTS_FORGE_TOKEN"
        raise InvalidInputError(
            f"{missing}; {words}"
            if (words := fork_advice(job))
            else missing + _HOW_TO_PASS_IT.get(job.forge, "")
        )
    kind = getattr(import_module(f"{__name__}.{module}"), name)
    made = kind(api_url=job.forge_api, repository=job.repository, token=job.forge_token, on_wait=on_wait)
    return cast("Forge", made)


_HOW_TO_PASS_IT = {
    ForgeKind.GITHUB: "; in GitHub Actions, add env: GITHUB_TOKEN: ${{ github.token }} to the step",
    ForgeKind.GITEA: "; in Gitea Actions, add env: GITHUB_TOKEN: ${{ github.token }} to the step",
}
