"""The operator's GitHub App: tokens for single repositories on which it is installed."""

import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from prshots.contract.errors import ForgeError, NotFoundError, SettingsError
from prshots.forges.forge_api import ForgeApi, text_at
from prshots.forges.github import API_VERSION
from prshots.forges.sender import ignore_wait

PERMISSIONS = {"metadata": "read", "pull_requests": "write", "statuses": "write"}

_LIFETIME_SECONDS = 540
_CLOCK_LEEWAY_SECONDS = 60
"""GitHub refuses a token from the future, or one that is valid for more than ten minutes."""

_RENEW_SECONDS = 60
_NEEDS = "Check PRSHOTS_GITHUB_APP_ID, PRSHOTS_GITHUB_APP_KEY_FILE and this machine's clock"


class GitHubApp:
    """Signs in as the App. Thread-safe. `key` is a private key in PEM format. Raises SettingsError."""

    def __init__(self, app_id: str, key: str, api_url: str, clock: Callable[[], float] = time.time) -> None:
        try:
            self._key = RSAKey.import_key(key)
            is_private = self._key.is_private
        except (JoseError, ValueError, TypeError):
            is_private = False
        if not is_private:
            raise SettingsError(
                "PRSHOTS_GITHUB_APP_KEY_FILE: got something else, takes the App's private key in PEM format, "
                "as downloaded from GitHub"
            )
        self.api_url = api_url
        self._app_id, self._clock = app_id, clock
        self._tokens: dict[str, tuple[str, float]] = {}

    def name(self) -> str:
        """Return the App's name. Raises ForgeError, UnreachableError, RateLimitedError."""
        return text_at(self._call("GET", "/app"), "slug")

    def token(self, repository: str) -> str:
        """Return a token for this repository alone, valid for at least a minute. Raises like `name`."""
        token, expires_at = self._tokens.get(repository, ("", 0.0))
        if self._clock() >= expires_at - _RENEW_SECONDS:
            token, _ = self._tokens[repository] = self._new_token(repository)
        return token

    def _new_token(self, repository: str) -> tuple[str, float]:
        try:
            installation = text_at(self._call("GET", f"/repos/{repository}/installation"), "id")
        except NotFoundError as error:
            words = f"the GitHub App is not installed on {repository}: install it there"
            raise ForgeError(words) from error
        asked = {"repositories": [repository.partition("/")[2]], "permissions": PERMISSIONS}
        reply = self._call("POST", f"/app/installations/{installation}/access_tokens", json=asked)
        try:
            return text_at(reply, "token"), datetime.fromisoformat(text_at(reply, "expires_at")).timestamp()
        except ValueError as error:
            raise ForgeError("GitHub answered with something other than a token: is this GitHub?") from error

    def _call(self, method: str, path: str, **request: Any) -> Any:  # noqa: ANN401 - any JSON value
        now = int(self._clock()) - _CLOCK_LEEWAY_SECONDS
        claims = {"iss": self._app_id, "iat": now, "exp": now + _LIFETIME_SECONDS}
        signed = jwt.encode({"alg": "RS256"}, claims, self._key)
        headers = {
            "Authorization": f"Bearer {signed}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": API_VERSION,
        }
        with closing(ForgeApi("GitHub", self.api_url, headers, ignore_wait, _NEEDS)) as api:
            return api.call(method, path, **request)
