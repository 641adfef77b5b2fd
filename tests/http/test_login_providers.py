"""The login provider adapters, with real providers and with one that sends false or malformed replies."""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from prshots.contract.errors import ProviderError, Refusal, SignInRefusedError
from prshots.server.adapters.identity.issuers import FRESH_SECONDS
from prshots.server.adapters.identity.login_providers import GitHubProvider, OidcProvider
from prshots.server.adapters.identity.oauth import MAX_REPLY_BYTES
from prshots.server.config.settings import Settings
from prshots.server.domain.people.allow_list import AllowList
from prshots.server.domain.people.ports import LoginProvider
from prshots.server.wiring.sign_in import login_providers
from support.http_server import Answer, answering
from support.login_servers import (
    CLIENT_ID,
    GITHUB_SECRET,
    OIDC_SECRET,
    login_server,
    sign_in_at_github,
    sign_in_at_oidc,
)
from support.port_watch import PortWatch

BACK = "http://127.0.0.1:9/auth/callback/here"
VERIFIER, NONCE = secrets.token_urlsafe(32), secrets.token_urlsafe(32)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with login_server("oidc", BACK) as url:
        yield url


@pytest.fixture(scope="module")
def github_url() -> Iterator[str]:
    with login_server("github", BACK) as url:
        yield url


def an_issuer(issuer: str, **changes: Any) -> OidcProvider:
    plain = {"provider_id": "oidc", "label": "sso", "issuer": issuer, "client_id": CLIENT_ID}
    return OidcProvider(**plain | {"client_secret": OIDC_SECRET} | changes)


def a_github(url: str, **changes: Any) -> GitHubProvider:
    plain = {"client_id": CLIENT_ID, "client_secret": GITHUB_SECRET, "url": url}
    return GitHubProvider(**plain | {"api_url": f"{url}/api/v3"} | changes)


async def authorize(provider: LoginProvider, person: Callable[[str, str], Any], login: str) -> str:
    """Go through the provider's pages as a person does, and return the code."""
    url = await provider.authorization_url(
        redirect_uri=BACK, state="the state", verifier=VERIFIER, nonce=NONCE
    )
    back = person(url, login)
    assert str(back).startswith(BACK)
    assert back.params["state"] == "the state"
    return back.params["code"]


async def identity(provider: LoginProvider, code: str, verifier: str = VERIFIER, nonce: str = NONCE) -> Any:
    return await provider.identity(code=code, redirect_uri=BACK, verifier=verifier, nonce=nonce)


async def refusal(provider: LoginProvider, code: str, **changes: str) -> Refusal:
    with pytest.raises(SignInRefusedError) as refused:
        await identity(provider, code, **changes)
    return refused.value.refusal


Way = tuple[Callable[..., LoginProvider], Callable[[str, str], Any], str]


@pytest.fixture(params=["oidc", "github"])
def way(request: pytest.FixtureRequest) -> Way:
    """Return how to make a provider, how a person signs in there, and who does."""
    if request.param == "oidc":
        return partial(an_issuer, request.getfixturevalue("issuer")), sign_in_at_oidc, "ada"
    return partial(a_github, request.getfixturevalue("github_url")), sign_in_at_github, "mona"


class TestACode:
    async def test_code_works_once_and_only_with_its_verifier(self, way: Way) -> None:
        make, sign_in, login = way
        provider = make()
        code = await authorize(provider, sign_in, login)
        await identity(provider, code)
        assert await refusal(provider, code) is Refusal.EXPIRED
        code = await authorize(provider, sign_in, login)
        assert await refusal(provider, code, verifier=secrets.token_urlsafe(32)) is Refusal.EXPIRED

    async def test_wrong_client_secret_is_an_error_without_secrets(self, way: Way) -> None:
        make, sign_in, login = way
        provider = make(client_secret="wrong and secret")
        code = await authorize(provider, sign_in, login)
        with pytest.raises(ProviderError, match=r"invalid_client|incorrect_client_credentials") as failed:
            await identity(provider, code)
        assert "wrong and secret" not in str(failed.value)
        assert code not in str(failed.value)


class TestOidc:
    async def test_returns_the_identity_of_the_person_who_signed_in(self, issuer: str) -> None:
        watch = PortWatch()
        provider = watch.over(an_issuer(issuer), LoginProvider)
        ada = await identity(provider, await authorize(provider, sign_in_at_oidc, "ada"))
        assert watch.unseen == []
        assert (ada.subject, ada.login, ada.name) == (f"{issuer}#ada", "ada@example.org", "Ada Lovelace")
        assert (ada.unique_login, ada.account) == ("", "ada")
        assert ada.avatar_url == f"{issuer}/ada.png"
        assert ada.groups == {"engines", "example/web"}
        assert ada.emails == {"ada@example.org"}

    async def test_an_unverified_email_is_ignored(self, issuer: str) -> None:
        provider = an_issuer(issuer)
        eve = await identity(provider, await authorize(provider, sign_in_at_oidc, "eve"))
        assert (eve.login, eve.emails, eve.groups) == ("eve", frozenset(), None)

    async def test_a_discovery_document_of_another_issuer_is_refused(self, issuer: str) -> None:
        alias = issuer.replace("127.0.0.1", "localhost")
        with pytest.raises(ProviderError, match=f"not the discovery document of the issuer {alias}"):
            await authorize(an_issuer(alias), sign_in_at_oidc, "ada")


class TestGitHub:
    def test_api_is_at_the_address_that_belongs_to_github_url(self) -> None:
        settings = Settings(
            github_client_id="id",
            github_client_secret="secret",
            github_url="https://acme.ghe.com",
            allowed_users="ann",
        )
        provider = login_providers(settings)["github"]
        assert isinstance(provider, GitHubProvider)
        assert provider._api_url == "https://api.acme.ghe.com"

    async def test_returns_the_identity_of_the_person_who_signed_in(self, github_url: str) -> None:
        watch = PortWatch()
        provider = watch.over(a_github(github_url, asks_for_groups=True), LoginProvider)
        octocat = await identity(provider, await authorize(provider, sign_in_at_github, "octocat"))
        assert watch.unseen == []
        assert (octocat.login, octocat.name) == ("octocat", "The Octocat")
        assert octocat.subject.removeprefix(f"{github_url}#").isdigit()
        assert octocat.avatar_url == f"{github_url}/avatars/u/octocat"
        assert octocat.groups == {"Example-Org", "Example-Org/frontend"}
        assert octocat.emails == {"octocat@example.org"}

    @pytest.mark.parametrize(
        ("setting", "asks"),
        [({}, False), ({"sign_in_groups": True}, True), ({"allowed_organizations": "acme"}, True)],
    )
    async def test_settings_decide_whether_github_is_asked_for_groups(
        self, setting: dict[str, Any], *, asks: bool
    ) -> None:
        settings = Settings(github_client_id="i", github_client_secret="s", allowed_users="ann", **setting)
        url = await login_providers(settings)["github"].authorization_url(
            redirect_uri=BACK, state="s", verifier=VERIFIER, nonce=NONCE
        )
        assert ("read%3Aorg" in url) is asks

    async def test_github_is_asked_for_groups_only_if_configured(self, github_url: str) -> None:
        provider = a_github(github_url)
        url = await provider.authorization_url(redirect_uri=BACK, state="s", verifier=VERIFIER, nonce=NONCE)
        assert "read%3Aorg" not in url
        octocat = await identity(provider, await authorize(provider, sign_in_at_github, "octocat"))
        assert octocat.groups is None


@dataclass
class Liar:
    """An issuer and a GitHub that send any answer the test sets: a value or raw bytes."""

    url: str
    key: RSAKey
    answers: dict[str, Any] = field(default_factory=dict)
    status: int = 200

    def __post_init__(self) -> None:
        self.claims: dict[str, Any] = {
            "iss": self.url,
            "aud": CLIENT_ID,
            "sub": "1",
            "exp": int(time.time()) + 300,
            "nonce": NONCE,
            "preferred_username": "ada",
        }
        self.answers |= {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                **{
                    name: f"{self.url}/{name}"
                    for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
                },
            },
            "/jwks_uri": {"keys": [self.key.as_dict(private=False)]},
            "/userinfo_endpoint": {"sub": "1"},
        }
        self.sign(self.key)

    def sign(self, key: RSAKey, **changes: Any) -> None:
        claims = {name: value for name, value in (self.claims | changes).items() if value is not None}
        token = jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)
        self.answers["/token_endpoint"] = {"access_token": "opaque", "id_token": token}

    def answer(self, path: str) -> Answer:
        said = self.answers.get(path.partition("?")[0])
        if callable(said):
            said = said(path)
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        return self.status, {"Location": f"{self.url}/elsewhere"}, body

    async def identity(self) -> Any:
        return await identity(an_issuer(self.url), "code")


@pytest.fixture(scope="module")
def key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "first"})


@pytest.fixture
def liar(key: RSAKey) -> Iterator[Liar]:
    with answering(lambda asked, _: lying.answer(asked.path)) as address:
        lying = Liar(address, key)
        yield lying


class TestOidcReplies:
    @pytest.mark.parametrize(
        ("lie", "reason"),
        [
            ({"iss": "http://127.0.0.1:1"}, "iss"),
            ({"aud": "another client"}, "aud"),
            ({"aud": [CLIENT_ID, "another"], "azp": "another"}, "azp"),
            ({"exp": 1}, "expired"),
            ({"exp": None}, "exp"),
            ({"nonce": "another"}, "nonce"),
            ({"nonce": None}, "nonce"),
            ({"sub": None}, "sub"),
            ({"sub": ""}, "sub"),
        ],
    )
    async def test_an_id_token_with_a_wrong_claim_is_refused(
        self, liar: Liar, lie: dict[str, Any], reason: str
    ) -> None:
        liar.sign(liar.key, **lie)
        with pytest.raises(ProviderError, match=f"is invalid.*{reason}"):
            await liar.identity()

    async def test_a_missing_malformed_or_forged_id_token_is_refused(self, liar: Liar) -> None:
        for token in (None, "", "a.b.c", 7, ["a"]):
            liar.answers["/token_endpoint"]["id_token"] = token
            with pytest.raises(ProviderError, match="is invalid"):
                await liar.identity()
        liar.sign(RSAKey.generate_key(2048, {"kid": "first"}))
        with pytest.raises(ProviderError, match="bad_signature"):
            await liar.identity()

    async def test_userinfo_about_a_different_user_is_refused(self, liar: Liar) -> None:
        liar.answers["/userinfo_endpoint"] = {"sub": "2", "preferred_username": "admin"}
        with pytest.raises(ProviderError, match="different user"):
            await liar.identity()

    @pytest.mark.parametrize(
        "path", ["/.well-known/openid-configuration", "/token_endpoint", "/jwks_uri", "/userinfo_endpoint"]
    )
    async def test_malformed_replies_raise_a_provider_error(self, liar: Liar, path: str) -> None:
        for answer in (b"<html>", b"", b"[" * 100_000, b"[]", b"7"):
            liar.answers[path] = answer
            with pytest.raises(ProviderError):
                await liar.identity()

    async def test_replies_over_the_size_limit_raise_a_provider_error(self, liar: Liar) -> None:
        path = "/.well-known/openid-configuration"
        liar.answers[path] = json.dumps(liar.answers[path]).encode() + b" " * MAX_REPLY_BYTES
        with pytest.raises(ProviderError, match="more than"):
            await liar.identity()

    async def test_redirects_are_not_followed(self, liar: Liar) -> None:
        liar.answers["/elsewhere"] = liar.answers["/.well-known/openid-configuration"]
        liar.status = 302
        with pytest.raises(ProviderError, match="returned 302"):
            await liar.identity()

    async def test_the_discovery_document_is_cached_for_ten_minutes(self, liar: Liar) -> None:
        now = 0.0
        provider = an_issuer(liar.url, clock=lambda: now)
        asked = {"redirect_uri": BACK, "state": "s", "verifier": VERIFIER, "nonce": NONCE}
        first = await provider.authorization_url(**asked)
        liar.answers["/.well-known/openid-configuration"]["authorization_endpoint"] = (
            f"{liar.url}/moved?to=here"
        )
        now = FRESH_SECONDS - 1
        assert await provider.authorization_url(**asked) == first
        now = FRESH_SECONDS
        assert (await provider.authorization_url(**asked)).startswith(
            f"{liar.url}/moved?to=here&response_type=code"
        )

    @pytest.mark.parametrize("claim", ["preferred_username", "nickname", "name", "email"])
    async def test_a_name_that_people_choose_admits_nobody(self, liar: Liar, claim: str) -> None:
        """At such an issuer, `boss@evil.example` is not the `boss` on the list."""
        liar.sign(liar.key, preferred_username=None, email="boss@evil.example", email_verified=True)
        stranger = await liar.identity()
        assert (stranger.login, stranger.unique_login) == ("boss@evil.example", "")
        liar.sign(liar.key, **{claim: "boss"})
        impostor = await liar.identity()
        assert impostor.login == "1"
        for person in (stranger, impostor):
            assert not AllowList.parse("boss, oidc:boss", "", "").admits("oidc", person)
            assert AllowList.parse("oidc:1", "", "").admits("oidc", person)

    async def test_an_address_counts_only_if_the_issuer_marks_it_with_true(self, liar: Liar) -> None:
        for verified, emails in ((True, {"ann@a.test"}), (1, set()), ("true", set()), (None, set())):
            liar.sign(liar.key, email="ann@a.test", email_verified=verified)
            assert (await liar.identity()).emails == emails, verified

    async def test_a_sub_does_not_look_like_an_address(self, liar: Liar) -> None:
        liar.answers["/userinfo_endpoint"] = {"sub": "boss@a.test"}
        liar.sign(liar.key, sub="boss@a.test", email="boss@a.test")
        impostor = await liar.identity()
        assert (impostor.login, impostor.account) == ("boss@a.test (sub)", "boss@a.test")

    async def test_gitlab_and_gitea_guarantee_a_login(self, liar: Liar) -> None:
        liar.sign(
            liar.key, preferred_username="\x00", nickname="ada", email="eve@a.test", email_verified=True
        )
        gitlab = an_issuer(liar.url, login_claims=("preferred_username", "nickname"))
        ada = await identity(gitlab, "code")
        assert (ada.login, ada.unique_login, ada.account) == ("ada", "ada", "")
        liar.sign(liar.key, preferred_username=None, email="eve@a.test", email_verified=True)
        nameless = await identity(gitlab, "code")
        assert (nameless.login, nameless.unique_login) == ("eve@a.test", "")

    @pytest.mark.parametrize(
        ("claim", "groups"),
        [
            (["a", "b/c", 7, "\0"], {"a", "b/c"}),
            ([], set()),
            ("a", {"a"}),
            (
                [
                    "admins ",
                    "\u00a0admins",
                    "admins\u3000",
                    "ad\u200bmins",
                    "admins\n",
                    "admins\0",
                    "x" * 1000,
                ],
                set(),
            ),
            ("admins ", set()),  # not "admins"
            *((malformed, None) for malformed in (None, {"a": 1}, "", [{"name": "a"}], [None], [""])),
        ],
    )
    async def test_groups_come_from_the_configured_claim(
        self, liar: Liar, claim: object, groups: set[str] | None
    ) -> None:
        liar.sign(liar.key, **{"groups": ["other"], "https://acme.test/groups": claim})
        provider = an_issuer(liar.url, groups_claim="https://acme.test/groups")
        person = await identity(provider, "code")
        assert person.groups == groups
        assert not AllowList.parse("", "admins", "").admits("oidc", person)

    async def test_a_null_in_the_userinfo_says_nothing(self, liar: Liar) -> None:
        liar.answers["/userinfo_endpoint"] = {"sub": "ann", "groups": None, "name": None}
        liar.sign(liar.key, sub="ann", groups=["a"], name="Ann")
        ann = await liar.identity()
        assert (ann.groups, ann.name) == ({"a"}, "Ann")

    async def test_an_avatar_url_with_another_scheme_is_dropped(self, liar: Liar) -> None:
        liar.sign(liar.key, picture="javascript:alert(1)")
        assert (await liar.identity()).avatar_url == ""


async def test_github_organizations_and_teams_are_read_from_all_pages(liar: Liar) -> None:
    everything = [{"login": f"org-{number}"} for number in range(249)]
    teams = [{"slug": f"team-{number}", "organization": {"login": "Acme"}} for number in range(150)]
    malformed = [
        {"slug": "lost"},
        {"slug": None, "organization": {"login": "Acme"}},
        {"slug": "web ", "organization": {"login": "Acme"}},
        {"slug": "web", "organization": {"login": " Acme"}},
    ]

    def page(path: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = (
            [*teams, *malformed] if "teams" in path else [*everything, {"login": "Acme "}]
        )
        number = int(path.rpartition("page=")[2])
        return listed[(number - 1) * 100 : number * 100]

    liar.answers |= {
        "/login/oauth/access_token": {"access_token": "opaque"},
        "/api/v3/user": {"id": 7, "login": "mona", "name": None, "avatar_url": None},
        "/api/v3/user/emails": [
            {"email": "mona@example.org", "verified": True},
            {"email": "not-hers@example.org", "verified": False},
        ],
        "/api/v3/user/orgs": page,
        "/api/v3/user/teams": page,
    }
    mona = await identity(a_github(liar.url, asks_for_groups=True), "code")
    assert mona.groups == {
        *(entry["login"] for entry in everything),
        *(f"Acme/team-{number}" for number in range(150)),
    }
    assert (mona.subject, mona.name, mona.avatar_url) == (f"{liar.url}#7", "mona", "")
    assert mona.emails == {"mona@example.org"}
