"""A project's connection to its forge, on a running service with real look-alikes of the forges."""

import os
import secrets
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import httpx
import pytest
from joserfc.jwk import RSAKey

from prshots.cli.common import run_with
from prshots.contract.errors import ForgeError, ForgeRefusedError, KeysError, UnreachableError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import CommitState
from prshots.forges import deadline, forge_api
from prshots.forges.deadline import closing_at_deadline, deadline_after
from prshots.forges.gitea import Gitea
from prshots.server import wiring
from prshots.server.adapters.forges import delivery, public_addresses
from prshots.server.adapters.forges.delivery import Deliveries
from prshots.server.adapters.forges.forge_opener import ForgeOpener
from prshots.server.adapters.forges.github_app import PERMISSIONS, GitHubApp
from prshots.server.adapters.forges.public_addresses import PublicTransport
from prshots.server.adapters.forges.token_encryption import encrypt
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.adapters.tls import tls_context
from prshots.server.config.settings import Settings, load_settings
from prshots.server.doctor import State, examination
from prshots.server.doctor.examination import check_app, check_connections
from prshots.server.domain.outbox.models import Connection
from prshots.server.wiring.forges import open_forges
from support.forges.bitbucket_look_alike import BitbucketLookAlike
from support.forges.forge_places import forge_at
from support.forges.gitea_look_alike import GiteaLookAlike
from support.forges.gitlab_look_alike import GitLabLookAlike
from support.forges.look_alikes import GitHubLookAlike
from support.http_server import Answer, answering, as_json, dripping
from support.service import Service
from support.signed_in_people import Person, sign_in

T = TypeVar("T")


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture(scope="module")
def project(owner: Person) -> str:
    """Create a project that stays without a connection."""
    return owner.project()


@pytest.fixture(scope="module")
def gitea() -> Iterator[GiteaLookAlike]:
    with GiteaLookAlike() as running:
        yield running


def connect(owner: Person, project: str, **body: object) -> httpx.Response:
    return owner.ask("PUT", f"/projects/{project}/connection", **body)


def of_gitea(gitea: GiteaLookAlike) -> dict[str, object]:
    url, token = gitea.public_url, gitea.token
    return {"forge": "gitea", "url": url, "repository": gitea.repository, "token": token}


def refusal(reply: httpx.Response) -> str:
    assert reply.status_code == 400, reply.text
    return str(reply.json()["error"])


def settings_of(service: Service) -> Settings:
    with patch.dict(os.environ, service.env, clear=True):
        return load_settings()


def store(service: Service, gitea: GiteaLookAlike, name: str = "shop", token: str = "") -> Connection:
    """Connect a project with a token that may not work."""

    async def put(database: Database) -> Connection:
        project = await wiring.projects_in(database).project(name)
        api_url = f"{gitea.public_url}/api/v1"
        plain = Connection(project.id, ForgeKind.GITEA, api_url, gitea.repository, "ann", 1)
        ring = wiring.existing_keys(settings_of(service)).ring()
        connection = encrypt(plain, token or gitea.token, ring)
        await SqlConnections(database).put(connection)
        return connection

    return with_database(service, put)


def stored(service: Service) -> Connection:
    (connection,) = with_database(service, lambda database: SqlConnections(database).connections())
    return connection


def with_database(service: Service, work: Callable[[Database], Awaitable[T]]) -> T:
    return run_with(wiring.use_database(settings_of(service)), work)


def forges_of(service: Service) -> ForgeOpener:
    settings = settings_of(service)
    return open_forges(settings, wiring.existing_keys(settings))


@pytest.fixture
def shop(service: Service) -> Service:
    """Return a service that doesn't run, with the project `shop`."""
    service.settings["FORGE_HOSTS"] = "127.0.0.1"
    service.run("project", "create", "shop")
    service.run("keys", "create")
    return service


@dataclass
class Clock:
    ahead: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def tokens_of_app(github: GitHubLookAlike) -> list[dict[str, Any]]:
    """Return what the emulator knows about the tokens that it issued."""
    issued: list[dict[str, Any]] = github.call("GET", "/_emulate/installation-tokens").json()[
        "installation_tokens"
    ]
    return issued


class TestConnecting:
    def test_the_token_is_checked_and_never_shown_or_stored_in_plain_text(
        self, shared_service: Service, owner: Person, gitea: GiteaLookAlike
    ) -> None:
        project, token = owner.project(), f"gitea-{secrets.token_hex(8)}"
        gitea.accounts[token] = gitea.accounts[gitea.token]
        path = f"/projects/{project}/connection"
        assert owner.get_json(path) == {"connection": None}
        made = connect(owner, project, **of_gitea(gitea) | {"token": token})
        assert made.status_code == 200, made.text
        assert gitea.requests[-2:] == [
            "GET /api/v1/repos/acme/shop",
            f"POST /api/v1/repos/acme/shop/statuses/{gitea.unknown_commit}",  # a commit that doesn't exist
        ]
        shown = made.json()["connection"]
        created_by, created_at = owner.get_json("/me")["user"]["login"], shown.pop("created_at")
        assert created_at > 1_700_000_000
        assert shown == {
            "forge": "gitea",
            "api_url": f"{gitea.public_url}/api/v1",
            "repository": "acme/shop",
            "uses_app": False,
            "created_by": created_by,
            "problem": "",
        }
        assert owner.get_json(path) == made.json()
        refused = connect(owner, project, **of_gitea(gitea) | {"token": "wrong" + token})
        assert "token" in refusal(refused)
        assert owner.get_json(path) == made.json()  # a token that doesn't work replaces nothing
        files = [*shared_service.data_dir.glob("prshots.db*"), shared_service.folder / "serve.log"]
        everything = b"".join(file.read_bytes() for file in files) + made.content + refused.content
        assert token.encode() not in everything
        assert owner.ask("DELETE", path).json() == {"ok": True}
        assert owner.get_json(path) == {"connection": None}

    def test_every_forge_can_be_connected(self, owner: Person, github: GitHubLookAlike) -> None:
        project, url = owner.project(), github.url
        token = github.person_token
        asked = {"forge": "github", "url": url, "repository": github.repository, "token": token}
        assert connect(owner, project, **asked).json()["connection"]["api_url"] == f"{url}/api/v3"
        with GitLabLookAlike() as gitlab:
            place = {"forge": "gitlab", "url": f"{gitlab.public_url}/", "repository": gitlab.repository}
            assert connect(owner, project, **place, token=gitlab.token).status_code == 200
            assert [line.split()[0] for line in gitlab.requests] == ["GET", "POST"]
            assert gitlab.pipelines.external_jobs == []
        with BitbucketLookAlike() as bitbucket, forge_at(bitbucket) as forge:  # has only one address
            forge.check()

    def test_a_token_that_cannot_set_statuses_is_refused(
        self, owner: Person, project: str, gitea: GiteaLookAlike, github: GitHubLookAlike
    ) -> None:
        needs = "can't set commit statuses: token does not have at least one of required scope(s)"
        assert needs in refusal(connect(owner, project, **of_gitea(gitea) | {"token": gitea.no_status_token}))
        of_github = {"forge": "github", "url": github.url, "repository": github.repository}
        for token, why in (
            (github.no_status_token, "Resource not accessible by integration"),
            (github.no_scope_token, "Not Found"),  # of a classic token
        ):
            said = refusal(connect(owner, project, **of_github, token=token))
            assert f"can read octocat/shop but can't set commit statuses: {why}. In GitHub Actions" in said
        for look_alike in (GitLabLookAlike(), BitbucketLookAlike()):
            with (
                look_alike,
                forge_at(look_alike, look_alike.no_status_token) as forge,
                pytest.raises(ForgeRefusedError, match=r"can't set commit statuses: .* needs"),
            ):
                forge.check()
        assert owner.get_json(f"/projects/{project}/connection") == {"connection": None}

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"forge": "svn"}, "forge must be one of github, gitlab, gitea, bitbucket"),
            ({"repository": "shop"}, "repository is invalid: enter it as owner/name"),
            ({"repository": "../../admin"}, "repository is invalid"),
            ({"repository": "other/shop"}, "the token may not read it"),
            ({"url": ""}, "url is required: enter the web address of the forge"),
            ({"url": "file:///etc/passwd"}, "url is invalid"),
            ({"url": "http://user:password@127.0.0.1"}, "url is invalid"),
            ({"url": "http://git.example.org"}, "use https://git.example.org"),
            ({"token": "two words"}, "token is invalid"),
            ({"token": "line\r\nHost: x"}, "token is invalid"),
            ({"token": ""}, "token is invalid"),
        ],
    )
    def test_bad_input_is_refused_with_a_reason(
        self, owner: Person, project: str, gitea: GiteaLookAlike, changes: dict[str, str], words: str
    ) -> None:
        assert words in refusal(connect(owner, project, **of_gitea(gitea) | changes))
        assert owner.get_json(f"/projects/{project}/connection") == {"connection": None}


class TestAddresses:
    @pytest.mark.parametrize(
        "host",
        [
            *("10.0.0.1", "192.168.1.1", "172.16.0.9", "100.64.0.1", "0.0.0.0"),
            *("169.254.169.254", "224.0.0.1", "localhost", "2130706433", "0x7f.1"),
            *("[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::a00:1]", "[::]"),
            *("192.0.0.192", "[::7f00:1]", "[2002:7f00:1::]", "[64:ff9b:1::a00:1]", "[fec0::1]"),
        ],
    )
    def test_an_address_on_a_private_network_is_refused(
        self, owner: Person, project: str, gitea: GiteaLookAlike, host: str
    ) -> None:
        said = refusal(connect(owner, project, **of_gitea(gitea) | {"url": f"https://{host}"}))
        assert said.endswith("is on a private network: the operator can allow it with PRSHOTS_FORGE_HOSTS")

    def test_a_name_is_resolved_once_and_kept_in_the_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second answer of a hostile name server would be a private address."""
        answers = iter(["127.0.0.1", "10.0.0.1"])
        monkeypatch.setattr(public_addresses, "_resolve", lambda _: [next(answers)])
        monkeypatch.setattr(public_addresses, "_is_public", lambda address: address == "127.0.0.1")
        with answering(lambda asked, _: as_json(200, asked.headers["Host"])) as url:
            port = url.rpartition(":")[2]
            with httpx.Client(transport=PublicTransport(), timeout=5) as client:
                assert client.get(f"http://forge.test:{port}/").json() == f"forge.test:{port}"
                with pytest.raises(ForgeError, match="private network"):
                    client.get(f"http://forge.test:{port}/")

    def test_the_certificate_must_match_the_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "own.pem"
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x "
            f"-addext subjectAltName=DNS:forge.test -keyout {file} -out {file}"
        )
        subprocess.run(command.split(), check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        monkeypatch.setattr(public_addresses, "tls_context", tls_context.__wrapped__)  # reads the file again
        monkeypatch.setattr(public_addresses, "_resolve", lambda _: ["127.0.0.1"])
        monkeypatch.setattr(public_addresses, "_is_public", lambda _: True)
        with answering(lambda *_: as_json(200, "here"), context) as url:
            port = url.rpartition(":")[2]
            with httpx.Client(transport=PublicTransport(), timeout=5) as client:
                assert client.get(f"https://forge.test:{port}/").json() == "here"
                with pytest.raises(httpx.ConnectError, match="certificate"):
                    client.get(f"https://other.test:{port}/")

    @pytest.mark.parametrize(
        ("head", "again"),
        [
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        ],
        ids=["interim responses", "small chunks"],
    )
    def test_an_answer_that_keeps_a_processor_busy_is_cut_off(
        self, monkeypatch: pytest.MonkeyPatch, head: bytes, again: bytes
    ) -> None:
        monkeypatch.setattr(public_addresses, "_is_public", lambda _: True)

        def flood(asked: BaseHTTPRequestHandler, _: bytes) -> None:
            asked.wfile.write(head)
            for _ in range(400):
                asked.wfile.write(again * 1000)

        with answering(flood) as url, httpx.Client(transport=PublicTransport(busy_seconds=0.1)) as client:
            began = time.thread_time()
            with pytest.raises(httpx.ReadError, match="takes too much work to read"):
                client.get(url)
            assert time.thread_time() - began < 1
            with pytest.raises(httpx.ReadError, match="takes too much work to read"):
                client.get(url)  # the limit is for all requests

    def test_a_redirect_to_another_server_is_not_followed(self, owner: Person) -> None:
        visited: list[str] = []

        def inside(*_: object) -> None:
            visited.append("inside")

        with answering(inside) as internal:
            redirect = (302, {"Location": f"{internal}/secret"}, b"")
            with answering(lambda *_: redirect) as url:
                asked = {"forge": "gitea", "url": url, "repository": "acme/shop", "token": "t0ken"}
                assert "does not get our token" in refusal(connect(owner, owner.project(), **asked))
        assert visited == []

    def test_shortens_the_reply_of_another_server(self, owner: Person) -> None:
        page = as_json(400, {"message": "internal " * 1000 + "secret=1"})
        with answering(lambda *_: page) as url:
            asked = {"forge": "gitea", "url": url, "repository": "acme/shop", "token": "t0ken"}
            said = refusal(connect(owner, owner.project(), **asked))
        assert len(said) < 500
        assert "secret" not in said

    def test_a_reply_without_an_end_is_cut_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Timeouts are for single reads, and each line of a header is one."""
        monkeypatch.setattr(deadline, "GRACE_SECONDS", 0.1)
        with dripping() as url:
            begun = time.monotonic()
            with (
                deadline_after(0.3),
                closing_at_deadline(Gitea(api_url=url, repository="acme/shop", token="t0ken")) as forge,
                pytest.raises(UnreachableError, match="lost the connection"),
            ):
                forge.check()
        assert time.monotonic() - begun < 3

    @pytest.mark.parametrize(
        "reply",
        [
            (200, {"Link": '<http://[::1>; rel="next"'}, b"[]"),
            (403, {"Content-Type": "text/plain; charset=base64"}, b"x"),
        ],
        ids=["link", "charset"],
    )
    def test_a_malformed_header_is_an_error(self, reply: Answer) -> None:
        with (
            answering(lambda *_: reply) as url,
            closing(Gitea(api_url=url, repository="acme/shop", token="t0ken")) as forge,
            pytest.raises(ForgeError),
        ):
            list(forge.comments(7))

    @pytest.mark.parametrize("status", [200, 422])
    def test_a_large_reply_is_not_parsed(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(forge_api, "MAX_JSON_BYTES", 1000)
        page = as_json(status, {"message": "x" * 1000})
        with (
            answering(lambda *_: page) as url,
            closing(Gitea(api_url=url, repository="acme/shop", token="t0ken")) as forge,
            pytest.raises(ForgeError) as raised,
        ):
            forge.check()
        assert "xxx" not in str(raised.value)

    def test_a_reply_that_repeats_the_token_or_cannot_be_stored_is_shown_without_either(
        self, owner: Person
    ) -> None:
        def repeat(asked: BaseHTTPRequestHandler, _: bytes) -> Answer:
            return as_json(401, {"message": f"\ud800\0\x1b[2J {asked.headers['Authorization']}"})

        with answering(repeat) as url:
            asked = {"forge": "gitea", "url": url, "repository": "acme/shop", "token": "t0ken"}
            said = refusal(connect(owner, owner.project(), **asked))
        assert r"(\ud800\x00\x1b[2J token [hidden])" in said


@pytest.mark.slow
class TestKeys:
    def test_rotation_encrypts_tokens_again_and_a_key_in_use_stays(
        self, shop: Service, gitea: GiteaLookAlike
    ) -> None:
        assert store(shop, gitea).kid == "k1"
        signs = shop.run("keys", "retire", "k1", check=False)
        assert "run `prshots keys rotate` first" in signs.stderr
        shop.run("keys", "rotate")
        assert stored(shop).kid == "k2"
        shop.run("keys", "retire", "k1")
        keys = shop.data_dir / "signing-keys"
        keys.write_text(f"k3:{'c' * 64}\n{keys.read_text()}")
        refused = shop.run("keys", "retire", "k2", check=False)
        assert (refused.returncode, "`prshots sweep`" in refused.stderr) == (1, True)
        assert "k2:" in keys.read_text()
        shop.run("sweep")
        assert stored(shop).kid == "k3"
        shop.run("keys", "retire", "k2")
        with forges_of(shop).open(stored(shop), 10) as forge:
            assert forge.me() == gitea.login

    def test_a_lost_key_breaks_only_the_connection(self, shop: Service, gitea: GiteaLookAlike) -> None:
        before = store(shop, gitea)
        (shop.data_dir / "signing-keys").write_text(f"k4:{'d' * 64}\n")
        shop.run("sweep")
        assert stored(shop) == before
        words = "signing key k1, which no longer exists: enter the token again"
        assert words in forges_of(shop).problem(before)
        with pytest.raises(KeysError, match=words), forges_of(shop).open(before, 10):
            pass


@pytest.mark.slow
class TestGitHubApp:
    @pytest.fixture
    def installed(self, shop: Service, github: GitHubLookAlike) -> Service:
        """Set up the App. It is installed on one of two repositories."""
        key_file = shop.folder / "app.pem"
        key_file.write_text(github.app_key())
        given = {"URL": github.url, "APP_ID": "4711", "APP_KEY_FILE": str(key_file)}
        shop.settings |= {f"GITHUB_{name}": value for name, value in given.items()}
        return shop

    def test_an_operator_connects_a_project_with_tokens_for_one_repository(
        self, installed: Service, github: GitHubLookAlike
    ) -> None:
        installed.run("project", "connect", "shop", "--repository", github.repository)
        connection, forges = stored(installed), forges_of(installed)
        assert (connection.uses_app, connection.secret, connection.created_by) == (True, "", "")
        assert forges.problem(connection) == ""
        before = len(tokens_of_app(github))
        for _ in range(3):
            with forges.open(connection, 10) as forge:
                assert forge.pull_request(github.pr_number).is_open
        (issued,) = tokens_of_app(github)[before:]  # and used three times
        assert issued["permissions"] == PERMISSIONS
        assert len(issued["repository_ids"]) == 1

    def test_a_token_is_renewed_a_minute_before_it_expires(self, github: GitHubLookAlike) -> None:
        clock = Clock()
        app = GitHubApp("4711", github.app_key(), github.url, clock)
        first = app.token(github.repository)
        clock.ahead = 3530
        assert app.token(github.repository) == first
        clock.ahead = 3545
        assert app.token(github.repository) != first

    def test_only_a_repository_with_the_app_can_be_connected(self, installed: Service) -> None:
        for repository in ("octocat/without-app", "octocat/nowhere"):
            done = installed.run("project", "connect", "shop", "--repository", repository, check=False)
            assert (done.returncode, f"the GitHub App is not installed on {repository}" in done.stderr) == (
                2,
                True,
            )
        done = installed.run("project", "connect", "shop", "--repository", "../octocat/shop", check=False)
        assert (done.returncode, "--repository takes OWNER/NAME" in done.stderr) == (2, True)
        assert with_database(installed, lambda database: SqlConnections(database).connections()) == []

    def test_another_key_is_refused_by_github(self, github: GitHubLookAlike) -> None:
        with pytest.raises(ForgeError, match="Check PRSHOTS_GITHUB_APP_ID, PRSHOTS_GITHUB_APP_KEY_FILE"):
            GitHubApp("4711", RSAKey.generate_key(2048).as_pem(private=True).decode(), github.url).name()

    def test_without_the_app_its_connections_report_a_problem(
        self, installed: Service, github: GitHubLookAlike
    ) -> None:
        installed.run("project", "connect", "shop", "--repository", github.repository)
        for name in ("APP_ID", "APP_KEY_FILE"):
            del installed.settings[f"GITHUB_{name}"]
        forges, connection = forges_of(installed), stored(installed)
        assert "set PRSHOTS_GITHUB_APP_ID and PRSHOTS_GITHUB_APP_KEY_FILE" in forges.problem(connection)
        with pytest.raises(ForgeError, match="which is not set up"), forges.open(connection, 10):
            pass

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ({"APP_ID": "4711"}, "PRSHOTS_GITHUB_APP_KEY_FILE: got nothing"),
            ({"APP_KEY": "x"}, "PRSHOTS_GITHUB_APP_ID: got nothing"),
            ({"APP_ID": "4711", "APP_KEY": "secret-pem"}, "PRSHOTS_GITHUB_APP_KEY_FILE: got something else"),
        ],
    )
    def test_an_invalid_setting_fails_the_start_with_one_line(
        self, service: Service, given: dict[str, str], named: str
    ) -> None:
        service.settings |= {f"GITHUB_{name}": value for name, value in given.items()}
        done = service.run("serve", check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert named in done.stderr
        assert "secret-pem" not in done.stderr


class TestBudget:
    async def test_a_connection_that_used_up_its_requests_waits(
        self, shop: Service, gitea: GiteaLookAlike, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ThreadPoolExecutor(1) as thread:  # commands run their own event loop
            connection = thread.submit(store, shop, gitea).result()
        monkeypatch.setattr(delivery, "REQUESTS_PER_HOUR", 3)
        deliveries, status = Deliveries(forges_of(shop)), CommitStatus(CommitState.SUCCESS, "", "")
        for used_up in ([], [], [], [], [connection.project_id]):
            assert list(deliveries.exhausted()) == used_up
            await deliveries.set_status(connection, 11, secrets.token_hex(20), status, 10)
        deliveries._requests._clock = lambda: time.monotonic() + 3600
        assert list(deliveries.exhausted()) == []


class TestDoctor:
    async def test_reports_connections_that_do_not_work(
        self, shop: Service, gitea: GiteaLookAlike, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = settings_of(shop)
        ring = wiring.existing_keys(settings).ring()

        async def report() -> list[str]:
            return [f"{found.state} {found.words}" for found in await check_connections(settings, ring)]

        assert await report() == []
        with ThreadPoolExecutor(1) as thread:  # commands run their own event loop
            thread.submit(store, shop, gitea).result()
            assert await report() == ["ok every connection to a forge works: 1"]
            thread.submit(shop.run, "project", "create", "web").result()
            thread.submit(store, shop, gitea, "web", gitea.no_status_token).result()
            (found,) = await report()
            assert "problem project 'web', acme/shop: the token can read acme/shop but can't set" in found
            thread.submit(store, shop, gitea, "web", "t0ken-that-was-revoked").result()
            (found,) = await report()
            assert found.startswith("problem project 'web', acme/shop: ")
            assert "token" in found
            assert "t0ken" not in found
            (shop.data_dir / "signing-keys").write_text(f"k4:{'d' * 64}\n")
        ring = wiring.existing_keys(settings).ring()
        assert [line.rpartition(": ")[2] for line in await report()] == ["enter the token again"] * 2
        monkeypatch.setattr(examination, "MAX_CONNECTIONS", 1)
        assert (await report())[-1] == "warning only 1 of 2 connections were checked"

    async def test_asks_github_about_the_app(self, shop: Service, github: GitHubLookAlike) -> None:
        assert await check_app(settings_of(shop)) == []
        given = {"URL": github.url, "APP_ID": "4711", "APP_KEY": github.app_key()}
        shop.settings |= {f"GITHUB_{name}": value for name, value in given.items()}
        (found,) = await check_app(settings_of(shop))
        assert (found.state, found.words) == (State.OK, "GitHub knows it as prshots-here")
