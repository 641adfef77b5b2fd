"""Keyless upload: exchange the CI job's ID token for an upload token, to let CI work without a secret."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import httpx

from prshots import __version__
from prshots.client.ci import detect_job
from prshots.client.image_address import refuse_image_address, refuse_redirect
from prshots.contract import validate
from prshots.contract.errors import CallError, InvalidInputError, UnauthorizedError
from prshots.contract.limits import UPLOAD_TOKEN
from prshots.contract.redaction import redact_briefly
from prshots.contract.statements import called, message
from prshots.forges.sender import OnWait, Sender, ignore_wait, json_object

LIFETIME_SECONDS = 15 * 60.0
"""The lifetime of such a token."""

MARGIN_SECONDS = 60.0
"""How early to renew a token, to keep it from expiring during an upload."""

TIMEOUT_SECONDS = 30.0

IdTokens = Callable[[Sender, httpx.Client], str]
"""Returns the job's ID token. Raises CallError."""


def token_source(
    url: str, token: str, project: str, environ: Mapping[str, str], *, on_wait: OnWait = ignore_wait
) -> "TokenSource":
    """Return the given token, or exchange the job's ID token for one.

    Raises InvalidInputError if there is neither, or if the given token is malformed.
    """
    if token.strip():
        return FixedToken(token)
    url = url.rstrip("/")
    if id_tokens := _id_tokens(url, environ):
        return ExchangedToken(url, project.strip(), id_tokens, on_wait)
    raise InvalidInputError(f"no upload token: {_token_advice(url, environ)}")


class FixedToken:
    """A token from a setting. Raises InvalidInputError, without showing the token, if it is malformed."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.strip()  # secrets are often stored with a trailing newline
        if not UPLOAD_TOKEN.fullmatch(self._secret):
            raise InvalidInputError(message("invalid_token", count=len(self._secret)))

    def token(self) -> str:
        return self._secret

    def renew(self, refused: str) -> None:
        """Return nothing in place of a refused token, because there is no other."""
        del refused


class ExchangedToken:
    """A token that is valid for 15 minutes and requested on first use. Thread-safe."""

    def __init__(self, url: str, project: str, id_tokens: IdTokens, on_wait: OnWait) -> None:
        self._url = url
        self._project = project
        self._id_tokens = id_tokens
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._secret = ""
        self._renew_at = 0.0

    def token(self) -> str:
        """Return a token. Raises CallError, UnauthorizedError if there is none."""
        with self._lock:  # other threads wait for the same token
            if not self._secret or time.monotonic() >= self._renew_at:
                self._exchange()
            return self._secret

    def renew(self, refused: str) -> str:
        """Return a new token in place of a refused one. Raises CallError, UnauthorizedError."""
        with self._lock:
            if self._secret == refused:  # otherwise another thread has renewed it
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
        self._secret = self._read_token(reply)
        self._renew_at = asked_at + LIFETIME_SECONDS - MARGIN_SECONDS

    def _read_token(self, reply: httpx.Response) -> str:
        refuse_image_address(self._url, reply)
        refuse_redirect(self._url, reply)
        said = json_object(reply)
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            raise UnauthorizedError(_refusal_message(self._url, self._project))
        if reply.status_code != httpx.codes.OK:
            words = redact_briefly(str(said.get("error", reply.reason_phrase)))
            raise CallError(f"{self._url} answered {reply.status_code} to the job's ID token: {words}")
        token = said.get("token")
        if not isinstance(token, str) or not UPLOAD_TOKEN.fullmatch(token):
            raise CallError(
                f"{self._url} answered without a token: is this the address of a prshots service?"
            )
        if self._project and self._project not in _project_names(said):
            given = f"{_text(said, 'organization')}/{_text(said, 'project')}"
            raise CallError(message("other_project", url=self._url, given=given, project=self._project))
        return token


TokenSource: TypeAlias = FixedToken | ExchangedToken


def _id_tokens(url: str, environ: Mapping[str, str]) -> IdTokens | None:
    """Return the source of the job's ID tokens. GitLab sets a variable; GitHub issues them on request."""
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
        value = json_object(reply).get("value")
        if reply.status_code != httpx.codes.OK or not isinstance(value, str) or not value:
            raise CallError(message("no_id_token", host=asking.host, status=reply.status_code))
        return value

    return from_actions


def _project_names(said: Mapping[str, Any]) -> set[str]:
    """Return the ways a job can name a token's project. A name alone only counts in `local`."""
    project_id, organization, name = (_text(said, key) for key in ("project_id", "organization", "project"))
    return {project_id, f"{organization}/{name}", *([name] if organization == "local" else [])}


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""


def _refusal_message(url: str, project: str) -> str:
    which = (
        f"Is {project!r} the right project?"
        if project
        else f"Does the job name the project, as organization/name, in {called('--project')}?"
    )
    return (
        f"{url} refused this job's ID token; the service's log says why. Check: does the project trust this "
        "issuer, with the repository, ref and environment of this job (prshots project trusts)? Is the ID "
        f"token's audience the address of the service (here {url})? {which}"
    )


def _token_advice(url: str, environ: Mapping[str, str]) -> str:
    job = detect_job(environ)
    advice = "set PRSHOTS_TOKEN from a CI secret"
    match job.ci:
        case "GitHub Actions":
            forks = ". Pull requests from forks get neither: see docs/use/ci.md" if job.from_fork else ""
            return f"{advice}, or give the job an ID token: `permissions: id-token: write`{forks}"
        case "GitLab CI":
            wanted = f"`id_tokens: {{PRSHOTS_ID_TOKEN: {{aud: {url}}}}}`"
            return f"{advice}, or give the job an ID token: {wanted}"
        case "Gitea Actions" if validate.is_on(environ, "FORGEJO_ACTIONS"):  # Gitea doesn't issue ID tokens
            return f"{advice}, or give the job an ID token: `enable-openid-connect: true`"
        case _:
            return f"set {called('--token')} to an upload token"
