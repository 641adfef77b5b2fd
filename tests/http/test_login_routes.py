"""`/auth/*` as a browser uses it: cookies, origins, and invalid requests."""

import json
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, Router

from prshots.contract.errors import ProviderError
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.api.login import find_signed_in, login_routes, require_own_origin
from prshots.server.api.request_body import MAX_JSON_BYTES
from prshots.server.domain.people.allow_list import AllowList
from prshots.server.domain.people.login_flow import new_secret
from prshots.server.domain.people.models import Identity
from prshots.server.domain.people.sign_in import SignIn
from prshots.server.http.error_boundary import ErrorBoundary
from support.stores_and_records import open_database

WEB = "https://shots.example.org"
OURS = {"Origin": WEB}
SESSION, LOGIN = "__Host-prshots_session", "__Host-prshots_login"


class Host:
    """A login provider that lets everyone in, or is down."""

    id, label, down = "github", "GitHub", False

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        del verifier, nonce
        if self.down:
            raise ProviderError("github.test did not answer")
        return f"https://github.test/authorize?state={state}&redirect_uri={redirect_uri}"

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        del redirect_uri, verifier, nonce
        return Identity(code, code, code, unique_login=code)


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
async def signin(tmp_path: Path, host: Host) -> AsyncIterator[SignIn]:
    database = open_database(tmp_path)
    yield SignIn(SqlPeople(database), {"github": host}, AllowList.parse("mona", "", ""))
    await database.close()


def routes(signin: SignIn, web_url: str) -> ErrorBoundary:
    """Serve the sign-in routes behind the API's edge, with one page that needs a session and one that changes data."""

    async def me(request: Request) -> JSONResponse:
        return JSONResponse((await find_signed_in(request, signin, web_url)).login)

    async def change(request: Request) -> JSONResponse:
        require_own_origin(request, web_url)
        return JSONResponse("changed")

    mine = [Route("/me", me), Route("/change", change, methods=["POST"])]
    return ErrorBoundary(Router([*login_routes(signin, web_url=web_url), *mine]))


@pytest.fixture
async def browser(signin: SignIn) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(routes(signin, WEB))
    async with httpx.AsyncClient(transport=transport, base_url=WEB) as client:
        yield client


async def go_to_provider(browser: httpx.AsyncClient, return_to: str = "/") -> str:
    """Return the state that the provider receives."""
    reply = await browser.get("/auth/login/github", params={"return_to": return_to})
    assert reply.status_code == 302
    sent_to = httpx.URL(reply.headers["location"])
    assert (sent_to.host, sent_to.params["redirect_uri"]) == ("github.test", f"{WEB}/auth/callback/github")
    return sent_to.params["state"]


def cookie_of(reply: httpx.Response, name: str) -> tuple[str, dict[str, str]]:
    """Return a cookie's value and its attributes."""
    morsel = SimpleCookie(reply.headers["set-cookie"])[name]
    return morsel.value, {key: str(value) for key, value in morsel.items() if value}


class TestProviderSignIn:
    async def test_the_callback_starts_a_session_with_a_safe_cookie_and_returns_to_the_page(
        self, browser: httpx.AsyncClient
    ) -> None:
        state = await go_to_provider(browser, "/projects/1?q=ü")
        reply = await browser.get("/auth/callback/github", params={"state": state, "code": "mona"})
        assert (reply.status_code, reply.headers["location"]) == (303, f"{WEB}/projects/1?q=%C3%BC")
        assert (await browser.get("/me")).json() == "mona"
        _, given = cookie_of(reply, SESSION)
        assert given == {
            "path": "/",
            "samesite": "lax",
            "httponly": "True",
            "secure": "True",
            "max-age": "2592000",
        }

    async def test_two_tabs_can_sign_in_concurrently(self, browser: httpx.AsyncClient) -> None:
        states = [await go_to_provider(browser), await go_to_provider(browser)]
        for state in states:
            reply = await browser.get("/auth/callback/github", params={"state": state, "code": "mona"})
            assert reply.headers["location"] == f"{WEB}/"

    @pytest.mark.parametrize(
        ("answer", "problem"),
        [
            ({"error": "access_denied"}, "denied"),
            ({"error": "server_error"}, "provider_failed"),
            ({}, "provider_failed"),
            ({"code": "stranger"}, "not_allowed"),
            ({"code": "mona", "state": new_secret()}, "expired"),
            ({"code": "mona", "state": ""}, "expired"),
        ],
    )
    async def test_a_failed_callback_redirects_to_sign_in_with_the_problem(
        self, browser: httpx.AsyncClient, answer: dict[str, str], problem: str
    ) -> None:
        state = await go_to_provider(browser)
        reply = await browser.get("/auth/callback/github", params={"state": state} | answer)
        assert (reply.status_code, reply.headers["location"]) == (303, f"{WEB}/sign-in?problem={problem}")
        assert "set-cookie" not in reply.headers

    async def test_a_callback_in_another_browser_is_refused(self, browser: httpx.AsyncClient) -> None:
        state = await go_to_provider(browser)
        browser.cookies.clear()
        reply = await browser.get("/auth/callback/github", params={"state": state, "code": "mona"})
        assert reply.headers["location"] == f"{WEB}/sign-in?problem=other_browser"

    async def test_a_provider_that_is_down_redirects_to_sign_in(
        self, browser: httpx.AsyncClient, host: Host
    ) -> None:
        host.down = True
        reply = await browser.get("/auth/login/github")
        assert reply.headers["location"] == f"{WEB}/sign-in?problem=provider_failed"

    async def test_an_unknown_provider_is_404(self, browser: httpx.AsyncClient) -> None:
        for path in ("/auth/login/gitea", "/auth/callback/gitea", "/auth/login/link"):
            assert (await browser.get(path)).status_code == 404

    async def test_listing_the_providers_needs_no_session(self, browser: httpx.AsyncClient) -> None:
        reply = await browser.get("/auth/providers")
        assert reply.json() == {"providers": [{"id": "github", "label": "GitHub"}], "web_url": WEB}


class TestASession:
    async def test_sign_in_link_starts_a_session_once(
        self, browser: httpx.AsyncClient, signin: SignIn
    ) -> None:
        code = await signin.make_link()
        replies = [await browser.post("/auth/link", json={"code": code}, headers=OURS) for _ in range(2)]
        assert [reply.status_code for reply in replies] == [200, 403]
        assert replies[0].json() == {"ok": True}
        assert (
            replies[1]
            .json()["error"]
            .startswith("this sign-in link has been used, or is older than 10 minutes")
        )
        assert (await browser.get("/me")).json() == "operator"

    async def test_sign_out_ends_the_session(self, browser: httpx.AsyncClient, signin: SignIn) -> None:
        secret = await signin.redeem_link(await signin.make_link())
        browser.cookies.set(SESSION, secret, domain="shots.example.org")
        reply = await browser.post("/auth/sign-out", headers=OURS)
        value, given = cookie_of(reply, SESSION)
        assert (reply.json(), value, given["secure"], given["max-age"]) == ({"ok": True}, "", "True", "0")
        assert (await browser.get("/me", headers={"Cookie": f"{SESSION}={secret}"})).status_code == 401
        assert (await browser.post("/auth/sign-out", headers=OURS)).status_code == 200

    async def test_sign_out_everywhere_ends_all_sessions(
        self, browser: httpx.AsyncClient, signin: SignIn
    ) -> None:
        here, there = [await signin.redeem_link(await signin.make_link()) for _ in range(2)]
        headers = {"Cookie": f"{SESSION}={here}"}
        assert (await browser.post("/auth/sign-out-everywhere", headers=OURS | headers)).json() == {
            "ok": True
        }
        assert (await browser.get("/me", headers={"Cookie": f"{SESSION}={there}"})).status_code == 401
        assert (await browser.post("/auth/sign-out-everywhere", headers=OURS | headers)).status_code == 401

    async def test_two_session_cookies_are_401(self, browser: httpx.AsyncClient, signin: SignIn) -> None:
        secret = await signin.redeem_link(await signin.make_link())
        one = f"{SESSION}={secret}"
        assert (await browser.get("/me", headers={"Cookie": f"a=b; {one};c"})).json() == "operator"
        for headers in ([("Cookie", f"{one}; {one}")], [("Cookie", one), ("Cookie", f"{SESSION}=x")]):
            assert (await browser.get("/me", headers=headers)).status_code == 401

    async def test_invalid_session_cookie_is_401(self, browser: httpx.AsyncClient) -> None:
        for cookie in (
            SESSION,
            f"{SESSION}=ÿ\x00",
            f'{SESSION}="{"x" * 43}"',
            f"{SESSION}={'x' * 43}",
            f"prshots_session={'x' * 43}",
        ):
            reply = await browser.get("/me", headers=[(b"Cookie", cookie.encode("latin-1"))])
            assert (reply.status_code, reply.json()) == (401, {"error": "unauthorized"})


FOREIGN = [
    "null",
    "https://evil.test",
    "http://shots.example.org",
    "http://shots.example.org:443",
    "http://10.0.0.7:8443",
    "https://10.0.0.7",
    f"{WEB}/",
    "https://x@shots.example.org",
    f"{WEB}:8443",
    "https://shots.example.org@evil.test",
    "https://",
    "http://[",
    "https://shots.example.org:port",
    "file:///",
]


class TestTheOrigin:
    @pytest.mark.parametrize(
        ("origin", "host"),
        [
            (WEB, "shots.example.org"),
            (f"{WEB}:443", "api.internal"),
            ("https://10.0.0.7:8443", "10.0.0.7:8443"),
            ("https://10.0.0.7", "10.0.0.7:443"),
        ],
    )
    async def test_origin_of_the_dashboard_is_accepted(
        self, browser: httpx.AsyncClient, origin: str, host: str
    ) -> None:
        reply = await browser.post("/change", headers={"Origin": origin, "Host": host})
        assert reply.status_code == 200

    async def test_foreign_missing_invalid_or_second_origin_is_403(self, browser: httpx.AsyncClient) -> None:
        for origin in ([], *([each] for each in FOREIGN), [WEB, WEB]):
            headers = [("Origin", each) for each in origin]
            for host in ("api.internal", "shots.example.org", "10.0.0.7:8443"):
                reply = await browser.post("/change", headers=[*headers, ("Host", host)])
                assert reply.status_code == 403, (origin, host)
                assert reply.json() == {"error": "this request did not come from the dashboard"}

    @pytest.mark.parametrize("path", ["/auth/link", "/auth/sign-out", "/auth/sign-out-everywhere"])
    async def test_every_changing_route_requires_our_origin(
        self, browser: httpx.AsyncClient, path: str
    ) -> None:
        for headers in ({}, {"Origin": "https://evil.test"}):
            assert (await browser.post(path, headers=headers)).status_code == 403

    @pytest.mark.parametrize(
        ("site", "status"),
        [("same-origin", 200), ("same-site", 403), ("cross-site", 403), ("none", 403), ("", 403)],
    )
    async def test_sec_fetch_site_must_agree_with_the_origin(
        self, browser: httpx.AsyncClient, site: str, status: int
    ) -> None:
        reply = await browser.post("/change", headers=OURS | {"Sec-Fetch-Site": site})
        assert reply.status_code == status


async def test_on_plain_http_cookies_have_no_host_prefix_and_the_origin_is_http(signin: SignIn) -> None:
    transport = httpx.ASGITransport(routes(signin, "http://localhost:8080"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as browser:
        _, given = cookie_of(await browser.get("/auth/login/github"), "prshots_login")
        for origin, status in (("http://127.0.0.1:8080", 200), ("https://127.0.0.1:8080", 403)):
            assert (await browser.post("/change", headers={"Origin": origin})).status_code == status
    assert given == {"path": "/", "samesite": "lax", "httponly": "True", "max-age": "600"}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"code": 7}', json.dumps({"code": "x" * MAX_JSON_BYTES}).encode()]
)
async def test_a_sign_in_link_with_an_invalid_body_is_400(browser: httpx.AsyncClient, body: bytes) -> None:
    reply = await browser.post("/auth/link", content=body, headers=OURS)
    assert reply.status_code == 400
    assert reply.json()["error"] in {"the body must be a JSON object", "code required"}


async def test_auth_replies_are_never_cached(browser: httpx.AsyncClient, signin: SignIn) -> None:
    code = await signin.make_link()
    replies = [
        await browser.get("/auth/providers"),
        await browser.get("/auth/login/github"),
        await browser.get("/auth/callback/github"),
        await browser.post("/auth/link", json={"code": code}, headers=OURS),
        await browser.post("/auth/sign-out-everywhere", headers=OURS),
        await browser.post("/auth/sign-out", headers=OURS),
    ]
    assert {reply.headers["cache-control"] for reply in replies} == {"no-store"}
