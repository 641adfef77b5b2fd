"""An upload token without a secret in the CI: the job's own ID token is exchanged for one."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from prshots import __version__
from prshots.client.ci import detected, validate
from prshots.client.sending import OnWait, Sender, no_words
from prshots.client.tokens import FixedToken, TokenSource
from prshots.contract.errors import CallError, InvalidInputError, UnauthorizedError
from prshots.contract.limits import UPLOAD_TOKEN
from prshots.contract.redaction import redact

LIFETIME_SECONDS = 15 * 60.0
"""How long the service lets such a token live."""

MARGIN_SECONDS = 60.0
"""How long before its end another is asked for, so that no upload is under way with one that ends."""

TIMEOUT_SECONDS = 30.0

IdTokens = Callable[[Sender, httpx.Client], str]
"""Returns an ID token of the job's. Raises CallError."""


def token_source(
    url: str, token: str, project: str, environ: Mapping[str, str], *, on_wait: OnWait = no_words
) -> TokenSource:
    """Return the token that was given; else one that the job's ID token is exchanged for.

    Raises InvalidInputError when there is neither, or what was given is none.
    """
    if token.strip():
        return FixedToken(token)
    url = url.rstrip("/")
    if id_tokens := _id_tokens(url, environ):
        return ExchangedToken(url, project.strip(), id_tokens, on_wait)
    raise InvalidInputError(f"no upload token: {_what_to_do(url, environ)}")


class ExchangedToken:
    """A token that lives for 15 minutes, made when one is first needed. May be shared by threads."""

    def __init__(self, url: str, project: str, id_tokens: IdTokens, on_wait: OnWait = no_words) -> None:
        self._url = url
        self._project = project
        self._id_tokens = id_tokens
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._secret = ""
        self._renew_at = 0.0

    def token(self) -> str:
        with self._lock:  # whoever else needs one meanwhile waits for this one
            if not self._secret or time.monotonic() >= self._renew_at:
                self._exchange()
            return self._secret

    def renewed(self, refused: str) -> str | None:
        with self._lock:
            if self._secret == refused:  # else somebody has renewed it meanwhile
                self._exchange()
            return self._secret

    def _exchange(self) -> None:
        asked_at = time.monotonic()
        client = httpx.Client(headers={"User-Agent": f"prshots/{__version__}"}, timeout=TIMEOUT_SECONDS)
        sender = Sender(client, self._on_wait)
        try:
            asked = {"id_token": self._id_tokens(sender, client)}
            if self._project:
                asked["project"] = self._project
            reply = sender.send(
                lambda: client.build_request("POST", f"{self._url}/v1/oidc/token", json=asked)
            )
        finally:
            sender.close()
        self._secret = self._granted(reply)
        self._renew_at = asked_at + LIFETIME_SECONDS - MARGIN_SECONDS

    def _granted(self, reply: httpx.Response) -> str:
        said = _json_object(reply)
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            raise UnauthorizedError(_refused(self._url, self._project))
        if reply.status_code != httpx.codes.OK:
            words = redact(str(said.get("error", reply.reason_phrase)))[:300]
            raise CallError(f"{self._url} answered {reply.status_code} to this job's ID token: {words}")
        token = said.get("token")
        if not isinstance(token, str) or not UPLOAD_TOKEN.fullmatch(token):
            raise CallError(f"{self._url} answered with no token: is it the address of a prshots API?")
        return token


def _id_tokens(url: str, environ: Mapping[str, str]) -> IdTokens | None:
    """Return where this job's ID tokens come from: GitLab gives one, GitHub makes them when asked."""
    if given := validate.token(environ.get("PRSHOTS_ID_TOKEN", "")):
        return lambda _sender, _client: given
    address = validate.address(environ.get("ACTIONS_ID_TOKEN_REQUEST_URL"))
    secret = validate.token(environ.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN", ""))
    if not address or not secret:
        return None
    asking = httpx.URL(address).copy_merge_params({"audience": url})

    def from_actions(sender: Sender, client: httpx.Client) -> str:
        headers = {"Authorization": f"bearer {secret}", "Accept": "application/json"}
        reply = sender.send(lambda: client.build_request("GET", asking, headers=headers))
        value = _json_object(reply).get("value")
        if reply.status_code != httpx.codes.OK or not isinstance(value, str) or not value:
            raise CallError(f"{asking.host} answered {reply.status_code}, and gave this job no ID token")
        return value

    return from_actions


def _refused(url: str, project: str) -> str:
    which = f"is {project!r} the right project" if project else "with several projects, which one (--project)"
    return (
        f"{url} did not take this job's ID token; its log says why. Check: does the project trust this "
        "issuer, with the repository, ref and environment of this job (prshots project trusts); is the ID "
        f"token's audience the service's own address (here {url}); {which}"
    )


def _what_to_do(url: str, environ: Mapping[str, str]) -> str:
    job = detected(environ)
    setting = "set PRSHOTS_TOKEN, from a secret of the CI"
    match job.ci:
        case "GitHub Actions":
            forks = "; a pull request from a fork gets neither: see docs/use/ci.md" if job.from_fork else ""
            return f"{setting}, or let the job have an ID token: `permissions: id-token: write`{forks}"
        case "GitLab CI":
            wanted = f"`id_tokens: {{PRSHOTS_ID_TOKEN: {{aud: {url}}}}}`"
            return f"{setting}, or let the job have an ID token: {wanted}"
        case "Gitea Actions" if validate.is_on(environ, "FORGEJO_ACTIONS"):  # Gitea has none
            return f"{setting}, or let the job have an ID token: `enable-openid-connect: true`"
        case _:
            return f"{setting}, or give --token"


def _json_object(reply: httpx.Response) -> dict[str, Any]:
    try:
        said = json.loads(reply.content)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
