"""A repository on a forge: its pull requests and their comments."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import httpx

from prshots.contract import validate
from prshots.contract.comments import Marker
from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import CommitState
from prshots.contract.statements import message
from prshots.forges.forge_api import ForgeApi, error_message, text_at
from prshots.forges.sender import OnWait, ignore_wait


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment or a review on the forge. `author` has the same form as the result of `Forge.me`.

    `place` is the file and line that it is about, or empty if it is about the whole pull request. The times
    are as the forge writes them, in ISO 8601. `state` is a review's: see `review_state`. `by_stranger` is
    true if the forge says that its author has no part in the repository.
    """

    id: str
    body: str
    author: str
    url: str = ""
    place: str = ""
    created_at: str = ""
    updated_at: str = ""
    state: str = ""
    by_stranger: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged pull request: the resulting commit, with 40 characters, and the branch that contains it."""

    commit_sha: str
    branch: str


@dataclass(frozen=True, slots=True)
class ForgePullRequest:
    """A pull request. Its head is the branch `branch` of `repository`: a different one if `from_fork`.

    Unknown values are empty, such as the repository of a deleted fork.
    """

    number: int
    branch: str
    repository: str = ""
    from_fork: bool = False
    is_open: bool = True
    head_sha: str = ""
    target_branch: str = ""
    title: str = ""
    author: str = ""
    url: str = ""


class Forge(ABC):
    """One repository on one forge. Every method may raise ForgeError, UnreachableError, RateLimitedError."""

    label: ClassVar[str]
    needs: ClassVar[str]
    """Advice on which token the forge needs."""

    max_characters: ClassVar[int]
    """The longest comment that the forge accepts."""

    max_description: ClassVar[int] = 255
    """The longest description of a commit status."""

    states: ClassVar[Mapping[CommitState, str]] = {}
    """The states of a commit that the forge calls something else."""

    marker_style: ClassVar[Marker] = Marker.HTML
    """How our comment is marked on this forge. The marker is invisible, so it depends on the forge's
    markdown."""

    _hides_permissions: ClassVar[bool] = False
    """Whether the forge answers "Not Found" if the token lacks a permission."""

    _pulls_name: ClassVar[str] = "pulls"
    _editing: ClassVar[tuple[str, str]] = "PATCH", "body"
    """The method that changes a pull request, and the field with its description."""

    def __init__(
        self,
        *,
        api_url: str,
        repository: str,
        token: str,
        on_wait: OnWait = ignore_wait,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = self._headers(token)
        self._api = ForgeApi(self.label, api_url, headers, on_wait, self.needs, transport=transport)
        self._api_url, self._repository = api_url, repository
        self._pulls = f"{self._path_of(repository)}/{self._pulls_name}"

    def close(self) -> None:
        self._api.close()

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return self._api.requests

    def check(self) -> None:
        """Raise NotFoundError or ForgeRefusedError if the token can't read the repository or set statuses.

        This tries to set the status of a commit that doesn't exist, so it changes nothing.
        """
        self._api.call("GET", self._path_of(self._repository))
        path, body = self._status_request("0" * 40, CommitStatus(CommitState.PENDING, "", ""))
        reply = self._api.reply("POST", path, json=body, tries=1)
        status, why = reply.status_code, error_message(reply)
        is_hidden = self._hides_permissions and status == httpx.codes.NOT_FOUND and why == "Not Found"
        if status == httpx.codes.FORBIDDEN or is_hidden:
            can = f"the token can read {self._repository} but can't set commit statuses"
            raise ForgeRefusedError(f"{can}: {why}. {self.needs}")

    def marker(self, pr_number: int) -> str:
        """Return the first line of our comment."""
        return self.marker_style.line(pr_number)

    @abstractmethod
    def me(self) -> str | None:
        """Return the author that our token writes as, or "" if the forge doesn't say.

        Return None if only an attempt shows it: only the author can change a comment, and `update` raises
        NotFoundError for someone else's.
        """

    @abstractmethod
    def comments(self, pr_number: int) -> Iterator[Comment]:
        """Yield all comments on a pull request, oldest first, requesting pages as needed."""

    @abstractmethod
    def reviews(self, pr_number: int) -> Iterator[Comment]:
        """Yield what `comments` leaves out: reviews with a text or a decision, and comments on lines."""

    @abstractmethod
    def create(self, pr_number: int, body: str) -> Comment: ...

    @abstractmethod
    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        """Change a comment's text. Raises NotFoundError if it no longer exists."""

    @abstractmethod
    def delete(self, pr_number: int, comment_id: str) -> None:
        """Delete a comment. Not an error if it no longer exists."""

    def set_status(self, commit_sha: str, status: CommitStatus) -> None:
        """Set a status of the commit. Setting an equal one again is not an error.

        `commit_sha` has 40 characters. Raises ForgeRefusedError if the token may not set the status, or the
        repository doesn't have the commit.
        """
        path, body = self._status_request(commit_sha, status)
        self._post_status(path, body, status.context)

    def pull_request(self, pr_number: int) -> ForgePullRequest:
        """Return a pull request, open or not. Raises NotFoundError if it doesn't exist."""
        return self._read_pull(self._pull(pr_number))

    def description(self, pr_number: int) -> str:
        """Return the text that opens the pull request."""
        return text_at(self._api.call("GET", self._described(pr_number)), self._editing[1])

    def set_description(self, pr_number: int, text: str) -> None:
        """Change the pull request's text. Forges don't say if somebody changed it in the meantime."""
        method, field = self._editing
        self._api.call(method, self._described(pr_number), json={field: text})

    @abstractmethod
    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        """Return the open pull requests whose head is this branch of this repository or of the given fork.

        A branch of the same name in another repository doesn't count.
        """

    def merge_of(self, pr_number: int) -> Merge | None:
        """Return how the pull request was merged, or None if it wasn't or the forge doesn't say."""
        del pr_number
        return None

    def proxied_images(self, comment_id: str) -> list[str]:
        """Return the addresses of the comment's images on the forge's image proxy, if it has one."""
        del comment_id
        return []

    def purge(self, url: str) -> bool:
        """Ask the image proxy to drop its copy. Return whether it did."""
        del url
        return False

    def _status_request(self, commit_sha: str, status: CommitStatus) -> tuple[str, dict[str, str]]:
        """Return the path and the body of the request that sets a status."""
        words, most = status.description, self.max_description
        body = {
            "context": status.context,
            "state": self.states.get(status.state, status.state),
            "description": words if len(words) <= most else f"{words[: most - 1].rstrip()}…",
            "target_url": status.url,
        }
        path = f"{self._path_of(self._repository)}/statuses/{commit_sha}"
        return path, {name: value for name, value in body.items() if value}  # an empty URL is invalid

    def _post_status(self, path: str, body: Mapping[str, str], context: str) -> None:
        reply = self._api.reply("POST", path, json=body)
        why = error_message(reply)
        if reply.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY):
            has_no_commit = reply.status_code == httpx.codes.UNPROCESSABLE_ENTITY  # GitHub
            words = message("forge_rejects_status", forge=self.label, why=why)
            raise ForgeError(words, is_final=has_no_commit)
        if reply.status_code == httpx.codes.NOT_FOUND:  # also if the token lacks a permission
            where = {"forge": self.label, "path": reply.url.path}
            words = message("forge_has_no_commit", why=why, needs=self.needs, **where)
            raise ForgeRefusedError(words, is_final=True)
        made = self._api.value(reply)
        if not isinstance(made, dict) or context not in made.values():
            raise self._unlike("commit status")

    def _headers(self, token: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {token}"}

    def _path_of(self, repository: str) -> str:
        return f"/repos/{quote(repository)}"

    def _described(self, pr_number: int) -> str:
        """Return the path of the object that has the pull request's description."""
        return f"{self._pulls}/{pr_number}"

    def _pull(self, pr_number: int) -> Any:  # noqa: ANN401 - any JSON value
        return self._api.call("GET", f"{self._pulls}/{pr_number}")

    @abstractmethod
    def _read_pull(self, pull: Any) -> ForgePullRequest:  # noqa: ANN401 - any JSON value
        """Parse a pull request's JSON. Raises ForgeError if it is something else."""

    def _read_number(self, pull: Any, name: str) -> int:  # noqa: ANN401 - any JSON value
        number = validate.pr_number(pull.get(name) if isinstance(pull, dict) else None)
        if number is None:
            raise self._unlike("merge request" if self._pulls_name == "merge_requests" else "pull request")
        return number

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


class IssueForge(Forge):
    """GitHub and Gitea: every pull request is an issue, and the APIs have the same paths."""

    _open_with_head: ClassVar[tuple[str, Mapping[str, str]]]
    """The path under the repository that lists pull requests with a head, and its query."""

    _line: ClassVar[str]
    """The field with a review comment's line."""

    def create(self, pr_number: int, body: str) -> Comment:
        return self._comment(self._send("POST", self._comments(pr_number), body))

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        del pr_number
        self._send("PATCH", self._comment_path(comment_id), body)

    def delete(self, pr_number: int, comment_id: str) -> None:
        del pr_number
        self._remove(self._comment_path(comment_id))

    def pull_requests_with_head(self, head_sha: str) -> list[ForgePullRequest]:
        """Return this repository's pull requests with this head. Only GitHub also lists closed ones."""
        path, query = self._open_with_head
        address = self._path_of(self._repository) + path.format(sha=head_sha)
        found = (
            self._read_pull(pull)
            for pull in self._api.entries(address, query)
            if text_at(pull, "head", "sha") == head_sha
            and text_at(pull, "base", "repo", "full_name").lower() == self._repository.lower()
        )
        return list({pull.number: pull for pull in found}.values())  # two pages may list the same one

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        pulls = self._api.entries(self._pulls, self._open_with_branch(branch, repository))
        return open_with_head_branch(map(self._read_pull, pulls), branch, repository)

    def merge_of(self, pr_number: int) -> Merge | None:
        found = self._pull(pr_number)
        if not isinstance(found, dict) or found.get("merged") is not True:
            return None
        return merge_if_complete(text_at(found, "merge_commit_sha"), text_at(found, "base", "ref"))

    def _open_with_branch(self, branch: str, repository: str) -> Mapping[str, str]:
        """Return the query that lists the open pull requests of a branch, and possibly others."""
        del branch, repository
        return self._open_with_head[1]

    def _send(self, method: str, path: str, body: str) -> Any:  # noqa: ANN401 - any JSON value
        return self._api.call(method, path, json={"body": body})

    def _comments(self, pr_number: int) -> str:
        return f"{self._path_of(self._repository)}/issues/{pr_number}/comments"

    def _comment_path(self, comment_id: str) -> str:
        return f"{self._path_of(self._repository)}/issues/comments/{comment_id}"

    def _comment(self, entry: Any) -> Comment:  # noqa: ANN401 - any JSON value
        return self._checked(
            Comment(
                id=text_at(entry, "id"),
                body=text_at(entry, "body"),
                author=text_at(entry, "user", "login"),
                url=text_at(entry, "html_url"),
                place=line_of(text_at(entry, "path"), text_at(entry, self._line)),
                created_at=text_at(entry, "created_at") or text_at(entry, "submitted_at"),
                updated_at=text_at(entry, "updated_at"),
                state=review_state(entry),
                by_stranger=_is_by_stranger(entry),
            )
        )

    def _read_pull(self, pull: Any) -> ForgePullRequest:  # noqa: ANN401 - any JSON value
        head, base = (text_at(pull, end, "repo", "full_name") for end in ("head", "base"))
        return ForgePullRequest(
            number=self._read_number(pull, "number"),
            branch=text_at(pull, "head", "ref"),
            repository=head,
            from_fork=head.lower() != base.lower(),
            is_open=text_at(pull, "state") == "open",
            head_sha=validate.commit(text_at(pull, "head", "sha")),
            target_branch=validate.branch(text_at(pull, "base", "ref")),
            title=validate.words(text_at(pull, "title")),
            author=validate.words(text_at(pull, "user", "login")),
            url=validate.address(text_at(pull, "html_url")),
        )


def _is_by_stranger(entry: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether GitHub says so. Gitea doesn't."""
    is_bot = text_at(entry, "user", "type") == "Bot" or text_at(entry, "user", "login").endswith("[bot]")
    return not is_bot and text_at(entry, "author_association") not in {"", "OWNER", "MEMBER", "COLLABORATOR"}


def review_state(entry: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the state of a review, or "" for a comment and for a review that nobody has submitted."""
    if text_at(entry, "dismissed") == "True":  # Gitea
        return "dismissed"
    match text_at(entry, "state").lower():
        case "approved" | "dismissed" as state:
            return state
        case "changes_requested" | "request_changes" | "requested_changes":
            return "changes_requested"
        case "commented" | "comment" | "reviewed":
            return "commented"
    return ""


def line_of(path: str, line: str) -> str:
    return f"{path}:{line}" if path and line else path


def open_with_head_branch(
    found: Iterable[ForgePullRequest], branch: str, repository: str
) -> list[ForgePullRequest]:
    """Return the open pull requests whose head is this branch of their own repository or the given fork."""
    return [
        pull
        for pull in found
        if pull.is_open
        and pull.branch == branch
        and (pull.repository.lower() == repository.lower() if repository else not pull.from_fork)
    ]


def merge_if_complete(commit_sha: str, branch: str) -> Merge | None:
    """Return the merge, or None if the forge leaves out a part of it."""
    sha, name = validate.full_commit(commit_sha), validate.branch(branch)
    return Merge(sha, name) if sha and name else None
