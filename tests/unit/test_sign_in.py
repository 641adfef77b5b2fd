"""Sign-in: who may sign in, what a state and a link allow, and how long a session lasts."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import structlog

from prshots.contract.errors import (
    ConflictError,
    ProviderError,
    Refusal,
    SignInRefusedError,
    UnauthorizedError,
)
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.domain.people.allow_list import AllowList
from prshots.server.domain.people.login_flow import MAX_RETURN_TO, LoginFlow, new_secret, own_path
from prshots.server.domain.people.models import Identity, User
from prshots.server.domain.people.sign_in import IDLE_SECONDS, SESSION_SECONDS, STATE_SECONDS, SignIn
from prshots.server.domain.projects.credentials import TOUCH_SECONDS
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Organization, Role
from support.stores_and_records import DAY, NOW, open_database

BACK = "http://localhost:8080/auth/callback/github"
BROWSER = new_secret()


class Provider:
    """A login provider that trusts everyone: the code is also the login."""

    label = "Code host"

    def __init__(self, provider_id: str) -> None:
        self.id = provider_id
        self.people: dict[str, Identity | Exception] = {}
        self.states: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.seen: list[tuple[str, str]] = []

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        assert redirect_uri == BACK
        self.states.append(state)
        self.asked.append((verifier, nonce))
        return f"https://code.test/authorize?state={state}"

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        assert redirect_uri == BACK
        self.seen.append((verifier, nonce))
        found = self.people.get(code) or Identity(subject=f"id-of-{code}", login=code, name=code.title())
        if isinstance(found, Exception):
            raise found
        return found


class Desk:
    """Sign-in with two providers, on a real database, with a clock that tests turn."""

    def __init__(self, people: SqlPeople, database: Path) -> None:
        self.people, self.database = people, database
        self.now = NOW
        self.github, self.gitlab = Provider("github"), Provider("gitlab")
        self.admit("*")

    def admit(self, users: str) -> None:
        providers = {"github": self.github, "gitlab": self.gitlab}
        self.service = SignIn(self.people, providers, AllowList.parse(users, "", ""), lambda: self.now)

    async def begin(self, return_to: str = "/", provider: Provider | None = None) -> str:
        """Start a sign-in, and return the state that the provider received."""
        host = provider or self.github
        url = await self.service.begin(
            host.id, return_to=return_to, browser_secret=BROWSER, redirect_uri=BACK
        )
        assert url.endswith(host.states[-1])
        return host.states[-1]

    async def complete(
        self,
        state: str,
        code: str = "mona",
        *,
        error: str = "",
        browser: str = BROWSER,
        provider: str = "github",
    ) -> tuple[str, str]:
        return await self.service.complete(
            provider, state=state, code=code, error=error, browser_secret=browser, redirect_uri=BACK
        )

    async def sign_in(self, code: str = "mona", provider: Provider | None = None) -> str:
        """Return the secret of a new session."""
        host = provider or self.github
        secret, _ = await self.complete(await self.begin(provider=host), code, provider=host.id)
        return secret

    async def user(self, code: str = "mona", provider: Provider | None = None) -> User:
        return await self.service.user_of(await self.sign_in(code, provider))

    async def operator(self) -> User:
        return await self.service.user_of(await self.service.redeem_link(await self.service.make_link()))

    async def is_signed_in(self, secret: str) -> bool:
        try:
            return bool(await self.service.user_of(secret))
        except UnauthorizedError:
            return False

    def query(self, statement: str) -> list[tuple[int]]:
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute(statement).fetchall()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    database = open_database(tmp_path)
    yield Desk(SqlPeople(database), tmp_path / "prshots.db")
    await database.close()


@contextmanager
def refused(refusal: Refusal) -> Iterator[None]:
    with pytest.raises(SignInRefusedError) as error:
        yield
    assert error.value.refusal is refusal


class TestSigningIn:
    async def test_stores_no_secret(self, desk: Desk) -> None:
        secrets = [await desk.begin(), await desk.service.make_link(), await desk.sign_in(), BROWSER]
        with closing(sqlite3.connect(desk.database)) as database:
            kept = "\n".join(database.iterdump())
        assert [secret for secret in secrets if secret in kept] == []

    async def test_uses_new_secrets_every_time(self, desk: Desk) -> None:
        for _ in range(2):
            await desk.complete(await desk.begin())
        assert desk.github.seen == desk.github.asked
        secrets = [secret for pair in desk.github.asked for secret in pair]
        secrets += [part for state in desk.github.states for part in (state[:43], state[-43:])]
        assert len(set(secrets)) == 8
        assert {len(secret) for secret in secrets} == {43}  # 256 bits

    async def test_is_refused_and_stores_nothing_unless_the_provider_knows_the_person(
        self, desk: Desk
    ) -> None:
        desk.admit("someone-else")
        desk.github.people["down"] = ProviderError("code.test did not answer")
        desk.github.people["stale"] = SignInRefusedError(Refusal.EXPIRED, "code.test says invalid_grant")
        for code, error, refusal in (
            ("mona", "", Refusal.NOT_ALLOWED),
            ("mona", "access_denied", Refusal.DENIED),
            ("stale", "", Refusal.EXPIRED),
            ("down", "", Refusal.PROVIDER_FAILED),
            ("", "", Refusal.PROVIDER_FAILED),
        ):
            with refused(refusal):
                await desk.complete(await desk.begin(), code, error=error)
        assert desk.query("SELECT count(*) FROM login_states") == [(0,)]
        assert await desk.people.users_of_login("mona") == []

    async def test_logs_a_failure_of_the_provider_with_its_reason_and_no_secret(self, desk: Desk) -> None:
        desk.github.people["code-0123"] = ProviderError("code.test did not answer")
        state = await desk.begin()
        with structlog.testing.capture_logs() as logs, refused(Refusal.PROVIDER_FAILED):
            await desk.complete(state, "code-0123")
        assert [(line["provider"], line["reason"]) for line in logs] == [
            ("github", "code.test did not answer")
        ]
        secrets = [state, BROWSER, "code-0123", *desk.github.asked[0]]
        assert not [secret for secret in secrets if secret in repr(logs)]

    @pytest.mark.parametrize(
        "path", ["/", "/projects/1/prs/2", "/a?b=//c", "/" + "x" * (MAX_RETURN_TO - 1), "/ü"]
    )
    def test_returns_to_a_path_on_this_site(self, path: str) -> None:
        assert own_path(path) == path

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "projects",
            "//evil.test",
            "https://evil.test",
            "/\\evil.test",
            "\\\\evil.test",
            "/\t/evil.test",
            "/a\r\nSet-Cookie: b",
            "/\x00",
            "/\u2028",
            "/\ud800",
            " /",
            "/" + "x" * MAX_RETURN_TO,
        ],
    )
    def test_returns_to_the_start_page_instead_of_another_site(self, path: str) -> None:
        assert own_path(path) == "/"


class TestAState:
    async def test_works_once_even_for_concurrent_requests(self, desk: Desk) -> None:
        state = await desk.begin()
        outcomes = await asyncio.gather(*(desk.complete(state) for _ in range(8)), return_exceptions=True)
        refusals = [each.refusal for each in outcomes if isinstance(each, SignInRefusedError)]
        assert refusals == [Refusal.EXPIRED] * 7

    async def test_works_for_ten_minutes(self, desk: Desk) -> None:
        first, second = await desk.begin(), await desk.begin()
        desk.now += STATE_SECONDS
        await desk.complete(first)
        desk.now += 1
        with refused(Refusal.EXPIRED):
            await desk.complete(second)

    async def test_works_only_in_the_browser_and_for_the_provider_of_its_sign_in(self, desk: Desk) -> None:
        state = await desk.begin()
        for browser in (new_secret(), "", "gärbage"):
            with refused(Refusal.OTHER_BROWSER):
                await desk.complete(state, browser=browser)
        with refused(Refusal.OTHER_BROWSER):
            await desk.complete(state, provider="gitlab")
        assert desk.github.seen == desk.gitlab.seen == []
        assert await desk.complete(state)  # those attempts did not use it up

    async def test_cannot_be_changed(self, desk: Desk) -> None:
        seed, began_at, page, mac = (await desk.begin("/projects/1")).split(".")
        evil = LoginFlow.begin("github", new_secret(), "/projects/2", NOW).state.split(".")
        for state in (
            ".".join([evil[0], began_at, page, mac]),
            ".".join([seed, str(int(began_at) + 1), page, mac]),
            ".".join([seed, began_at, evil[2], mac]),
            ".".join([seed, began_at, page + "A", mac]),
            f"{seed}.{began_at}..{mac}",
            ".".join([seed, began_at, page, evil[3]]),
        ):
            with refused(Refusal.OTHER_BROWSER):
                await desk.complete(state)

    @pytest.mark.parametrize("browser", ["", "x", "ü" * 43])
    async def test_of_an_attacker_is_refused_in_a_browser_without_the_cookie(
        self, desk: Desk, browser: str
    ) -> None:
        prepared = LoginFlow.begin("github", browser, "/", NOW).state
        with refused(Refusal.OTHER_BROWSER):
            await desk.complete(prepared, browser=browser)
        assert desk.github.seen == []

    @pytest.mark.parametrize("page", ["A", "____", "Ly9ldmlsLnRlc3Q", ""])
    async def test_that_a_browser_made_for_itself_leads_nowhere_else(self, desk: Desk, page: str) -> None:
        made = LoginFlow._derive("github", BROWSER, f"{new_secret()}.{NOW}.{page}", NOW, "/")
        assert (await desk.complete(made.state))[1] == "/"


class TestAUser:
    async def test_with_a_new_login_and_name_stays_the_same_user(self, desk: Desk) -> None:
        before = await desk.user()
        renamed = Identity("id-of-mona", "mona-lisa", "Mona Lisa", avatar_url="https://code.test/mona.png")
        desk.github.people["mona"] = renamed
        after = await desk.user()
        assert (after.id, after.login, after.name) == (before.id, renamed.login, renamed.name)
        assert after.avatar_url == renamed.avatar_url
        assert len(await desk.people.organizations_of(after.id)) == 1

    async def test_with_an_existing_login_gets_an_organization_with_a_unique_name(self, desk: Desk) -> None:
        names = []
        for provider, subject in [(desk.github, "1"), *((desk.gitlab, each) for each in "123")]:
            provider.people["mona"] = Identity(subject, "mona", "Mona")
            user = await desk.user(provider=provider)
            names += [organization.name for organization, _ in await desk.people.organizations_of(user.id)]
        assert names == ["mona", "mona-gitlab", "mona-gitlab-2", "mona-gitlab-3"]

    @pytest.mark.parametrize(("login", "name"), [("local", "local-github"), ("m" * 200, "m" * 80)])
    async def test_with_a_reserved_or_long_login_gets_another_organization_name(
        self, desk: Desk, login: str, name: str
    ) -> None:
        user = await desk.user(login)
        [(organization, _)] = await desk.people.organizations_of(user.id)
        assert (user.login, organization.name) == (login, name)
        assert organization.id != LOCAL_ORGANIZATION

    async def test_is_created_once_by_concurrent_first_sign_ins(self, desk: Desk) -> None:
        states = [await desk.begin() for _ in range(8)]
        sessions = await asyncio.gather(*map(desk.complete, states))
        users = {(await desk.service.user_of(secret)).id for secret, _ in sessions}
        assert len(users) == len(await desk.people.users_of_login("mona")) == 1
        assert len(await desk.people.organizations_of(users.pop())) == 1

    async def test_gets_an_error_if_every_organization_name_is_taken(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prshots.server.domain.people.sign_in._SAME_NAMES", 2)
        owner = await desk.user("owner")
        for name in ("mona", "mona-github"):
            taken = Organization(name, name, personal=False, created_at=NOW)
            await desk.people.add_organization(taken, owner.id, most=2000)
        with pytest.raises(ConflictError, match="mona"):
            await desk.sign_in()


class TestALoginLink:
    async def test_always_signs_in_the_same_operator_as_owner_of_the_local_organization(
        self, desk: Desk
    ) -> None:
        codes = [await desk.service.make_link() for _ in range(4)]
        secrets = await asyncio.gather(*map(desk.service.redeem_link, codes))
        (user,) = {await desk.service.user_of(secret) for secret in secrets}
        assert (user.provider, user.login) == ("local", "operator")
        [(organization, role)] = await desk.people.organizations_of(user.id)
        assert (organization.id, role) == (LOCAL_ORGANIZATION, Role.OWNER)
        assert len(await desk.people.members(LOCAL_ORGANIZATION, None, 10)) == 1

    async def test_works_for_ten_minutes(self, desk: Desk) -> None:
        code = await desk.service.make_link()
        desk.now += STATE_SECONDS + 1
        advice = "older than 10 minutes: run `prshots login-link` to get a new one"
        with pytest.raises(SignInRefusedError, match=advice):
            await desk.service.redeem_link(code)

    async def test_makes_a_removed_operator_a_member_again(self, desk: Desk) -> None:
        operator, other = await desk.operator(), await desk.user()
        await desk.people.set_member(LOCAL_ORGANIZATION, other.id, Role.OWNER)
        await desk.people.remove_member(LOCAL_ORGANIZATION, operator.id)
        await desk.operator()
        assert len(await desk.people.members(LOCAL_ORGANIZATION, None, 10)) == 2


class TestASession:
    async def test_lasts_thirty_days(self, desk: Desk) -> None:
        secret = await desk.sign_in()
        for _ in range(SESSION_SECONDS // DAY):
            desk.now += DAY
            assert await desk.is_signed_in(secret)
        desk.now += 1
        assert not await desk.is_signed_in(secret)

    async def test_ends_after_seven_idle_days(self, desk: Desk) -> None:
        secret = await desk.sign_in()
        desk.now += IDLE_SECONDS
        assert await desk.is_signed_in(secret)
        desk.now += IDLE_SECONDS + 1
        assert not await desk.is_signed_in(secret)

    async def test_works_even_if_its_use_cannot_be_recorded(self, desk: Desk) -> None:
        secret = await desk.sign_in()
        desk.now += TOUCH_SECONDS
        desk.query("CREATE TRIGGER refuse BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END")
        with structlog.testing.capture_logs() as logs:
            assert await desk.is_signed_in(secret)
            assert await desk.is_signed_in(secret)
        assert len(logs) == 1

    @pytest.mark.parametrize(
        "secret", ["", "x", "x" * 43, "x" * 100_000, "\ud800", "ü" * 43, "a\n" * 21 + "a"]
    )
    async def test_that_is_unknown_is_refused(self, desk: Desk, secret: str) -> None:
        with pytest.raises(UnauthorizedError, match="unauthorized"):
            await desk.service.user_of(secret)
        await desk.service.sign_out(secret)


class TestTheAllowList:
    MONA = Identity(
        subject="1",
        login="Mona",
        unique_login="Mona",
        name="Mona",
        groups=frozenset({"Example-Org", "group/Web"}),
        emails=frozenset({"mona@Example.org", "mona@home.test"}),
    )

    @pytest.mark.parametrize(
        "lists",
        [
            ("*", "", ""),
            ("github:*", "", ""),
            ("hubot, MONA", "", ""),
            ("github:mona", "", ""),
            ("MONA@example.org", "", ""),
            ("GitHub : mona@home.test", "", ""),
            ("", "", "example.org."),
            ("", "example-org", ""),
            ("", " ,GitHub:group/web ", ""),
            ("", "", "example.ORG"),
            ("", "", "@home.test"),
            ("nobody", "nothing", "home.test"),
        ],
    )
    def test_admits_a_listed_user(self, lists: tuple[str, str, str]) -> None:
        assert AllowList.parse(*lists).admits("github", self.MONA)

    @pytest.mark.parametrize(
        "lists",
        [
            ("", "", ""),
            (" , ", ",", ","),
            ("mon", "", ""),
            ("github:, :", "github:", "@"),
            ("1", "", ""),
            ("example.org", "", ""),
            ("@example.org", "", ""),
            ("mona@other.test", "", ""),
            ("gitlab:mona@home.test", "", ""),
            ("", "", "\u212aome.test"),
            ("gitlab:mona", "", ""),
            ("gitlab:*", "", ""),
            ("example-org", "", ""),
            ("", "mona", ""),
            ("", "*", ""),
            ("", "gitlab:example-org", ""),
            ("", "group", ""),
            ("", "", "org"),
            ("", "", "ample.org"),
            ("", "", "mona@example.org"),
            ("", "", "*"),
        ],
    )
    def test_does_not_admit_an_unlisted_user(self, lists: tuple[str, str, str]) -> None:
        assert not AllowList.parse(*lists).admits("github", self.MONA)

    def test_does_not_admit_a_login_that_imitates_another_provider(self) -> None:
        impostor = Identity(
            "1", "m", "M", "github:mona", "github:mona", groups=frozenset({"github:example-org"})
        )
        assert not AllowList.parse("github:mona", "github:example-org", "").admits("oidc", impostor)

    def test_compares_only_the_part_after_the_last_at_with_a_domain(self) -> None:
        allowed = AllowList.parse("", "", "example.org")
        for email in (
            "example.org",
            "mona@example.org@evil.test",
            "mona@example.org.evil.test",
            "x@sub.example.org",
            "eve@evil.test,mona@example.org",
            "Mona <mona@example.org>",
            "mona@example.org.evil.test.",
            "mona@EXAMPLE.org\u200b",
            "mona@exampl\u0435.org",
        ):
            assert not allowed.admits("oidc", Identity("1", "x", "X", emails=frozenset({email}))), email

    def test_compares_an_openid_account_exactly_and_folds_ascii_letters_only(self) -> None:
        allowed = AllowList.parse("oidc:Abc, oidc:urn:user:7, kim@example.org", "", "kelvin.test")
        assert allowed.admits("oidc", Identity("i#Abc", "x", "X", account="Abc"))
        assert allowed.admits("oidc", Identity("i#7", "x", "X", account="urn:user:7"))
        for stranger in (
            Identity("i#abc", "Abc", "Abc", account="abc"),
            Identity("i#9", "x", "X", account="9", emails=frozenset({"\u212aim@example.org"})),
            Identity("i#9", "x", "X", account="9", emails=frozenset({"x@\u212aelvin.test"})),
            Identity("i#9", "Abc", "Abc"),
        ):
            assert not allowed.admits("oidc", stranger), stranger
        assert not allowed.admits("gitlab", Identity("i#7", "x", "X", account="urn:user:7"))

    def test_compares_an_openid_account_only_with_entries_for_openid(self) -> None:
        allowed = AllowList.parse("ann, boss@acme.example, github:eve, oidc:, urn:user:7", "", "")
        for account in ("ann", "boss@acme.example", "eve", "github:eve", "urn:user:7", "oidc:", ""):
            assert not allowed.admits("oidc", Identity(f"i#{account}", "x", "X", account=account)), account

    @pytest.mark.parametrize(
        ("lists", "words"),
        [
            (("ann, github:ann, ann@example.org, *", "acme", "example.org, @a.example"), []),
            (("gitlab:ann", "gitea:acme", ""), ["gitlab is not set up", "gitea is not set up"]),
            (("gihub:ann", "", ""), ["gihub:ann matches nobody: before a colon, use one of github"]),
            (("", "", "*.example.org"), ["*.example.org matches nobody: use a whole domain"]),
            (("", "", "example"), ["example matches nobody"]),
            (("", "", "ann@example.org"), ["ann@example.org matches nobody"]),
        ],
    )
    def test_reports_entries_that_match_nobody(self, lists: tuple[str, str, str], words: list[str]) -> None:
        messages = AllowList.parse(*lists).never_matching(["github"])
        assert len(messages) == len(words)
        assert all(word in message for word, message in zip(words, messages, strict=True))
        only_openid = AllowList.parse("ann, *, ann@example.org, urn:user:7, oidc:9", "", "")
        assert [message.partition(": ")[2] for message in only_openid.never_matching(["oidc"])] == [
            "ann matches nobody: use oidc:ann if that is a sub, or a verified email address",
            "urn:user:7 matches nobody: before a colon, use one of github, gitlab, gitea, oidc",
        ]
