"""Sign-in with real Chromium, at a real OpenID provider and a GitHub look-alike."""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from support.chromium import PATIENCE_MS
from support.http_server import QuietHandler, serving
from support.login_servers import CLIENT_ID, GITHUB_SECRET, OIDC_SECRET, login_server
from support.service import Service

pytestmark = pytest.mark.slow

SESSION = "prshots_session"


@dataclass(frozen=True)
class Way:
    """A way to sign in: the button's text, and the steps at the provider."""

    button: str
    agree: Callable[[Page, str], None]


def agree_at_oidc(page: Page, login: str) -> None:
    page.get_by_placeholder("Enter any login").fill(login)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def agree_at_github(page: Page, login: str) -> None:
    page.get_by_role("button", name=login).click()


OIDC = Way("Continue with Example Inc.", agree_at_oidc)
GITHUB = Way("Continue with GitHub", agree_at_github)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("sign-in"))
    back = f"{made.web_url}/auth/callback"
    with login_server("oidc", f"{back}/oidc") as issuer, login_server("github", f"{back}/github") as github:
        made.settings |= {
            "OIDC_NAME": "Example Inc.",
            "OIDC_ISSUER": issuer,
            "OIDC_CLIENT_ID": CLIENT_ID,
            "OIDC_CLIENT_SECRET": OIDC_SECRET,
            "GITHUB_URL": github,
            "GITHUB_CLIENT_ID": CLIENT_ID,
            "GITHUB_CLIENT_SECRET": GITHUB_SECRET,
            "ALLOWED_USERS": "github:hubot",
            "ALLOWED_ORGANIZATIONS": "github:example-org",
            "ALLOWED_EMAIL_DOMAINS": "example.org",
        }
        made.start()
        yield made
        assert made.stop() == 0


@pytest.fixture
def new_context(running_browser: Browser, service: Service) -> Iterator[Callable[[], BrowserContext]]:
    """Create separate browser contexts."""
    with contextlib.ExitStack() as stack:

        def make() -> BrowserContext:
            context = running_browser.new_context(base_url=service.web_url)
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            # A provider's page loads a web font.
            context.route(re.compile("^https:"), lambda route: route.abort())
            return context

        yield make


def sign_in(page: Page, way: Way = GITHUB, login: str = "octocat", start: str = "/sign-in") -> None:
    page.goto(start)
    page.get_by_role("link", name=way.button).click()
    way.agree(page, login)


def signed_in_as(page: Page) -> str | None:
    """Return the login of this browser's session."""
    reply = page.request.get("/v1/dashboard/me")
    assert reply.status in {200, 401}
    return str(reply.json()["user"]["login"]) if reply.ok else None


def expect_problem(page: Page, problem: str, words: str) -> None:
    page.wait_for_url(f"**/sign-in?problem={problem}")
    expect(page.get_by_role("alert")).to_contain_text(re.compile(words, re.IGNORECASE))
    assert signed_in_as(page) is None


def session_cookie(page: Page) -> str:
    [cookie] = [cookie for cookie in page.context.cookies() if cookie["name"] == SESSION]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/")
    return cookie["value"]


@pytest.mark.parametrize(
    ("way", "login", "known_as"),
    [(OIDC, "ada", "ada@example.org"), (GITHUB, "octocat", "octocat"), (GITHUB, "hubot", "hubot")],
    ids=["oidc, by e-mail", "github, by organization", "github, by login"],
)
def test_sign_in_returns_to_the_page_first_requested(page, service, way, login, known_as):
    page.goto("/organizations/none-of-theirs")
    page.wait_for_url("**/sign-in?**")
    page.get_by_role("link", name=way.button).click()
    way.agree(page, login)
    page.wait_for_url(f"{service.web_url}/organizations/none-of-theirs")
    assert signed_in_as(page) == known_as
    session_cookie(page)
    organizations = page.request.get("/v1/dashboard/me").json()["organizations"]
    assert [(each["name"], each["personal"], each["role"]) for each in organizations] == [
        (known_as, True, "owner")
    ]


@pytest.mark.parametrize("way", [OIDC, GITHUB], ids=["oidc", "github"])
def test_cancel_at_the_login_provider_returns_to_the_sign_in_page(page, way):
    page.goto("/sign-in")
    page.get_by_role("link", name=way.button).click()
    page.get_by_text("Cancel").click()
    expect_problem(page, "denied", "canceled|denied|declined")


@pytest.mark.parametrize(("way", "login"), [(OIDC, "bob"), (GITHUB, "mona")], ids=["oidc", "github"])
def test_a_user_outside_every_allow_list_cannot_sign_in(page, way, login):
    sign_in(page, way, login)
    expect_problem(page, "not_allowed", "not allowed")
    assert SESSION not in {cookie["name"] for cookie in page.context.cookies()}


def test_sign_out_ends_the_session_and_everywhere_also_those_of_other_browsers(page, new_context, service):
    other = new_context().new_page()
    for each in (page, other):
        sign_in(each)
        each.wait_for_url(f"{service.web_url}/")
    cookie = session_cookie(page)
    sign_out(page, "Sign out")
    thief = new_context()
    thief.add_cookies([{"name": SESSION, "value": cookie, "url": service.web_url}])
    assert signed_in_as(thief.new_page()) is None
    assert signed_in_as(other) == "octocat"

    sign_in(page)
    page.wait_for_url(f"{service.web_url}/")
    sign_out(page, "Sign out everywhere")
    assert signed_in_as(other) is None


def sign_out(page: Page, words: str) -> None:
    page.get_by_role("button", name="octocat").click()
    page.get_by_role("button", name=words, exact=True).click()
    page.wait_for_url("**/sign-in**")
    assert SESSION not in {cookie["name"] for cookie in page.context.cookies()}


ATTACK = """<!doctype html><title>harmless</title>
<form method="post" action="{web}/auth/sign-out-everywhere"><button>Win a prize</button></form>
<script>
const call = (path, body) => fetch("{web}" + path, {{
  method: "POST", mode: "no-cors", credentials: "include", body: JSON.stringify(body),
}});
window.attacks = Promise.allSettled([
  call("/auth/sign-out"), call("/auth/sign-out-everywhere"), call("/v1/dashboard/organizations", {{ name: "theirs" }}),
]);
</script>"""


@contextlib.contextmanager
def another_site(html: str) -> Iterator[int]:
    """Serve a page from another origin, and return its port."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802 - the library looks for it
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

    with serving(Handler) as address:
        yield httpx.URL(address).port or 0


# Cookies ignore ports: the browser sends the session cookie to the first host, so only the Origin check protects it.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["same site, other origin", "other site"])
def test_requests_from_another_origin_are_refused(page, service, host):
    sign_in(page)
    page.wait_for_url(f"{service.web_url}/")
    statuses = []
    page.on(
        "response", lambda reply: statuses.append(reply.status) if reply.request.method == "POST" else None
    )
    with another_site(ATTACK.format(web=service.web_url)) as port:
        page.goto(f"http://{host}:{port}/")
        page.evaluate("window.attacks")
        with page.expect_navigation(url="**/auth/sign-out-everywhere"):
            page.get_by_role("button", name="Win a prize").click()
    assert statuses == [403] * 4
    assert signed_in_as(page) == "octocat"
    organizations = page.request.get("/v1/dashboard/me").json()["organizations"]
    assert [each["name"] for each in organizations] == ["octocat"]


def test_a_one_time_link_signs_in_once(page, new_context, service):
    said = service.run("login-link")
    assert "once" in said.stderr
    link = said.stdout.removesuffix("\n")
    assert re.fullmatch(rf"{service.web_url}/sign-in#[\w-]{{43}}", link)
    page.goto(link)
    page.wait_for_url(f"{service.web_url}/")
    assert signed_in_as(page) == "operator"

    late = new_context().new_page()
    late.goto(link)
    expect(late.get_by_role("alert")).to_contain_text("prshots login-link")
    assert signed_in_as(late) is None
    assert link.partition("#")[2] not in late.url
