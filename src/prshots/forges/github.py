"""GitHub, .com and Enterprise. Every pull request is an issue, and the comment is an issue comment."""

import threading
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any, ClassVar

import httpx

from prshots.contract.errors import ForgeError, NotFoundError
from prshots.contract.statements import message
from prshots.forges.forge import Comment, IssueForge, review_state
from prshots.forges.forge_api import error_message, text_at
from prshots.forges.sender import json_object

API_VERSION = "2022-11-28"
PURGE_SECONDS = 5.0

_JSON = "application/vnd.github+json"
_RENDERED_TOO = "application/vnd.github.full+json"


class GitHub(IssueForge):
    label = "GitHub"
    max_characters = 65_536
    max_description = 140
    _hides_permissions = True
    needs = (
        "In GitHub Actions, the job needs `permissions: pull-requests: write` for the comment and "
        "`statuses: write` for the commit status. Elsewhere, use a token that may write pull requests and "
        "commit statuses of this repository"
    )
    _open_with_head = "/commits/{sha}/pulls", {"per_page": "100"}
    _line = "line"

    _lock: ClassVar = threading.Lock()
    _proxy: httpx.Client | None = None

    def _headers(self, token: str) -> Mapping[str, str]:
        return {**super()._headers(token), "Accept": _JSON, "X-GitHub-Api-Version": API_VERSION}

    def me(self) -> str:
        """Return our login, or "" if unknown. Only GraphQL returns it for an app or a workflow."""
        # GraphQL is next to the REST API on github.com, and one level above it on Enterprise.
        graphql = f"{self._api_url.rstrip('/').removesuffix('/v3')}/graphql"
        query = {"query": "query { viewer { login } }"}
        asked = json_object(self._api.reply("POST", graphql, json=query))
        return text_at(asked, "data", "viewer", "login") or (
            text_at(json_object(self._api.reply("GET", "/user")), "login")
        )

    def comments(self, pr_number: int) -> Iterator[Comment]:
        try:
            for entry in self._api.entries(self._comments(pr_number), {"per_page": "100"}):
                yield self._comment(entry)
        except NotFoundError as error:
            raise self._no_pull_request(pr_number) from error

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        for kind in ("reviews", "comments"):  # the second kind is on lines
            for entry in self._api.entries(f"{self._pulls}/{pr_number}/{kind}", {"per_page": "100"}):
                if entry.get("body") or review_state(entry) not in {"", "commented"}:
                    yield self._comment(entry)

    def create(self, pr_number: int, body: str) -> Comment:
        try:
            return super().create(pr_number, body)
        except NotFoundError as error:
            raise self._no_pull_request(pr_number) from error

    def _open_with_branch(self, branch: str, repository: str) -> Mapping[str, str]:
        owner = (repository or self._repository).partition("/")[0]
        return {"state": "open", "head": f"{owner}:{branch}", "per_page": "100"}

    def proxied_images(self, comment_id: str) -> list[str]:
        rendered = self._api.call("GET", self._comment_path(comment_id), headers={"Accept": _RENDERED_TOO})
        return _ProxiedImages(text_at(rendered, "body_html")).addresses

    def purge(self, url: str) -> bool:
        """Ask the image proxy without our token, because the proxy isn't the API."""
        with self._lock:
            self._proxy = self._proxy or httpx.Client(timeout=PURGE_SECONDS)
        try:
            with self._proxy.stream("PURGE", url) as reply:  # nobody needs the body
                return reply.is_success
        except (httpx.HTTPError, httpx.InvalidURL):
            return False

    def close(self) -> None:
        super().close()
        if self._proxy is not None:
            self._proxy.close()

    def _send(self, method: str, path: str, body: str) -> Any:  # noqa: ANN401 - any JSON value
        reply = self._api.reply(method, path, json={"body": body})
        if reply.status_code == httpx.codes.FORBIDDEN and "locked" in (words := error_message(reply)):
            raise self._rejected(f"{words} Unlock the conversation, or do not post")
        if reply.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
            raise self._rejected(error_message(reply))
        return self._api.value(reply)

    def _rejected(self, why: str) -> ForgeError:
        return ForgeError(message("forge_rejects_comment", forge=self.label, why=why))

    def _no_pull_request(self, pr_number: int) -> ForgeError:
        return ForgeError(
            f"GitHub has no pull request {pr_number} in {self._repository}, or the repository is private and "
            "the token may not read it",
            is_final=True,
        )


class _ProxiedImages(HTMLParser):
    """Collects the addresses of the images that the proxy serves."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        address = found.get("src") or ""
        if tag == "img" and found.get("data-canonical-src") and address.startswith(("https://", "http://")):
            self.addresses.append(address)
