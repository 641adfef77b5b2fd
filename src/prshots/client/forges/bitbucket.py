"""Bitbucket Cloud. It shows HTML as text, so its comments are marked with a link definition."""

import base64
import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx

from prshots.client.ci import validate
from prshots.client.forges import Comment, ForgePullRequest
from prshots.client.forges.forge_api import MAX_PAGES, ForgeApi
from prshots.client.forges.plain import PlainForge, line_of, open_with_head_branch, text_at
from prshots.client.sender import OnWait, ignore_wait
from prshots.contract.comments import Marker
from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError

_NEEDS = (
    "Bitbucket needs a repository, project or workspace access token with the scope pullrequest:write, or as "
    "EMAIL:TOKEN an API token with read:user:bitbucket, read:pullrequest:bitbucket and "
    "write:pullrequest:bitbucket (write does not include read)"
)

_LARGEST_PAGES = httpx.QueryParams(pagelen=100)


class Bitbucket(PlainForge):
    label = "Bitbucket"
    max_characters = 32_768
    marker_style = Marker.LINK

    def __init__(self, *, api_url: str, repository: str, token: str, on_wait: OnWait = ignore_wait) -> None:
        headers = {"Authorization": _credentials(token)}
        super().__init__(ForgeApi(self.label, api_url, headers, on_wait, needs=_NEEDS))
        self._pull_requests = f"/repositories/{quote(repository)}/pullrequests"
        self._me: str | None = None
        self._has_asked = False

    def me(self) -> str | None:
        """Return our account; None for an access token, which has no account.

        Then only an attempt shows which comments are ours: only the author may change a comment.
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
        return self._find_comments(pr_number, on_lines=True)

    def _find_comments(self, pr_number: int, *, on_lines: bool) -> Iterator[Comment]:
        for page in self._pages(self._comments(pr_number)):
            for entry in page:
                if not entry.get("deleted") and bool(entry.get("inline")) is on_lines:
                    yield self._comment(entry)

    def create(self, pr_number: int, body: str) -> Comment:
        made = self._comment(self._api.call("POST", self._comments(pr_number), json=_content(body)))
        self._me = self._me or made.author or None
        return made

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        path = f"{self._comments(pr_number)}/{comment_id}"
        try:
            changed = self._comment(self._api.call("PUT", path, json=_content(body)))
        except ForgeRefusedError as error:
            if self.me() is None:
                raise NotFoundError(f"{self.label}: comment {comment_id} is not ours") from error
            raise
        self._me = self._me or changed.author or None

    def delete(self, pr_number: int, comment_id: str) -> None:
        self._remove(f"{self._comments(pr_number)}/{comment_id}")

    def pull_request(self, pr_number: int) -> ForgePullRequest:
        return self._read(self._api.call("GET", f"{self._pull_requests}/{pr_number}"))

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        quoted = branch.replace("\\", "\\\\").replace('"', '\\"')
        asked = httpx.QueryParams(q=f'state = "OPEN" AND source.branch.name = "{quoted}"', pagelen=50)
        pages = self._pages(self._pull_requests, asked)
        return open_with_head_branch(
            map(self._read, itertools.chain.from_iterable(pages)), branch, repository
        )

    def _read(self, pull: Any) -> ForgePullRequest:  # noqa: ANN401 - anything JSON can say
        if (number := validate.pr_number(pull.get("id") if isinstance(pull, dict) else None)) is None:
            raise self._unlike("pull request")
        head, base = (text_at(pull, end, "repository", "full_name") for end in ("source", "destination"))
        return ForgePullRequest(
            number=number,
            branch=text_at(pull, "source", "branch", "name"),
            repository=head,
            from_fork=head.lower() != base.lower(),
            is_open=text_at(pull, "state") == "OPEN",
            target_branch=validate.branch(text_at(pull, "destination", "branch", "name")),
            title=validate.words(text_at(pull, "title")),
            author=validate.words(text_at(pull, "author", "nickname")),
            url=validate.address(text_at(pull, "links", "html", "href")),
        )

    def _comments(self, pr_number: int) -> str:
        return f"{self._pull_requests}/{pr_number}/comments"

    def _pages(self, path: str, asked: httpx.QueryParams = _LARGEST_PAGES) -> Iterator[list[dict[str, Any]]]:
        """Yield the pages of a list. Of the link to the next page, only the query is used."""
        for _ in range(MAX_PAGES):
            page = self._api.call("GET", path, params=asked)
            entries = page.get("values") if isinstance(page, dict) else None
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise ForgeError(f"{self.label} answered {path} with something other than a list")
            yield entries
            following = text_at(page, "next")
            if not following:
                return
            asked = httpx.URL(following).params
        raise ForgeError(f"{self.label} has more than {MAX_PAGES} pages at {path}")

    def _comment(self, entry: Any) -> Comment:  # noqa: ANN401 - anything JSON can say
        return self._checked(
            Comment(
                id=text_at(entry, "id"),
                body=text_at(entry, "content", "raw"),
                author=text_at(entry, "user", "uuid"),
                url=text_at(entry, "links", "html", "href"),
                place=line_of(text_at(entry, "inline", "path"), text_at(entry, "inline", "to")),
            )
        )


def _credentials(token: str) -> str:
    """Return the Authorization header: Basic for a user's EMAIL:TOKEN, Bearer for an access token."""
    return f"Basic {base64.b64encode(token.encode()).decode()}" if ":" in token else f"Bearer {token}"


def _content(body: str) -> dict[str, Any]:
    return {"content": {"raw": body}}
