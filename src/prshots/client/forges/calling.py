"""JSON over HTTP with a forge: one way to call, to page, and to say what was refused."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from prshots.client.sending import OnWait, Sender, no_words
from prshots.errors import ForgeError, NotFoundError
from prshots.redaction import redact

TIMEOUT_SECONDS = 30.0
MAX_PAGES = 1000


class ForgeApi:
    """The API of one forge, by the root of its address."""

    def __init__(self, label: str, url: str, headers: Mapping[str, str], on_wait: OnWait = no_words) -> None:
        self.label = label
        self._client = httpx.Client(
            base_url=url,
            headers={"User-Agent": "prshots", "Accept": "application/json", **headers},
            timeout=TIMEOUT_SECONDS,
            follow_redirects=True,  # a repository that was renamed or moved
        )
        self._sender = Sender(self._client, on_wait)

    def close(self) -> None:
        self._sender.close()

    def reply(self, method: str, path: str, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx takes it
        """Return the reply whatever its status; `path` may be a whole address, as of a next page."""
        return self._sender.send(lambda: self._client.build_request(method, path, **request))

    def call(self, method: str, path: str, **request: Any) -> Any:  # noqa: ANN401 - anything JSON can say
        """Return what the forge answers. Raises NotFoundError, ForgeError."""
        return self.value(self.reply(method, path, **request))

    def value(self, reply: httpx.Response) -> Any:  # noqa: ANN401 - anything JSON can say
        if reply.status_code in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
            raise NotFoundError(f"{self.label} has nothing at {reply.url.path}, or the token may not see it")
        if not reply.is_success:
            raise ForgeError(f"{self.label} answered {reply.status_code}: {said(reply)}")
        try:
            return json.loads(reply.content) if reply.content else None
        except ValueError as error:
            raise ForgeError(
                f"{self.label} answered {reply.url.path} with something else than JSON"
            ) from error

    def linked_pages(self, path: str, params: Mapping[str, str]) -> Iterator[list[dict[str, Any]]]:
        """Return the pages of a list, following the Link header as GitHub, GitLab and Gitea have it."""
        reply = self.reply("GET", path, params=params)
        for _ in range(MAX_PAGES):
            page = self.value(reply)
            if not isinstance(page, list) or not all(isinstance(entry, dict) for entry in page):
                raise ForgeError(f"{self.label} answered {reply.url.path} with something else than a list")
            yield page
            following = reply.links.get("next", {}).get("url")
            if not following or not page:
                return
            reply = self.reply("GET", following)
        raise ForgeError(f"{self.label} has more than {MAX_PAGES} pages of comments")


def said(reply: httpx.Response) -> str:
    """Return the forge's own words for what went wrong, short, and without what looks like a secret."""
    try:
        value = json.loads(reply.content)
    except ValueError:
        value = None
    words = reply.reason_phrase
    if isinstance(value, dict):
        found = value.get("message") or value.get("error_description") or value.get("error") or words
        words = str(found.get("message", words) if isinstance(found, dict) else found)
    return redact(words)[:300]
