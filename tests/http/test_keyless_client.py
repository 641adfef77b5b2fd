"""An upload token for a job that has only an ID token, as GitHub Actions and GitLab provide it."""

import json
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from prshots.client.keyless import FixedToken, TokenSource, token_source
from prshots.contract.errors import CallError, InvalidInputError, UnauthorizedError
from support.forges.forge_fixtures import short_pauses  # noqa: F401 - a fixture of every test here
from support.http_server import Answer, answering, as_json
from support.unreliable_proxy import CUT, UnreliableProxy, refuse

TOKEN = "msr_" + "0123456789abcdef" * 4
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl"
REQUEST_TOKEN = "the-request-token"


class Ground:
    """Acts as both GitHub's token service and prshots, on one address. Records the requests."""

    front: UnreliableProxy

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.audiences: list[str] = []
        self.granted: set[str] = set()
        self.reply: tuple[int, object] | None = None
        self.organization = "local"

    def id_token(self, path: str, authorization: str) -> tuple[int, object]:
        if authorization != f"bearer {REQUEST_TOKEN}":
            return 401, {"message": "Unauthorized"}
        query = parse_qs(urlsplit(path).query)
        assert query["api-version"] == ["2.0"]
        self.audiences += query["audience"]
        return 200, {"count": 1, "value": f"{JWT}-{len(self.audiences)}"}

    def exchange(self, body: bytes) -> tuple[int, object]:
        self.asked.append(json.loads(body))
        if self.reply:
            return self.reply
        token = "msr_" + secrets.token_hex(32)
        self.granted.add(token)
        named = {"project": "demo", "project_id": "0123456789abcdef", "organization": self.organization}
        return 200, {"token": token, "expires_at": 1_900_000_000, **named}

    def answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> Answer:
        if asked.path == "/v1/oidc/token":
            return as_json(*self.exchange(body))
        return as_json(*self.id_token(asked.path, asked.headers.get("Authorization", "")))

    def source(self, token: str = "", project: str = "", **environ: str) -> TokenSource:
        """Return the source of tokens in a job of GitHub Actions."""
        actions = {
            "GITHUB_ACTIONS": "true",
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.front.url}/idtoken/x?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN,
        }
        return token_source(f"{self.front.url}/", token, project, actions | environ)


@pytest.fixture
def ground() -> Iterator[Ground]:
    made = Ground()
    with answering(made.answer) as address, UnreliableProxy(address) as made.front:
        yield made


class TestGivenToken:
    def test_given_token_is_used_without_any_request(self, ground: Ground) -> None:
        source = ground.source(f" {TOKEN}\r\n")
        assert source.token() == TOKEN
        assert source.renew(TOKEN) is None
        assert TOKEN not in repr(source)
        assert ground.front.seen == []

    @pytest.mark.parametrize(
        "given",
        ["hunter2", TOKEN[:-1], TOKEN + "0", TOKEN.replace("0", "g", 1), f"{TOKEN}\n{TOKEN}", "msr_…"],
    )
    def test_malformed_token_is_refused_and_not_shown(self, given: str) -> None:
        with pytest.raises(InvalidInputError, match="64 hexadecimal") as caught:
            token_source("https://prshots.example", given, "", {})
        assert given not in str(caught.value)
        with pytest.raises(InvalidInputError):
            FixedToken(given)


class TestExchange:
    def test_github_actions_gives_an_id_token_for_the_service_url(self, ground: Ground) -> None:
        source = ground.source()
        assert ground.front.seen == []  # no request until a token is needed
        first = source.token()
        assert first in ground.granted
        assert source.token() == first
        assert ground.asked == [{"id_token": f"{JWT}-1"}]
        assert ground.audiences == [ground.front.url]  # the service's own URL, without the slash

    def test_gitlab_gives_the_id_token_in_the_environment(self, ground: Ground) -> None:
        source = ground.source(project="demo", PRSHOTS_ID_TOKEN=f"{JWT}\n")
        assert JWT not in repr(source)
        assert source.token() in ground.granted
        assert ground.asked == [{"id_token": JWT, "project": "demo"}]
        assert ground.audiences == []

    @pytest.mark.parametrize(
        ("organization", "project", "is_asked"),
        [
            ("local", "demo", True),
            ("octo", "octo/demo", True),
            ("octo", "0123456789abcdef", True),
            ("octo", "", True),
            ("evil", "demo", False),
            ("evil", "octo/demo", False),
            ("octo", "0123456789abcde0", False),
            ("", "demo", False),
            (None, "demo", False),
        ],
    )
    def test_a_token_of_another_project_is_not_used(
        self, ground: Ground, organization: str, project: str, *, is_asked: bool
    ) -> None:
        ground.organization = organization
        source = ground.source(project=project)
        if is_asked:
            assert source.token() in ground.granted
            return
        with pytest.raises(CallError, match="so nothing is uploaded") as caught:
            source.token()
        assert not any(token in str(caught.value) for token in ground.granted)

    def test_many_threads_exchange_once(self, ground: Ground) -> None:
        source = ground.source()
        with ThreadPoolExecutor(8) as threads:
            tokens = set(threads.map(lambda _: source.token(), range(16)))
        assert len(tokens) == len(ground.asked) == 1
        with ThreadPoolExecutor(8) as threads:
            renewed = set(threads.map(source.renew, [*tokens] * 16))
        assert renewed == {source.token()} != tokens
        asked = [asked["id_token"] for asked in ground.asked]
        assert asked == [f"{JWT}-1", f"{JWT}-2"]  # a new one each time

    def test_a_token_is_renewed_shortly_before_it_expires(
        self, ground: Ground, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = ground.source()
        source.token()
        monkeypatch.setattr(time, "monotonic", lambda clock=time.monotonic: clock() + 13.9 * 60)
        source.token()
        assert len(ground.asked) == 1
        monkeypatch.setattr(time, "monotonic", lambda clock=time.monotonic: clock() + 0.2 * 60)
        source.token()
        assert len(ground.asked) == 2

    def test_failed_requests_are_retried(self, ground: Ground) -> None:
        ground.front.will(refuse(502), when="GET /idtoken")
        ground.front.will(CUT, when="GET /idtoken")
        ground.front.will(refuse(503, {"Retry-After": "0"}), when="POST /v1/oidc/token")
        assert ground.source().token() in ground.granted
        assert (ground.front.count("GET /idtoken"), ground.front.count("POST /v1/oidc/token")) == (3, 2)


class TestFailedExchange:
    def test_a_refusal_lists_what_to_check_and_is_not_retried(self, ground: Ground) -> None:
        ground.reply = (401, {"error": "unauthorized"})
        source = ground.source()
        with pytest.raises(UnauthorizedError) as caught:
            source.token()
        said = str(caught.value)
        for word in ("issuer", "audience", ground.front.url, "repository", "--project", "log"):
            assert word in said
        with pytest.raises(UnauthorizedError, match="Is 'shop' the right project"):
            ground.source(project="shop").token()
        assert ground.front.count("POST") == 2  # a refusal is not retried
        ground.reply = None
        assert source.token() in ground.granted  # but the next call tries again
        for secret in (JWT, REQUEST_TOKEN):
            assert secret not in said

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            ((404, {"error": "not found"}), "answered 404"),
            ((500, {"error": f"no {JWT} Bearer {JWT}"}), "answered 500"),
            ((200, {"token": "hunter2"}), "address of a prshots service"),
            ((200, ["msr_"]), "address of a prshots service"),
            ((302, "elsewhere"), "answered 302"),
        ],
    )
    def test_an_unexpected_reply_raises_a_call_error(
        self, ground: Ground, reply: tuple[int, object], words: str
    ) -> None:
        ground.reply = reply
        with pytest.raises(CallError, match=words) as caught:
            ground.source().token()
        assert "hunter2" not in str(caught.value)

    def test_a_job_that_gets_no_id_token_raises_a_call_error(self, ground: Ground) -> None:
        with pytest.raises(CallError, match="gave this job no ID token") as caught:
            ground.source(ACTIONS_ID_TOKEN_REQUEST_TOKEN="hunter2").token()
        assert "hunter2" not in str(caught.value)
        assert ground.asked == []


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "set --token (PRSHOTS_TOKEN) to an upload token"),
        ({"GITHUB_ACTIONS": "true"}, "`permissions: id-token: write`"),
        ({"FORGEJO_ACTIONS": "true"}, "`enable-openid-connect: true`"),
        ({"GITEA_ACTIONS": "true"}, "set --token (PRSHOTS_TOKEN)"),
        ({"GITLAB_CI": "true"}, "`id_tokens: {PRSHOTS_ID_TOKEN: {aud: https://prshots.example}}`"),
        ({"ACTIONS_ID_TOKEN_REQUEST_URL": "https://x.example/t"}, "set --token"),
        ({"ACTIONS_ID_TOKEN_REQUEST_URL": "x", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "y"}, "set --token"),
    ],
)
def test_without_token_and_id_token_the_error_tells_what_to_set(environ: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        token_source("https://prshots.example/", " ", "", environ)
    assert words in str(caught.value)
