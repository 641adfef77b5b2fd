"""The public API, called from Python: one method for each of its routes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Self

import httpx

from prshots import __version__
from prshots.client.sending import OnWait, Sender, no_words
from prshots.client.tokens import FixedToken, TokenSource
from prshots.errors import (
    CallError,
    ExpireFailedError,
    InvalidInputError,
    NotFoundError,
    PayloadTooLargeError,
    UnauthorizedError,
    UnsupportedTypeError,
)
from prshots.redaction import redact

TIMEOUT_SECONDS = 60.0

_ERRORS: dict[int, type[Exception]] = {
    400: InvalidInputError,
    404: NotFoundError,
    413: PayloadTooLargeError,
    415: UnsupportedTypeError,
}


@dataclass(frozen=True, slots=True)
class Uploaded:
    id: str
    view_url: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Expired:
    pr_number: int
    policy: str
    marked: int
    expired: int


class Client:
    """A prshots service, called with an upload token. May be shared by threads; close it, or use `with`.

    What does not arrive is sent again, and a rate limit is waited for (`sending.py`). Every method raises
    UnauthorizedError, RateLimitedError, UnreachableError, CallError.
    """

    def __init__(self, url: str, token: str | TokenSource, *, on_wait: OnWait = no_words) -> None:
        self.url = url.rstrip("/")
        self._tokens = FixedToken(token) if isinstance(token, str) else token
        self._client = httpx.Client(
            base_url=self.url, headers={"User-Agent": f"prshots/{__version__}"}, timeout=TIMEOUT_SECONDS
        )
        self._sender = Sender(self._client, on_wait)

    def close(self) -> None:
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def upload(
        self,
        image: bytes | Callable[[], BinaryIO],
        *,
        name: str,
        pr_number: int,
        commit_sha: str,
        viewport: str,
        content_type: str,
    ) -> Uploaded:
        """Upload an image: its bytes, or what opens it, since it may have to be sent again.

        Raises InvalidInputError, PayloadTooLargeError, UnsupportedTypeError too.
        """
        data = {"name": name, "pr_number": str(pr_number), "commit_sha": commit_sha, "viewport": viewport}
        reply = self._call(
            "POST",
            "/v1/upload",
            lambda: {
                "data": data,
                "files": {"image": ("image", image if isinstance(image, bytes) else image(), content_type)},
            },
        )
        return Uploaded(reply["id"], reply["view_url"], reply["markdown"])

    def comment(self, pr_number: int) -> str:
        """Return the pull request's comment, in markdown."""
        reply = self._call("GET", "/v1/comment", lambda: {"params": {"pr_number": str(pr_number)}})
        return str(reply["markdown"])

    def expire(self, pr_number: int) -> Expired:
        """Say that the pull request has closed."""
        reply = self._call("POST", "/v1/expire", lambda: {"json": {"pr_number": pr_number}})
        return Expired(reply["pr_number"], reply["policy"], reply["marked"], reply["expired"])

    def delete(self, image_id: str) -> None:
        """Delete one image now. Raises NotFoundError, ExpireFailedError too."""
        self._call("DELETE", f"/v1/images/{image_id}", dict)

    def _call(self, method: str, path: str, parts: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        token = self._tokens.token()
        reply = self._send(method, path, parts, token)
        if reply.status_code == httpx.codes.UNAUTHORIZED and (other := self._tokens.renewed(token)):
            reply = self._send(method, path, parts, other)
        return self._value(reply, method)

    def _send(
        self, method: str, path: str, parts: Callable[[], dict[str, Any]], token: str
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return self._sender.send(lambda: self._client.build_request(method, path, headers=headers, **parts()))

    def _value(self, reply: httpx.Response, method: str) -> dict[str, Any]:
        try:
            value = json.loads(reply.content)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise CallError(
                f"{self.url} answered {reply.status_code}, not in JSON: is it the address of a prshots API?"
            )
        if reply.status_code == httpx.codes.OK:
            return value
        words = redact(str(value.get("error", reply.reason_phrase)))
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            raise UnauthorizedError(
                f"{self.url} refused the token: it is wrong, revoked, or of another service"
            )
        if method == "DELETE" and reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            raise ExpireFailedError(words)
        raise _ERRORS.get(reply.status_code, CallError)(f"{self.url} answered {reply.status_code}: {words}")
