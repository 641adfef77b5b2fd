"""Real login providers for the tests, and people who sign in there."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx

from support.free_ports import free_port
from support.node_server import node_server

PROVIDERS = Path(__file__).parent / "providers"
CLIENT_ID = "prshots"
OIDC_SECRET = "a secret: +%/&="
GITHUB_SECRET = "s3cret"


@contextlib.contextmanager
def login_server(kind: Literal["oidc", "github"], *redirect_uris: str) -> Iterator[str]:
    """Run a provider with these redirect URIs, and return its address."""
    port = free_port()
    with node_server(PROVIDERS / f"{kind}.mjs", str(port), *redirect_uris):
        yield f"http://127.0.0.1:{port}"


def sign_in_at_oidc(authorization_url: str, login: str) -> httpx.URL:
    """Sign in and give consent as a person would, and return where the provider redirects the browser."""
    with httpx.Client(trust_env=False) as browser:
        reply = browser.get(authorization_url)
        for answer in ({"prompt": "login", "login": login, "password": "any"}, {"prompt": "consent"}):
            assert reply.next_request, reply.text
            page = browser.send(reply.next_request, follow_redirects=True)
            form = re.search(r'action="([^"]+)"', page.text)
            assert form, page.text
            reply = browser.post(form[1], data=answer)
        while "/auth/callback/" not in reply.headers["location"]:
            reply = browser.get(reply.headers["location"])
        return httpx.URL(reply.headers["location"])


def sign_in_at_github(authorization_url: str, login: str) -> httpx.URL:
    """Choose a person on GitHub's page, and return where it redirects the browser."""
    asked = dict(httpx.URL(authorization_url).params)
    with httpx.Client(trust_env=False) as browser:
        assert browser.get(authorization_url).status_code == 200
        reply = browser.post(
            httpx.URL(authorization_url).join("/login/oauth/callback"), data=asked | {"login": login}
        )
        return httpx.URL(reply.headers["location"])
