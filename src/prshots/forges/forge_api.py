"""Call a forge's JSON API: requests, pages and errors."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError
from prshots.contract.redaction import HIDDEN, redact_briefly
from prshots.contract.statements import called, message
from prshots.forges.sender import TRIES, OnWait, Sender, json_object, origin

TIMEOUT_SECONDS = 30.0
MAX_PAGES = 1000
MAX_JSON_BYTES = 8 * 1024 * 1024
"""Parsing holds up all threads, and takes 30 times the memory. A page of comments rarely has 1 MB."""


class ForgeApi:
    """The API of one forge. `needs` is advice on which token it needs."""

    def __init__(
        self,
        label: str,
        url: str,
        headers: Mapping[str, str],
        on_wait: OnWait,
        needs: str,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.label = label
        self._needs = needs
        self.requests = 0
        self._client = httpx.Client(
            base_url=url,
            headers={"User-Agent": "prshots", "Accept": "application/json", **headers},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
            follow_redirects=True,  # a repository that was renamed or moved
            event_hooks={"request": [self._stay_here]},
        )
        self._sender = Sender(self._client, on_wait)

    def close(self) -> None:
        self._sender.close()

    def _stay_here(self, request: httpx.Request) -> None:
        """Keep our token on this host. On a redirect, httpx removes some headers, but not all."""
        self.requests += 1
        if origin(request.url) != (here := origin(self._client.base_url)):
            raise ForgeError(
                f"{self.label} at {here} redirects to {origin(request.url)}, which does not get our token: "
                f"if its API is there, set {called('--forge-url')} to that address"
            )

    def reply(self, method: str, path: str, *, tries: int = TRIES, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx's options
        """Return the reply, regardless of its status. `path` may also be a full address."""
        return self._sender.send(lambda: self._client.build_request(method, path, **request), tries=tries)

    def call(self, method: str, path: str, **request: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON of the reply. Raises NotFoundError, ForgeError."""
        return self.value(self.reply(method, path, **request))

    def value(self, reply: httpx.Response) -> Any:  # noqa: ANN401 - any JSON value
        if reply.status_code in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
            raise NotFoundError(f"{self.label} has nothing at {reply.url.path}, or the token may not read it")
        if not reply.is_success:
            raise self._error(reply)
        if len(reply.content) > MAX_JSON_BYTES:
            raise ForgeError(f"{self.label} sent more than 8 MB at {reply.url.path}: is this {self.label}?")
        try:
            return json.loads(reply.content) if reply.content else None
        except (ValueError, RecursionError) as error:
            words = message("forge_sent_no_json", forge=self.label, path=reply.url.path)
            raise ForgeError(words) from error

    def _error(self, reply: httpx.Response) -> ForgeError:
        why = error_message(reply)
        match reply.status_code:
            case httpx.codes.UNAUTHORIZED:
                words = message("forge_refused_token", forge=self.label, why=why, needs=self._needs)
                return ForgeError(words)
            case httpx.codes.FORBIDDEN:
                words = message("forge_does_not_allow", forge=self.label, why=why, needs=self._needs)
                return ForgeRefusedError(words)
            case status:
                return ForgeError(message("answered_why", who=self.label, status=status, why=why))

    def entries(self, path: str, params: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list. A header links its pages, or on Bitbucket the body.

        Only the query of each link is used, because a forge behind a proxy may not know its own address.
        """
        for _ in range(MAX_PAGES):
            reply = self.reply("GET", path, params=params)
            page, following = self.value(reply), reply.links.get("next", {}).get("url")
            if isinstance(page, dict):
                page, following = page.get("values"), text_at(page, "next")
            if not isinstance(page, list) or not all(isinstance(entry, dict) for entry in page):
                raise ForgeError(message("forge_sent_no_list", forge=self.label, path=reply.url.path))
            yield from page
            if not following:  # an empty page may not be the last: GitLab omits entries that we can't read
                return
            try:
                params = httpx.URL(following).params
            except httpx.InvalidURL as error:
                words = message("forge_sent_no_list", forge=self.label, path=reply.url.path)
                raise ForgeError(words) from error
        raise ForgeError(f"{self.label} has more than {MAX_PAGES} pages at {path}")


def error_message(reply: httpx.Response) -> str:
    """Return the forge's error message, shortened and without secrets."""
    value, words = {} if len(reply.content) > MAX_JSON_BYTES else json_object(reply), reply.reason_phrase
    found = value.get("message") or value.get("error_description") or value.get("error") or words
    if isinstance(found, dict):
        words = str(found.get("message") or _by_field(found) or words) + _scopes(found)
    else:
        words = _objections(value.get("errors")) or str(found)
    # A proxy may answer with the request. Our token has no form that `redact` knows.
    token = reply.request.headers.get("authorization", "").rpartition(" ")[2]
    return redact_briefly(words.replace(token, HIDDEN) if token else words)


def _by_field(errors: Mapping[str, Any]) -> str:
    """Return GitLab's validation errors, such as `{"name": ["has already been taken"]}`."""
    fields = [(name, found) for name, found in errors.items() if isinstance(found, list)]
    return "; ".join(f"{name} {', '.join(map(str, found))}" for name, found in fields)


def _objections(errors: object) -> str:
    """Return GitHub's validation errors."""
    found = [text_at(error, "message") for error in errors] if isinstance(errors, list) else []
    return "; ".join(filter(None, found))


def _scopes(error: object) -> str:
    """Return the scopes that Bitbucket requires, if its error lists them."""
    detail = error.get("detail") if isinstance(error, dict) else None
    required = detail.get("required") if isinstance(detail, dict) else None
    if not isinstance(required, list):
        return ""
    return message("required_scopes", scopes=", ".join(map(str, required)))


def text_at(value: Any, *names: str) -> str:  # noqa: ANN401 - any JSON value
    """Return the text or number at this path of names, or "" if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None or isinstance(value, (dict, list)) else str(value)
