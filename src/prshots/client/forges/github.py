"""GitHub, .com and Enterprise. Every pull request is an issue, and the comment is an issue comment."""

import threading
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import httpx

from prshots.client.forges import Comment
from prshots.client.forges.forge_api import ForgeApi, error_message
from prshots.client.forges.plain import IssueForge, line_of, text_at
from prshots.client.sender import OnWait, ignore_wait
from prshots.contract.errors import ForgeError, NotFoundError
from prshots.contract.redaction import redact

API_VERSION = "2022-11-28"
PURGE_SECONDS = 5.0

_JSON = "application/vnd.github+json"
_RENDERED_TOO = "application/vnd.github.full+json"
_NEEDS = (
    "In GitHub Actions, the job needs `permissions: pull-requests: write`. Elsewhere, use a token that may "
    "write pull requests of this repository"
)


class GitHub(IssueForge):
    label = "GitHub"
    max_characters = 65_536
    _open_with_head = "/commits/{sha}/pulls", {"per_page": "100"}

    def __init__(self, *, api_url: str, repository: str, token: str, on_wait: OnWait = ignore_wait) -> None:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": _JSON,
            "X-GitHub-Api-Version": API_VERSION,
        }
        super().__init__(ForgeApi(self.label, api_url, headers, on_wait, needs=_NEEDS))
        self._graphql = _graphql_of(api_url)
        self._repository = repository
        self._issues = f"/repos/{quote(repository)}/issues"
        self._lock = threading.Lock()
        self._proxy: httpx.Client | None = None

    def me(self) -> str:
        """Return our login; empty if unknown. Only GraphQL gives it to an app or a workflow."""
        query = {"query": "query { viewer { login } }"}
        return _text_in(self._api.reply("POST", self._graphql, json=query), "data", "viewer", "login") or (
            _text_in(self._api.reply("GET", "/user"), "login")
        )

    def comments(self, pr_number: int) -> Iterator[Comment]:
        try:
            for page in self._api.linked_pages(f"{self._issues}/{pr_number}/comments", {"per_page": "100"}):
                yield from map(self._comment, page)
        except NotFoundError as error:
            raise self._no_pull_request(pr_number) from error

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        for kind in ("reviews", "comments"):  # the second are on lines
            address = f"/repos/{quote(self._repository)}/pulls/{pr_number}/{kind}"
            for page in self._api.linked_pages(address, {"per_page": "100"}):
                yield from (self._comment(entry) for entry in page if entry.get("body"))

    def create(self, pr_number: int, body: str) -> Comment:
        try:
            return self._comment(self._send("POST", f"{self._issues}/{pr_number}/comments", body))
        except NotFoundError as error:
            raise self._no_pull_request(pr_number) from error

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        del pr_number
        self._send("PATCH", f"{self._issues}/comments/{comment_id}", body)

    def delete(self, pr_number: int, comment_id: str) -> None:
        del pr_number
        self._remove(f"{self._issues}/comments/{comment_id}")

    def _open_with_branch(self, branch: str, repository: str) -> Mapping[str, str]:
        owner = (repository or self._repository).partition("/")[0]
        return {"state": "open", "head": f"{owner}:{branch}", "per_page": "100"}

    def proxied_images(self, comment_id: str) -> list[str]:
        path = f"{self._issues}/comments/{comment_id}"
        rendered = self._api.call("GET", path, headers={"Accept": _RENDERED_TOO})
        return _ProxiedImages(text_at(rendered, "body_html")).addresses

    def purge(self, url: str) -> bool:
        """Ask the image proxy, without our token: the proxy is not the API."""
        with self._lock:
            self._proxy = self._proxy or httpx.Client(timeout=PURGE_SECONDS)
        try:
            return self._proxy.request("PURGE", url).is_success
        except (httpx.HTTPError, httpx.InvalidURL):
            return False

    def close(self) -> None:
        super().close()
        if self._proxy is not None:
            self._proxy.close()

    def _send(self, method: str, path: str, body: str) -> Any:  # noqa: ANN401 - anything JSON can say
        reply = self._api.reply(method, path, json={"body": body})
        if reply.status_code == httpx.codes.FORBIDDEN and "locked" in (words := error_message(reply)):
            raise ForgeError(
                f"GitHub does not accept the comment: {words} Unlock the conversation, or do not post"
            )
        if reply.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
            raise ForgeError(
                f"GitHub does not accept the comment: {_objections(reply) or error_message(reply)}"
            )
        return self._api.value(reply)

    def _comment(self, entry: Any) -> Comment:  # noqa: ANN401 - anything JSON can say
        return self._checked(
            Comment(
                id=text_at(entry, "id"),
                body=text_at(entry, "body"),
                author=text_at(entry, "user", "login"),
                url=text_at(entry, "html_url"),
                place=line_of(text_at(entry, "path"), text_at(entry, "line")),
            )
        )

    def _no_pull_request(self, pr_number: int) -> ForgeError:
        return ForgeError(
            f"GitHub has no pull request {pr_number} in {self._repository}, or the repository is private and "
            "the token may not read it"
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


def _graphql_of(api_url: str) -> str:
    """Return the GraphQL address: next to the REST API on github.com, one level above it on Enterprise."""
    return f"{api_url.rstrip('/').removesuffix('/v3')}/graphql"


def _text_in(reply: httpx.Response, *names: str) -> str:
    try:
        return text_at(reply.json(), *names)
    except ValueError:
        return ""


def _objections(reply: httpx.Response) -> str:
    """Return GitHub's validation errors."""
    try:
        errors = reply.json().get("errors")
    except (ValueError, AttributeError):
        return ""
    found = [text_at(error, "message") for error in errors] if isinstance(errors, list) else []
    return redact("; ".join(filter(None, found)))[:300]
