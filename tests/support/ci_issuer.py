"""A real OpenID issuer like the one a forge runs for its CI jobs, and the ID tokens it issues."""

import contextlib
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx

from support.login_servers import PROVIDERS
from support.node_server import node_server

JOB = {
    "sub": "repo:octo/app:pull_request",
    "repository": "octo/app",
    "repository_owner": "octo",
    "repository_id": 4711,
    "ref": "refs/pull/7/merge",
    "environment": "review",
}
"""The main claims of a GitHub Actions job that runs for a pull request."""


@dataclass(frozen=True)
class CiIssuer:
    url: str
    client: httpx.Client
    """Shared, because creating a client takes longer than all the requests the tests send with it."""

    def job_url(self, **claims: Any) -> str:
        """Return the runner's ACTIONS_ID_TOKEN_REQUEST_URL. The job appends its audience."""
        return f"{self.url}/job?{urlencode({'claims': json.dumps(_job(claims))})}"

    def id_token(self, audience: str, *, seconds: int = 300, **claims: Any) -> str:
        """Return a job's ID token. A claim set to None is omitted."""
        asked = {"audience": audience, "seconds": str(seconds)}
        reply = self.client.get(httpx.URL(self.job_url(**claims)).copy_merge_params(asked))
        return str(reply.raise_for_status().json()["value"])


def _job(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (JOB | changes).items() if value is not None}


@contextlib.contextmanager
def running_ci_issuer(place: socket.socket) -> Iterator[CiIssuer]:
    """Run it on a socket that is already bound, so that its address is known before it starts."""
    port = place.getsockname()[1]
    with (
        node_server(PROVIDERS / "ci_issuer.mjs", str(port), str(place.fileno()), pass_fds=[place.fileno()]),
        httpx.Client(trust_env=False, timeout=60) as client,
    ):
        yield CiIssuer(f"http://127.0.0.1:{port}", client)
