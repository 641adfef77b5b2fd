"""Defaults that most forges share: an HTML marker, and no image proxy."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar
from urllib.parse import quote

from prshots.client.ci import validate
from prshots.client.forges import Comment, ForgePullRequest, Merge
from prshots.client.forges.forge_api import ForgeApi
from prshots.contract.comments import Marker
from prshots.contract.errors import ForgeError, NotFoundError


class PlainForge:
    """Base class of the forges. Subclasses add the calls of their API."""

    label: ClassVar[str]
    max_characters: ClassVar[int]
    marker_style: ClassVar[Marker] = Marker.HTML

    def __init__(self, api: ForgeApi) -> None:
        self._api = api

    def marker(self, pr_number: int) -> str:
        return self.marker_style.line(pr_number)

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        """GitLab has them among its notes."""
        del pr_number
        yield from ()

    def merge_of(self, pr_number: int) -> Merge | None:
        """Bitbucket abbreviates the commit, so it can't be used."""
        del pr_number
        return None

    def proxied_images(self, comment_id: str) -> list[str]:
        del comment_id
        return []

    def purge(self, url: str) -> bool:
        del url
        return False

    def close(self) -> None:
        self._api.close()

    def _remove(self, path: str) -> None:
        with suppress(NotFoundError):
            self._api.call("DELETE", path)

    def _checked(self, comment: Comment) -> Comment:
        """Return the comment. Raises ForgeError if the forge replied with something else."""
        if not comment.id:
            raise self._unlike("comment")
        return comment

    def _unlike(self, what: str) -> ForgeError:
        return ForgeError(f"{self.label} answered with something other than a {what}: is this {self.label}?")


class IssueForge(PlainForge):
    """Base class of GitHub and Gitea: every pull request is an issue, and the APIs have the same paths."""

    _repository: str
    _open_with_head: ClassVar[tuple[str, Mapping[str, str]]]
    """The list, below the repository, that has the open pull requests with a head, and its query."""

    def open_pull_requests(self, head_sha: str) -> set[int]:
        """Return the open pull requests of this repository that have this commit as their head."""
        path, query = self._open_with_head
        address = f"/repos/{quote(self._repository)}{path.format(sha=head_sha)}"
        return {
            number
            for page in self._api.linked_pages(address, query)
            for pull in page
            if (number := validate.pr_number(pull.get("number"))) is not None
            and text_at(pull, "state") == "open"
            and text_at(pull, "head", "sha") == head_sha
            and text_at(pull, "base", "repo", "full_name").lower() == self._repository.lower()
        }

    def head_of(self, pr_number: int) -> str:
        """Return the head commit of a pull request; empty if the forge doesn't say."""
        found = self._api.call("GET", f"/repos/{quote(self._repository)}/pulls/{pr_number}")
        return validate.commit(text_at(found, "head", "sha"))

    def pull_request(self, pr_number: int) -> ForgePullRequest:
        return self._read(self._api.call("GET", f"/repos/{quote(self._repository)}/pulls/{pr_number}"))

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        address = f"/repos/{quote(self._repository)}/pulls"
        pages = self._api.linked_pages(address, self._open_with_branch(branch, repository))
        return open_with_head_branch(
            map(self._read, itertools.chain.from_iterable(pages)), branch, repository
        )

    def _open_with_branch(self, branch: str, repository: str) -> Mapping[str, str]:
        """Return the query of the list that has the open pull requests of a branch, and maybe others."""
        del branch, repository
        return self._open_with_head[1]

    def _read(self, pull: Any) -> ForgePullRequest:  # noqa: ANN401 - anything JSON can say
        if (number := validate.pr_number(pull.get("number") if isinstance(pull, dict) else None)) is None:
            raise self._unlike("pull request")
        head, base = (text_at(pull, end, "repo", "full_name") for end in ("head", "base"))
        return ForgePullRequest(
            number=number,
            branch=text_at(pull, "head", "ref"),
            repository=head,
            from_fork=head.lower() != base.lower(),
            is_open=text_at(pull, "state") == "open",
            target_branch=validate.branch(text_at(pull, "base", "ref")),
            title=validate.words(text_at(pull, "title")),
            author=validate.words(text_at(pull, "user", "login")),
            url=validate.address(text_at(pull, "html_url")),
        )

    def merge_of(self, pr_number: int) -> Merge | None:
        found = self._api.call("GET", f"/repos/{quote(self._repository)}/pulls/{pr_number}")
        is_merged = isinstance(found, dict) and found.get("merged") is True
        return (
            merge_if_complete(text_at(found, "merge_commit_sha"), text_at(found, "base", "ref"))
            if is_merged
            else None
        )


def line_of(path: str, line: str) -> str:
    return f"{path}:{line}" if path and line else path


def open_with_head_branch(
    found: Iterable[ForgePullRequest], branch: str, repository: str
) -> list[ForgePullRequest]:
    """Return the open ones whose head is this branch: of their own repository, or of the given fork."""
    return [
        pull
        for pull in found
        if pull.is_open
        and pull.branch == branch
        and (pull.repository.lower() == repository.lower() if repository else not pull.from_fork)
    ]


def merge_if_complete(commit_sha: str, branch: str) -> Merge | None:
    """Return the merge, if the forge names all of it."""
    sha, name = validate.full_commit(commit_sha), validate.branch(branch)
    return Merge(sha, name) if sha and name else None


def text_at(value: Any, *names: str) -> str:  # noqa: ANN401 - anything JSON can say
    """Return the text or number at this path of names; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None or isinstance(value, (dict, list)) else str(value)
