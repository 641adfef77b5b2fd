"""The client side of OAuth 2.0: the code flow with PKCE, and JSON requests to a provider.

Every request has a timeout and a size limit. Errors name the host and the reason, but never a secret.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus, urlsplit

import httpx

from prshots.contract.errors import ProviderError, Refusal, SignInRefusedError
from prshots.server.adapters.tls import tls_context

# One request for all callers that need the same answer, and a limit on how many callers wait for a server.
# Anyone can make us ask an issuer or a login provider, which may be slow. Requests that wait for it must not
# use up the service's memory and connections.

MOST_WAITING = 64


class WaitLimit:
    """Counts the calls that wait for one server."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._waiting = 0

    @contextlib.contextmanager
    def enter(self) -> Iterator[None]:
        """Raise ProviderError if too many calls already wait."""
        if self._waiting >= MOST_WAITING:
            raise ProviderError(f"{self._host} is slow: {MOST_WAITING} requests already wait for it")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


class SharedFetch:
    """Runs a fetch, which stores its own result. Calls during a fetch wait for that fetch."""

    def __init__(self, fetch: Callable[[], Coroutine[Any, Any, None]], wait_limit: WaitLimit) -> None:
        self._fetch = fetch
        self._wait_limit = wait_limit
        self._running: asyncio.Task[None] | None = None

    async def run(self, seconds: float | None = None) -> None:
        """Wait at most `seconds` for the fetch. Raises ProviderError, including when too many calls wait."""
        with self._wait_limit.enter():
            if self._running is None:
                self._running = asyncio.create_task(self._fetch())
                self._running.add_done_callback(self._forget)
            # The fetch continues even if the client that started it disconnects.
            finished, _ = await asyncio.wait([self._running], timeout=seconds)
            for task in finished:
                task.result()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # otherwise asyncio logs an exception that nobody retrieved


TIMEOUT_SECONDS = 10.0
MAX_REPLY_BYTES = 1024 * 1024

_STALE_CODE = {"invalid_grant", "bad_verification_code"}
_ERROR_CODE = re.compile(r"[\w.-]{1,64}", re.ASCII)


class OAuthClient:
    """Our client id and secret at one provider."""

    def __init__(self, client_id: str, client_secret: str) -> None:
        self.client_id = client_id
        self._client_secret = client_secret
        self._wait_limit = WaitLimit("the login provider")

    def authorization_url(
        self, endpoint: str, *, redirect_uri: str, scope: str, state: str, verifier: str, **more: str
    ) -> str:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "scope": scope,
            "state": state,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        return str(httpx.URL(endpoint).copy_merge_params(parameters | more))

    async def exchange(
        self, endpoint: str, *, code: str, redirect_uri: str, verifier: str, in_header: bool
    ) -> dict[str, Any]:
        """Exchange a code for tokens. Raises ProviderError, or SignInRefusedError for an expired code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {}
        if in_header:
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self._client_secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": self.client_id, "client_secret": self._client_secret}
        with self._wait_limit.enter():
            status, reply = await _fetch("POST", endpoint, headers=headers, data=form)
        error = reply.get("error") if isinstance(reply, dict) else None
        if error in _STALE_CODE:
            raise SignInRefusedError(Refusal.EXPIRED, f"{host_of(endpoint)} returned {error}")
        if isinstance(error, str) and _ERROR_CODE.fullmatch(error):
            raise ProviderError(f"{host_of(endpoint)} returned no token: {error}")
        if not isinstance(reply, dict) or not isinstance(reply.get("access_token"), str):
            raise ProviderError(f"{host_of(endpoint)} returned {status} without a token")
        return reply


async def get_json(url: str, access_token: str = "") -> Any:  # noqa: ANN401 - any JSON value
    headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
    status, value = await _fetch("GET", url, headers=headers)
    if status != httpx.codes.OK:
        raise ProviderError(f"{host_of(url)} returned {status} for {urlsplit(url).path}")
    return value


async def _fetch(
    method: str, url: str, *, headers: Mapping[str, str], data: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Return the reply's status and JSON value. Raises ProviderError."""
    # Uncompressed, to apply the size limit to the bytes in memory.
    sent = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "prshots", **headers}
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            httpx.AsyncClient(verify=tls_context(), timeout=TIMEOUT_SECONDS) as client,
            client.stream(method, url, headers=sent, data=data) as reply,
        ):
            body = bytearray()
            async for chunk in reply.aiter_raw():
                body += chunk
                if len(body) > MAX_REPLY_BYTES:
                    raise ProviderError(f"{host_of(url)} returned more than {MAX_REPLY_BYTES} bytes")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ProviderError(f"{host_of(url)} did not answer: {error or type(error).__name__}") from error
    except TimeoutError as error:
        raise ProviderError(f"{host_of(url)} did not answer within {TIMEOUT_SECONDS:.0f} s") from error
    try:
        return reply.status_code, json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"{host_of(url)} returned {reply.status_code} without valid JSON") from error


def host_of(url: str) -> str:
    return urlsplit(url).netloc
