"""Bitbucket Cloud. It shows HTML as text, so its comments are marked with a link definition."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

import httpx

from prshots.contract import validate
from prshots.contract.comments import Marker
from prshots.contract.errors import ForgeRefusedError, NotFoundError
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import CommitState
from prshots.forges.forge import (
    Comment,
    Forge,
    ForgePullRequest,
    line_of,
    open_with_head_branch,
    review_state,
)
from prshots.forges.forge_api import text_at

_MAX_KEY = 40
"""The longest key of a commit status. A longer one ends with a hash."""


class Bitbucket(Forge):
    """A Bitbucket repository. Bitbucket abbreviates a merge's commit, so `merge_of` can't use it."""

    label = "Bitbucket"
    max_characters = 32_768
    marker_style = Marker.LINK
    needs = (
        "Bitbucket needs a repository, project or workspace access token with the scope pullrequest:write, "
        "or as EMAIL:TOKEN an API token with read:user:bitbucket, read:pullrequest:bitbucket and "
        "write:pullrequest:bitbucket (write does not include read). For commit statuses, it also needs "
        "repository or read:repository:bitbucket, and only the token that created a status can change it"
    )
    states: ClassVar = {
        CommitState.SUCCESS: "SUCCESSFUL",
        CommitState.PENDING: "INPROGRESS",
        CommitState.FAILURE: "FAILED",
    }
    _pulls_name = "pullrequests"
    _editing = "PUT", "description"
    _me: str | None = None
    _has_asked = False

    def _headers(self, token: str) -> Mapping[str, str]:
        """Return Basic authorization for a user's EMAIL:TOKEN, and Bearer for an access token."""
        if ":" in token:
            return {"Authorization": f"Basic {base64.b64encode(token.encode()).decode()}"}
        return super()._headers(token)

    def me(self) -> str | None:
        """Return our account, or None for an access token, which has no account.

        In that case, only an attempt shows which comments are ours: only the author may change a comment.
        """
        if not self._me and not self._has_asked:
            self._has_asked = True
            reply = self._api.reply("GET", "/user")
            if reply.status_code not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                self._me = text_at(self._api.value(reply), "uuid") or None
        return self._me

    def comments(self, pr_number: int) -> Iterator[Comment]:
        return self._find_comments(pr_number, on_lines=False)

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        yield from self._find_comments(pr_number, on_lines=True)
        pull = self._pull(pr_number)
        for entry in pull.get("participants", ()) if isinstance(pull, dict) else ():
            if state := review_state(entry):
                person, at = text_at(entry, "user", "uuid"), text_at(entry, "participated_on")
                yield Comment(f"review-{person}", "", person, self._read_pull(pull).url, "", at, at, state)

    def _find_comments(self, pr_number: int, *, on_lines: bool) -> Iterator[Comment]:
        for entry in self._api.entries(self._comments(pr_number), {"pagelen": "100"}):
            if not entry.get("deleted") and bool(entry.get("inline")) is on_lines:
                yield self._comment(entry)

    def create(self, pr_number: int, body: str) -> Comment:
        return self._write("POST", self._comments(pr_number), body)

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        try:
            self._write("PUT", f"{self._comments(pr_number)}/{comment_id}", body)
        except ForgeRefusedError as error:
            if self.me() is None:
                raise NotFoundError(f"{self.label}: comment {comment_id} is not ours") from error
            raise

    def delete(self, pr_number: int, comment_id: str) -> None:
        self._remove(f"{self._comments(pr_number)}/{comment_id}")

    def _status_request(self, commit_sha: str, status: CommitStatus) -> tuple[str, dict[str, str]]:
        _, body = super()._status_request(commit_sha, status)
        name, url = body.pop("context"), body.pop("target_url", "")
        commit_page = f"https://bitbucket.org/{quote(self._repository)}/commits/{commit_sha}"
        path = f"{self._path_of(self._repository)}/commit/{commit_sha}/statuses/build"
        if len(key := name) > _MAX_KEY:
            key = f"{name[: _MAX_KEY - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return path, {**body, "key": key, "name": name, "url": url or commit_page}  # the URL is required

    def set_description(self, pr_number: int, text: str) -> None:
        """Change the text of an open pull request: Bitbucket doesn't change a closed one."""
        title = text_at(self._pull(pr_number), "title")  # required
        self._api.call("PUT", self._described(pr_number), json={"title": title, "description": text})

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        quoted = branch.replace("\\", "\\\\").replace('"', '\\"')
        asked = {"q": f'state = "OPEN" AND source.branch.name = "{quoted}"', "pagelen": "50"}
        found = map(self._read_pull, self._api.entries(self._pulls, asked))
        return open_with_head_branch(found, branch, repository)

    def _write(self, method: str, path: str, body: str) -> Comment:
        """Create or change a comment. The reply names our account."""
        written = self._comment(self._api.call(method, path, json={"content": {"raw": body}}))
        self._me = self._me or written.author or None
        return written

    def _path_of(self, repository: str) -> str:
        return f"/repositories/{quote(repository)}"

    def _comments(self, pr_number: int) -> str:
        return f"{self._pulls}/{pr_number}/comments"

    def _read_pull(self, pull: Any) -> ForgePullRequest:  # noqa: ANN401 - any JSON value
        head, base = (text_at(pull, end, "repository", "full_name") for end in ("source", "destination"))
        return ForgePullRequest(
            number=self._read_number(pull, "id"),
            branch=text_at(pull, "source", "branch", "name"),
            repository=head,
            from_fork=head.lower() != base.lower(),
            is_open=text_at(pull, "state") == "OPEN",
            target_branch=validate.branch(text_at(pull, "destination", "branch", "name")),
            title=validate.words(text_at(pull, "title")),
            author=validate.words(text_at(pull, "author", "nickname")),
            url=validate.address(text_at(pull, "links", "html", "href")),
        )

    def _comment(self, entry: Any) -> Comment:  # noqa: ANN401 - any JSON value
        return self._checked(
            Comment(
                id=text_at(entry, "id"),
                body=text_at(entry, "content", "raw"),
                author=text_at(entry, "user", "uuid"),
                url=text_at(entry, "links", "html", "href"),
                place=line_of(text_at(entry, "inline", "path"), text_at(entry, "inline", "to")),
                created_at=text_at(entry, "created_on"),
                updated_at=text_at(entry, "updated_on"),
            )
        )
