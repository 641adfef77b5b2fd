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
    NotFoundError,
    ProviderError,
    Refusal,
    SignInRefusedError,
    UnauthorizedError,
)
from prshots.server.adapters.sql.database.database import Database, open_sqlite
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.domain.people.allow_list import AllowList
from prshots.server.domain.people.login_flow import MAX_RETURN_TO, LoginFlow, new_secret, own_path
from prshots.server.domain.people.models import Identity
from prshots.server.domain.people.sign_in import (
    IDLE_SECONDS,
    SESSION_SECONDS,
    STATE_SECONDS,
    SignIn,
    discard_old,
)
from prshots.server.domain.projects.credentials import TOUCH_SECONDS
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Organization, Role
from prshots.server.domain.projects.names import check_name
from support.stores_and_records import DAY, NOW

BACK = "http://localhost:8080/auth/callback/github"
BROWSER = new_secret()
EVERYONE = AllowList.parse("*", "", "")


class Clock:
    now: float = NOW

    def __call__(self) -> float:
        return self.now


class Provider:
    """A login provider that trusts everyone: the code is also the login."""

    label = "Code host"

    def __init__(self, provider_id: str = "github") -> None:
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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[SqlPeople]:
    engine = open_sqlite(tmp_path / "prshots.db")
    migrate(engine)
    database = Database(engine)
    yield SqlPeople(database)
    await database.close()


@pytest.fixture
def host() -> Provider:
    return Provider()


@pytest.fixture
def other_host() -> Provider:
    return Provider("gitlab")


@pytest.fixture
def signin(people: SqlPeople, host: Provider, other_host: Provider, clock: Clock) -> SignIn:
    return SignIn(people, {"github": host, "gitlab": other_host}, EVERYONE, clock)


async def begin(signin: SignIn, host: Provider, return_to: str = "/") -> str:
    """Start a sign-in, and return the state that the provider received."""
    url = await signin.begin(host.id, return_to=return_to, browser_secret=BROWSER, redirect_uri=BACK)
    assert url.endswith(host.states[-1])
    return host.states[-1]


async def complete(
    signin: SignIn,
    state: str,
    code: str = "mona",
    *,
    error: str = "",
    browser: str = BROWSER,
    host: str = "github",
) -> tuple[str, str]:
    return await signin.complete(
        host, state=state, code=code, error=error, browser_secret=browser, redirect_uri=BACK
    )


async def sign_in(signin: SignIn, host: Provider, code: str = "mona") -> str:
    secret, _ = await complete(signin, await begin(signin, host), code, host=host.id)
    return secret


@contextmanager
def refused(refusal: Refusal) -> Iterator[None]:
    with pytest.raises(SignInRefusedError) as error:
        yield
    assert error.value.refusal is refusal


class TestSigningIn:
    async def test_starts_a_session_and_returns_to_the_requested_page(
        self, signin: SignIn, host: Provider
    ) -> None:
        secret, return_to = await complete(signin, await begin(signin, host, "/projects/7?state=open#top"))
        assert return_to == "/projects/7?state=open#top"
        assert (await signin.user_of(secret)).login == "mona"
        assert host.seen == host.asked

    async def test_stores_no_secret(self, signin: SignIn, host: Provider, tmp_path: Path) -> None:
        waiting = await begin(signin, host)
        code = await signin.make_link()
        session = await sign_in(signin, host)
        with closing(sqlite3.connect(tmp_path / "prshots.db")) as database:
            kept = "\n".join(database.iterdump())
        assert [secret for secret in (waiting, code, session, BROWSER) if secret in kept] == []

    async def test_uses_new_secrets_every_time(self, signin: SignIn, host: Provider) -> None:
        await begin(signin, host)
        await begin(signin, host)
        secrets = [secret for pair in host.asked for secret in pair]
        secrets += [part for state in host.states for part in (state[:43], state[-43:])]
        assert len(set(secrets)) == 8
        assert {len(secret) for secret in secrets} == {43}  # 256 bits

    async def test_stores_nothing_before_the_provider_knows_the_person(
        self, people: SqlPeople, host: Provider, clock: Clock, tmp_path: Path
    ) -> None:
        signin = SignIn(people, {"github": host}, AllowList.parse("someone-else", "", ""), clock)
        host.people["down"] = ProviderError("code.test did not answer")
        for code in ("mona", "down", ""):
            for _ in range(20):
                state = await begin(signin, host)
                with pytest.raises(SignInRefusedError):
                    await complete(signin, state, code)
        with closing(sqlite3.connect(tmp_path / "prshots.db")) as database:
            assert database.execute("SELECT count(*) FROM login_states").fetchone() == (0,)

    async def test_with_an_unknown_provider_is_not_found(self, signin: SignIn) -> None:
        for provider in ("gitea", "link", "local", ""):
            with pytest.raises(NotFoundError):
                await signin.begin(provider, return_to="/", browser_secret=BROWSER, redirect_uri=BACK)
            with pytest.raises(NotFoundError):
                await complete(signin, "state", host=provider)

    @pytest.mark.parametrize(
        "path", ["/", "/projects/1/prs/2", "/a?b=//c", "/" + "x" * (MAX_RETURN_TO - 1), "/ü"]
    )
    async def test_returns_to_a_path_on_this_site(self, path: str) -> None:
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
    async def test_returns_to_the_start_page_for_any_other_url(self, path: str) -> None:
        assert own_path(path) == "/"


class TestAState:
    async def test_works_once(self, signin: SignIn, host: Provider) -> None:
        state = await begin(signin, host)
        await complete(signin, state)
        with refused(Refusal.EXPIRED):
            await complete(signin, state)

    async def test_works_once_for_concurrent_requests(self, signin: SignIn, host: Provider) -> None:
        state = await begin(signin, host)
        outcomes = await asyncio.gather(*(complete(signin, state) for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(outcome, tuple) for outcome in outcomes) == 1

    async def test_works_for_ten_minutes(self, signin: SignIn, host: Provider, clock: Clock) -> None:
        first, second = await begin(signin, host), await begin(signin, host)
        clock.now += STATE_SECONDS
        await complete(signin, first)
        clock.now += 1
        with refused(Refusal.EXPIRED):
            await complete(signin, second)

    async def test_works_only_in_the_browser_that_started_the_sign_in(
        self, signin: SignIn, host: Provider
    ) -> None:
        for browser in (new_secret(), "", "gärbage"):
            with refused(Refusal.OTHER_BROWSER):
                await complete(signin, await begin(signin, host), browser=browser)
        assert host.seen == []

    async def test_is_not_used_up_by_an_attempt_in_another_browser(
        self, signin: SignIn, host: Provider
    ) -> None:
        state = await begin(signin, host)
        with refused(Refusal.OTHER_BROWSER):
            await complete(signin, state, browser=new_secret())
        assert await complete(signin, state)

    async def test_works_only_for_the_provider_it_was_made_for(self, signin: SignIn, host: Provider) -> None:
        with refused(Refusal.OTHER_BROWSER):
            await complete(signin, await begin(signin, host), host="gitlab")

    async def test_cannot_be_changed(self, signin: SignIn, host: Provider) -> None:
        seed, began_at, page, mac = (await begin(signin, host, "/projects/1")).split(".")
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
                await complete(signin, state)

    async def test_of_an_attacker_does_not_work_in_a_browser_without_the_cookie(
        self, signin: SignIn, host: Provider
    ) -> None:
        for browser in ("", "x", "ü" * 43):
            prepared = LoginFlow.begin("github", browser, "/", NOW).state
            with refused(Refusal.OTHER_BROWSER):
                await complete(signin, prepared, browser=browser)
        assert host.seen == []

    @pytest.mark.parametrize("page", ["A", "____", "Ly9ldmlsLnRlc3Q", ""])
    async def test_that_a_browser_made_for_itself_leads_nowhere_else(self, signin: SignIn, page: str) -> None:
        made = LoginFlow._derive("github", BROWSER, f"{new_secret()}.{NOW}.{page}", NOW, "/")
        assert (await complete(signin, made.state))[1] == "/"

    @pytest.mark.parametrize("state", ["", "x", "x" * 43, "\ud800", "ü" * 43, "." * 3])
    async def test_that_is_unknown_is_refused(self, signin: SignIn, state: str) -> None:
        with refused(Refusal.EXPIRED):
            await complete(signin, state)


class TestRefusals:
    @pytest.mark.parametrize(
        ("error", "refusal"),
        [
            ("access_denied", Refusal.DENIED),
            ("server_error", Refusal.PROVIDER_FAILED),
            ("", Refusal.PROVIDER_FAILED),
        ],
    )
    async def test_a_provider_error_without_a_code_is_refused(
        self, signin: SignIn, host: Provider, error: str, refusal: Refusal
    ) -> None:
        with refused(refusal):
            await complete(signin, await begin(signin, host), code="", error=error)

    async def test_a_provider_error_with_a_code_is_refused(self, signin: SignIn, host: Provider) -> None:
        with refused(Refusal.DENIED):
            await complete(signin, await begin(signin, host), error="access_denied")

    async def test_an_expired_code_is_refused(self, signin: SignIn, host: Provider) -> None:
        host.people["stale"] = SignInRefusedError(Refusal.EXPIRED, "code.test says invalid_grant")
        with refused(Refusal.EXPIRED):
            await complete(signin, await begin(signin, host), "stale")

    async def test_a_provider_failure_is_logged_with_its_reason_and_no_secret(
        self, signin: SignIn, host: Provider
    ) -> None:
        host.people["code-0123"] = ProviderError("code.test did not answer")
        state = await begin(signin, host)
        with structlog.testing.capture_logs() as logs, refused(Refusal.PROVIDER_FAILED):
            await complete(signin, state, "code-0123")
        assert [(line["provider"], line["reason"]) for line in logs] == [
            ("github", "code.test did not answer")
        ]
        secrets = [state, BROWSER, "code-0123", *host.asked[0]]
        assert not [secret for secret in secrets if secret in repr(logs)]

    async def test_a_user_who_is_not_allowed_is_not_created(
        self, people: SqlPeople, host: Provider, clock: Clock
    ) -> None:
        signin = SignIn(people, {"github": host}, AllowList.parse("someone-else", "", ""), clock)
        with refused(Refusal.NOT_ALLOWED):
            await sign_in(signin, host)
        assert await people.users_of_login("mona") == []


class TestAUser:
    async def test_gets_a_personal_organization(
        self, signin: SignIn, people: SqlPeople, host: Provider
    ) -> None:
        user = await signin.user_of(await sign_in(signin, host))
        [(organization, role)] = await people.organizations_of(user.id)
        assert (organization.name, organization.personal, role) == ("mona", True, Role.OWNER)

    async def test_with_a_new_login_and_name_stays_the_same_user(
        self, signin: SignIn, people: SqlPeople, host: Provider
    ) -> None:
        before = await signin.user_of(await sign_in(signin, host))
        renamed = Identity("id-of-mona", "mona-lisa", "Mona Lisa", avatar_url="https://code.test/mona.png")
        host.people["mona"] = renamed
        after = await signin.user_of(await sign_in(signin, host))
        assert after.id == before.id
        assert (after.login, after.name, after.avatar_url) == (
            renamed.login,
            renamed.name,
            renamed.avatar_url,
        )
        assert len(await people.organizations_of(after.id)) == 1

    async def test_with_an_existing_login_gets_an_organization_with_a_unique_name(
        self, signin: SignIn, people: SqlPeople, host: Provider, other_host: Provider
    ) -> None:
        names = []
        for provider, subject in [(host, "1"), (other_host, "1"), (other_host, "2"), (other_host, "3")]:
            provider.people["mona"] = Identity(subject, "mona", "Mona")
            user = await signin.user_of(await sign_in(signin, provider))
            names += [organization.name for organization, _ in await people.organizations_of(user.id)]
        assert names == ["mona", "mona-gitlab", "mona-gitlab-2", "mona-gitlab-3"]

    async def test_with_the_login_local_does_not_get_the_local_organization(
        self, signin: SignIn, people: SqlPeople, host: Provider
    ) -> None:
        user = await signin.user_of(await sign_in(signin, host, "local"))
        [(organization, _)] = await people.organizations_of(user.id)
        assert (organization.name, organization.id == LOCAL_ORGANIZATION) == ("local-github", False)

    async def test_with_a_long_login_gets_a_valid_organization_name(
        self, signin: SignIn, people: SqlPeople, host: Provider
    ) -> None:
        user = await signin.user_of(await sign_in(signin, host, "m" * 200))
        [(organization, _)] = await people.organizations_of(user.id)
        check_name("an organization", organization.name)
        assert user.login == "m" * 200

    async def test_is_created_once_by_concurrent_first_sign_ins(
        self, signin: SignIn, people: SqlPeople, host: Provider
    ) -> None:
        states = [await begin(signin, host) for _ in range(8)]
        sessions = await asyncio.gather(*(complete(signin, state) for state in states))
        users = {(await signin.user_of(secret)).id for secret, _ in sessions}
        assert len(users) == len(await people.users_of_login("mona")) == 1
        assert len(await people.organizations_of(users.pop())) == 1

    async def test_gets_an_error_if_every_organization_name_is_taken(
        self, signin: SignIn, people: SqlPeople, host: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prshots.server.domain.people.sign_in._SAME_NAMES", 2)
        owner = await signin.user_of(await sign_in(signin, host, "owner"))
        for name in ("mona", "mona-github"):
            await people.add_organization(Organization(name, name, personal=False, created_at=NOW), owner.id)
        with pytest.raises(ConflictError, match="mona"):
            await sign_in(signin, host)


class TestALoginLink:
    async def test_signs_in_the_operator_as_owner_of_the_local_organization(
        self, signin: SignIn, people: SqlPeople
    ) -> None:
        user = await signin.user_of(await signin.redeem_link(await signin.make_link()))
        assert (user.provider, user.login) == ("local", "operator")
        [(organization, role)] = await people.organizations_of(user.id)
        assert (organization.id, role) == (LOCAL_ORGANIZATION, Role.OWNER)

    async def test_works_once(self, signin: SignIn) -> None:
        code = await signin.make_link()
        await signin.redeem_link(code)
        with refused(Refusal.LINK_USED):
            await signin.redeem_link(code)

    async def test_works_for_ten_minutes(self, signin: SignIn, clock: Clock) -> None:
        code = await signin.make_link()
        clock.now += STATE_SECONDS + 1
        with pytest.raises(
            SignInRefusedError, match="older than 10 minutes: run `prshots login-link` to get a new one"
        ):
            await signin.redeem_link(code)

    async def test_always_signs_in_the_same_operator(self, signin: SignIn, people: SqlPeople) -> None:
        codes = [await signin.make_link() for _ in range(4)]
        secrets = await asyncio.gather(*map(signin.redeem_link, codes))
        assert len({(await signin.user_of(secret)).id for secret in secrets}) == 1
        assert len(await people.members(LOCAL_ORGANIZATION, None, 10)) == 1

    async def test_makes_a_removed_operator_a_member_again(
        self, signin: SignIn, people: SqlPeople, host: Provider
    ) -> None:
        operator = await signin.user_of(await signin.redeem_link(await signin.make_link()))
        other = await signin.user_of(await sign_in(signin, host))
        await people.set_member(LOCAL_ORGANIZATION, other.id, Role.OWNER)
        await people.remove_member(LOCAL_ORGANIZATION, operator.id)
        await signin.redeem_link(await signin.make_link())
        assert len(await people.members(LOCAL_ORGANIZATION, None, 10)) == 2

    @pytest.mark.parametrize("code", ["", "x", "x" * 43, "\ud800"])
    async def test_that_is_unknown_is_refused(self, signin: SignIn, code: str) -> None:
        with refused(Refusal.LINK_USED):
            await signin.redeem_link(code)

    async def test_is_not_accepted_as_a_state_or_a_state_as_a_link(
        self, signin: SignIn, host: Provider
    ) -> None:
        with refused(Refusal.EXPIRED):
            await complete(signin, await signin.make_link())
        with refused(Refusal.LINK_USED):
            await signin.redeem_link(await begin(signin, host))


class TestASession:
    async def test_lasts_thirty_days(self, signin: SignIn, host: Provider, clock: Clock) -> None:
        secret = await sign_in(signin, host)
        for _ in range(SESSION_SECONDS // DAY):
            clock.now += DAY
            await signin.user_of(secret)
        clock.now += 1
        with pytest.raises(UnauthorizedError):
            await signin.user_of(secret)

    async def test_ends_after_seven_idle_days(self, signin: SignIn, host: Provider, clock: Clock) -> None:
        secret = await sign_in(signin, host)
        clock.now += IDLE_SECONDS
        await signin.user_of(secret)
        clock.now += IDLE_SECONDS + 1
        with pytest.raises(UnauthorizedError):
            await signin.user_of(secret)

    async def test_records_its_use_at_most_once_a_minute(
        self, signin: SignIn, host: Provider, clock: Clock, tmp_path: Path
    ) -> None:
        secret = await sign_in(signin, host)
        for seconds, noted in [
            (TOUCH_SECONDS - 1, NOW),
            (TOUCH_SECONDS, NOW + 60),
            (TOUCH_SECONDS + 59, NOW + 60),
        ]:
            clock.now = NOW + seconds
            await signin.user_of(secret)
            assert last_seen(tmp_path) == noted

    async def test_works_even_if_its_use_cannot_be_recorded(
        self, signin: SignIn, host: Provider, clock: Clock, tmp_path: Path
    ) -> None:
        secret = await sign_in(signin, host)
        clock.now += TOUCH_SECONDS
        with closing(sqlite3.connect(tmp_path / "prshots.db")) as database:
            database.execute(
                "CREATE TRIGGER refuse BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END"
            )
        with structlog.testing.capture_logs() as logs:
            assert (await signin.user_of(secret)).login == "mona"
            assert (await signin.user_of(secret)).login == "mona"
        assert len(logs) == 1

    async def test_ends_when_its_user_signs_out(self, signin: SignIn, host: Provider) -> None:
        here, there = await sign_in(signin, host), await sign_in(signin, host)
        await signin.sign_out(here)
        await signin.sign_out(here)
        with pytest.raises(UnauthorizedError):
            await signin.user_of(here)
        assert await signin.user_of(there)

    async def test_ends_when_its_user_signs_out_everywhere(self, signin: SignIn, host: Provider) -> None:
        mine = [await sign_in(signin, host) for _ in range(3)]
        another_s = await sign_in(signin, host, "hubot")
        await signin.sign_out_everywhere(await signin.user_of(mine[0]))
        for secret in mine:
            with pytest.raises(UnauthorizedError):
                await signin.user_of(secret)
        assert await signin.user_of(another_s)

    @pytest.mark.parametrize(
        "secret", ["", "x", "x" * 43, "x" * 100_000, "\ud800", "ü" * 43, "a\n" * 21 + "a"]
    )
    async def test_that_is_unknown_is_refused(self, signin: SignIn, secret: str) -> None:
        with pytest.raises(UnauthorizedError, match="unauthorized"):
            await signin.user_of(secret)
        await signin.sign_out(secret)

    async def test_and_an_unfinished_sign_in_are_discarded_once_expired(
        self, signin: SignIn, people: SqlPeople, host: Provider, clock: Clock
    ) -> None:
        await begin(signin, host)
        await sign_in(signin, host)
        clock.now += STATE_SECONDS
        assert await discard_old(people, int(clock.now)) == 0
        clock.now += 1
        assert await discard_old(people, int(clock.now)) == 1
        clock.now = NOW + IDLE_SECONDS + 1
        assert await discard_old(people, int(clock.now)) == 1


class TestTheAllowList:
    MONA = Identity(
        subject="1",
        login="Mona",
        unique_login="Mona",
        name="Mona",
        organizations=frozenset({"Example-Org", "group/Web"}),
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
            "1", "m", "M", "github:mona", "github:mona", organizations=frozenset({"github:example-org"})
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
        allowed = AllowList.parse("Abc, oidc:urn:user:7, kim@example.org", "", "kelvin.test")
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
        assert AllowList.parse("urn:user:7", "", "").never_matching(["github", "oidc"]) == []


def last_seen(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "prshots.db")) as database:
        [(seen,)] = database.execute("SELECT last_seen_at FROM sessions").fetchall()
        return int(seen)
