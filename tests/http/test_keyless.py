"""Keyless upload on a running service, with ID tokens from a real OpenID issuer."""

import asyncio
import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from joserfc import jws
from joserfc.jwk import RSAKey
from starlette.routing import Router

from prshots.contract.errors import ExchangeRefusedError
from prshots.server.adapters.identity.issuers import CiIssuers
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.api.fields import text_of
from prshots.server.api.keyless import keyless_routes, read_id_token
from prshots.server.api.request_body import BodySlots
from prshots.server.domain.people.bounded_log import LINES
from prshots.server.domain.projects.keyless import TokenExchange
from prshots.server.http.error_boundary import ErrorBoundary
from support.bare_api import bare_api
from support.ci_issuer import JOB, CiIssuer
from support.service import SHA, SILENT_ISSUER, UNTRUSTED_ISSUER, Service, png, upload
from support.signed_in_people import Person, sign_in
from support.stores_and_records import open_database
from support.waiting import wait_for

REFUSED = (401, {"error": "unauthorized"})


@dataclass
class World:
    """A person with a project, and a repository with a unique name whose CI jobs get ID tokens from the issuer."""

    service: Service
    issuer: CiIssuer
    person: Person
    repository: str = field(default_factory=lambda: f"octo-{secrets.token_hex(4)}/app")

    def __post_init__(self) -> None:
        self.project_id = self.person.project()

    @property
    def full_name(self) -> str:
        """The project's `organization/name`."""
        project = self.person.get_json(f"/projects/{self.project_id}")
        return f"{project['organization']['name']}/{project['name']}"

    def trust(self, project_id: str = "", issuer: str = "", **claims: str) -> str:
        """Make a project trust the repository, with these extra claims. Return the trust's id."""
        wanted = {"repository": self.repository} | claims
        path = f"/projects/{project_id or self.project_id}/trusts"
        reply = self.person.ask("POST", path, issuer=issuer or self.issuer.url, claims=wanted)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["id"])

    def id_token(self, audience: str = "", **changes: Any) -> str:
        said = {"repository": self.repository, "sub": f"repo:{self.repository}:pull_request"} | changes
        return self.issuer.id_token(audience or self.service.base_url, **said)

    def exchange(self, id_token: object, **more: object) -> httpx.Response:
        return self.ask(json={"id_token": id_token, "project": self.project_id, **more})

    def job(self, **claims: str) -> httpx.Client:
        """Return a client with the token that a job with these claims gets."""
        return self.service.client(self.exchange(self.id_token(**claims)).json()["token"])

    def ask(self, **request: Any) -> httpx.Response:
        return self.issuer.client.post(f"{self.service.base_url}/v1/oidc/token", **request)

    def refusal(self, id_token: object, **more: object) -> str:
        """Make a request that is refused, and return the reason with the issuer and subject.

        The service logs only some of the refusals of a kind, so we ask the same exchange in this process.
        """
        reply = self.exchange(id_token, **more)
        assert (reply.status_code, reply.json()) == REFUSED
        refused = asyncio.run(self._refused(id_token, more.get("project", self.project_id)))
        said = f"{refused} issuer={refused.issuer} subject={refused.subject}"
        assert said.isprintable()
        if isinstance(id_token, str) and id_token:
            assert not [part for part in id_token.split(".") if len(part) > 10 and part in said]
        return said

    async def _refused(
        self, id_token: object, project: object, clock: Callable[[], float] = time.time
    ) -> ExchangeRefusedError:
        database = open_database(self.service.data_dir)
        issuers = [self.issuer.url, UNTRUSTED_ISSUER]
        addresses = [self.service.base_url, self.service.web_url]
        exchange = TokenExchange(
            SqlTrusts(database), CiIssuers(issuers), allowed=issuers, audiences=addresses, clock=clock
        )
        try:
            with pytest.raises(ExchangeRefusedError) as refused:
                await exchange.grant(read_id_token(id_token), text_of({"project": project}, "project"))
        finally:
            await database.close()
        return refused.value


@pytest.fixture
def world(shared_service: Service, ci_issuer: CiIssuer) -> Iterator[World]:
    with sign_in(shared_service) as person:
        yield World(shared_service, ci_issuer, person)


def unsigned_part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_job_uploads_with_its_id_token_until_the_trust_is_removed(world: World) -> None:
    trust_id = world.trust()
    reply = world.exchange(world.id_token())
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    granted = reply.json()
    assert set(granted) == {"token", "expires_at", "project", "project_id", "organization"}
    assert f"{granted['organization']}/{granted['project']}" == world.full_name
    assert granted["project_id"] == world.project_id
    assert granted["expires_at"] == pytest.approx(time.time() + 900, abs=60)
    with world.service.client(granted["token"]) as client:
        assert upload(client).status_code == 200
        assert client.get("/v1/comment", params={"pr_number": 7}).status_code == 200
        assert client.post("/v1/expire", json={"pr_number": 7}).json()["expired"] == 1
        assert world.person.get_json(f"/projects/{world.project_id}/tokens")["tokens"] == []
        (trust,) = world.person.get_json(f"/projects/{world.project_id}/trusts")["trusts"]
        assert trust["last_used_at"] == pytest.approx(time.time(), abs=60)
        # Removing a trust also revokes the tokens it granted.
        removed = world.person.ask("DELETE", f"/projects/{world.project_id}/trusts/{trust_id}")
        assert (removed.status_code, removed.json()) == (200, {"ok": True})
        assert upload(client).status_code == 401
    world.refusal(world.id_token())
    assert granted["token"] not in world.service.log


def test_an_id_token_can_be_exchanged_at_the_api_and_again_through_web(world: World) -> None:
    world.trust()
    id_token = world.id_token(f"{world.service.web_url}/")
    first = world.exchange(id_token).json()["token"]
    asked = {"id_token": id_token, "project": world.project_id}
    second = world.person.post("/v1/oidc/token", json=asked).json()["token"]
    assert first != second
    for token in (first, second):
        with world.service.client(token) as client:
            assert client.get("/v1/comment", params={"pr_number": 7}).status_code == 200


def test_only_a_job_whose_claims_match_the_trust_gets_a_token(world: World) -> None:
    owner = world.repository.partition("/")[0]
    world.trust(repository=f"{owner}/*", ref="refs/pull/*", environment="review", repository_id="4711")
    assert world.exchange(world.id_token()).status_code == 200
    assert world.exchange(world.id_token(repository=f"{owner}/other")).status_code == 200
    for changes, reason in (
        ({"repository": f"{owner}-evil/app"}, "do not match the trust: repository"),
        ({"repository": None}, "do not match the trust: repository"),
        ({"ref": "refs/heads/main"}, "do not match the trust: ref"),
        ({"environment": "production"}, "do not match the trust: environment"),
        ({"environment": None}, "do not match the trust: environment"),
        ({"repository_id": 4712}, "names this repository"),
    ):
        assert reason in world.refusal(world.id_token(**changes))


class TestTheProject:
    def test_project_is_named_by_its_id_or_full_name(self, world: World) -> None:
        world.trust()
        id_token = world.id_token()
        for project in (world.project_id, world.full_name):
            assert world.exchange(id_token, project=project).json()["project_id"] == world.project_id
        for project in ("nobody/x", f"{world.full_name}x", secrets.token_hex(8), 7, ["x"], "x" * 1000):
            assert "project" in world.refusal(id_token, project=project)
        half_a_character = json.dumps({"id_token": id_token, "project": "\udc80"}).encode()
        assert world.ask(content=half_a_character).status_code == 401

    def test_a_strangers_project_of_the_same_name_gets_nothing(self, world: World) -> None:
        """Anyone can add a trust for any repository to their own project of any name."""
        organization, name = world.full_name.split("/")
        world.trust(environment="production")
        with sign_in(world.service) as stranger:
            for taken in (name, world.project_id, world.full_name):
                path = f"/projects/{stranger.project(taken)}/trusts"
                claims = {"repository": world.repository}
                assert stranger.ask("POST", path, issuer=world.issuer.url, claims=claims).status_code == 201
            assert stranger.ask("POST", "/organizations", name=f"{organization}/x").status_code == 400
            ours = world.id_token(environment="production")
            # The stranger's trusts change nothing for our job, whether our own trust matches it or not.
            for project in (world.project_id, world.full_name):
                assert world.exchange(ours, project=project).json()["project_id"] == world.project_id
                assert "environment" in world.refusal(world.id_token(), project=project)
            for project in (None, "", name):
                reply = world.exchange(world.id_token(), project=project)
                assert reply.status_code == 400, reply.text
                assert "set project to organization/name, or to the project's id" in reply.json()["error"]

    def test_project_may_be_omitted_only_in_the_operators_organization(
        self, world: World, shared_service: Service
    ) -> None:
        world.trust()
        with sign_in(shared_service, operator=True) as operator:
            operator.organization_id = "local"
            ours = World(world.service, world.issuer, operator, world.repository)
            name = ours.full_name.removeprefix("local/")
            assert ours.exchange(ours.id_token(), project=name).status_code == 400
            ours.trust()
            for project in (None, "", name, ours.full_name, ours.project_id):
                granted = ours.exchange(ours.id_token(), project=project).json()
                assert (granted["project_id"], granted["organization"]) == (ours.project_id, "local")
            ours.trust(second := operator.project())
            refused = ours.exchange(ours.id_token(), project=None)
            assert (refused.status_code, "several projects" in refused.json()["error"]) == (400, True)
            assert ours.exchange(ours.id_token(), project=second).json()["project_id"] == second


class TestARepositoryOfTheSameName:
    def test_repository_of_the_same_name_is_refused_until_the_pin_is_reset(self, world: World) -> None:
        trust_id = world.trust()
        path = f"/projects/{world.project_id}/trusts"

        def trust() -> dict[str, Any]:
            return dict(world.person.get_json(path)["trusts"][0])

        assert (trust()["pins"], trust()["refused_ids"], trust()["refused_at"]) == ({}, {}, None)
        ours = {"repository_id": 4711, "repository_owner_id": "12"}
        assert world.exchange(world.id_token(**ours)).status_code == 200
        assert trust()["pins"] == {"repository_id": "4711", "repository_owner_id": "12"}
        taken_over = {"repository_id": "4712", "repository_owner_id": "99"}
        for theirs, given in (
            (taken_over, "repository_id=4712, repository_owner_id=99"),
            (ours | {"repository_id": None}, "repository_id=(none)"),
            (ours | {"repository_id": [4711, 4712]}, "repository_id=(none)"),
        ):
            line = world.refusal(world.id_token(**theirs))
            assert f"trust {trust_id} is pinned to another repository than {given}" in line
        assert world.exchange(world.id_token(**ours)).status_code == 200
        assert trust()["refused_ids"] == {"repository_id": ""}
        assert trust()["refused_at"] == pytest.approx(time.time(), abs=60)
        assert world.person.ask("DELETE", f"{path}/{trust_id}/pins").json() == {"ok": True}
        assert (trust()["pins"], trust()["refused_at"]) == ({}, None)
        assert world.exchange(world.id_token(**taken_over)).status_code == 200
        assert trust()["pins"]["repository_id"] == "4712"
        assert world.exchange(world.id_token(**ours)).status_code == 401

    def test_last_refusal_is_noted_once_a_minute_and_for_new_ids(self, world: World) -> None:
        world.trust()
        assert world.exchange(world.id_token(repository_id="1")).status_code == 200
        began, noted = int(time.time()), []
        for theirs, seconds in (("2", 0), ("2", 59), ("2", 60), ("3", 61)):
            clock = partial(float, began + seconds)
            asyncio.run(world._refused(world.id_token(repository_id=theirs), world.project_id, clock))
            (trust,) = world.person.get_json(f"/projects/{world.project_id}/trusts")["trusts"]
            noted.append((trust["refused_ids"]["repository_id"], trust["refused_at"] - began))
        assert noted == [("2", 0), ("2", 0), ("2", 60), ("3", 61)]


def test_token_of_a_pull_request_works_for_it_only(world: World) -> None:
    world.trust()
    with world.service.client(world.person.token(world.project_id)) as anyone:
        others = upload(anyone, pr_number="8").json()["id"]
    with world.job(ref="refs/pull/7/merge") as client:
        own = upload(client, pr_number="7").json()["id"]
        for reply in (
            upload(client, pr_number="8"),
            client.get("/v1/comment", params={"pr_number": 8}),
            client.get("/v1/comment", params={"pr_number": 8, "limit": 5000}),
            client.post("/v1/expire", json={"pr_number": 8}),
        ):
            assert reply.status_code == 403
            assert reply.json()["error"].startswith("this token is for pull request 7 only")
        hidden = client.delete(f"/v1/images/{others}")
        assert (hidden.status_code, hidden.json()) == (404, {"error": "not found"})
        assert upload(client, pr_number="x").json() == {"error": "pr_number required"}
        assert client.get("/v1/comment", params={"pr_number": 7}).status_code == 200
        assert client.delete(f"/v1/images/{own}").status_code == 200
        assert client.post("/v1/expire", json={"pr_number": 7}).status_code == 200


def test_a_job_sets_only_the_repository_that_its_trust_names(world: World) -> None:
    """Links lead there, and four eyes compares logins at its forge."""
    trust_id = world.trust()
    named = f"https://github.com/{world.repository}"
    with world.job(ref="refs/pull/7/merge") as client:
        upload(client, pr_number="7")
        others = ("https://github.com/octo/other", "https://github.com/octo", f"{named}/sub", f"{named}*")
        for repository in (*others, named, "https://github.com/octo/late"):
            described = {"pr_number": 7, "repository": repository, "title": repository}
            assert client.post("/v1/pull", json=described).status_code == 200
            shown = world.person.get_json(f"/projects/{world.project_id}/pulls/7")
            assert shown["title"] == repository
            stored = world.person.get_json(f"/projects/{world.project_id}")["repository"]
            assert stored == ("" if repository in others else named)
    (entry,) = changes_in_the_log(world)
    assert (entry["details"], entry["actor"]["kind"]) == ({"repository": f" → {named}"}, "token")

    with world.service.client(world.person.token(world.person.project())) as client:
        upload(client, pr_number="7")
        assert client.post("/v1/pull", json={"pr_number": 8, "repository": named}).status_code == 404
        assert client.post("/v1/pull", json={"pr_number": 7, "repository": named}).status_code == 200
    assert [each["details"] for each in changes_in_the_log(world)] == [entry["details"]] * 2
    assert trust_id


def changes_in_the_log(world: World) -> list[dict[str, Any]]:
    path = f"/organizations/{world.person.organization_id}/audit?action=project.changed"
    entries: list[dict[str, Any]] = world.person.get_json(path)["entries"]
    return entries


PUSH_TO_MAIN = {"ref": "refs/heads/main", "event_name": "push"}
PUSH_TO_FIX = {"ref": "refs/heads/fix", "event_name": "push"}
PULL_REQUEST_7 = {"ref": "refs/pull/7/merge", "event_name": "pull_request"}
MERGE_REQUEST = {"ref": "fix", "ref_type": "branch", "pipeline_source": "merge_request_event"}
MOVE_FIX = {"branch": "fix", "repository": "", "from_fork": False}


class TestBaselines:
    def test_job_writes_baselines_of_its_branch_only(self, world: World) -> None:
        world.trust(ref="refs/heads/*")
        with world.job(**PUSH_TO_MAIN) as client:
            assert upload(client, path="/v1/baseline", branch="main").status_code == 200
            other = upload(client, path="/v1/baseline", branch="next")
        assert (other.status_code, other.json()["error"]) == (
            403,
            "this token can write baselines of 'main' only, which its job runs for; got 'next'",
        )

    def test_trust_without_a_ref_cannot_write_or_delete_baselines(self, world: World) -> None:
        world.trust()
        with world.service.client(world.person.token(world.project_id)) as anyone:
            baseline = upload(anyone, path="/v1/baseline", branch="main").json()["id"]
        with world.job(**PUSH_TO_MAIN) as client:
            reply = upload(client, path="/v1/baseline", branch="main")
            assert reply.status_code == 403
            assert "add a `ref` to the trust" in reply.json()["error"]
            assert client.delete(f"/v1/images/{baseline}").status_code == 404

    def test_job_of_a_pull_request_never_writes_baselines(self, world: World) -> None:
        world.trust(ref="refs/*")
        with world.job(**PULL_REQUEST_7) as client:
            reply = upload(client, path="/v1/baseline", branch="main")
            assert reply.status_code == 403
            assert reply.json() == {"error": "a job of a pull request cannot write baselines"}
            commit = {"branch": "main", "commit_sha": SHA}
            known = client.post("/v1/baseline/known", json=commit | {"shots": []})
            complete = client.post("/v1/baseline/complete", json=commit)
            assert [known.status_code, complete.status_code] == [403, 403]
            assert client.post("/v1/compare", json=commit | {"pr_number": 8}).status_code == 403
            merged = {"pr_number": 7, "merged_as": SHA, "branch": "main"}
            assert client.post("/v1/expire", json=merged).json()["baselines"] == 0


class TestStaged:
    def test_a_job_of_a_branch_stages_for_its_branch_only(self, world: World) -> None:
        world.trust(ref="refs/heads/*")
        with world.job(**PUSH_TO_FIX) as client:
            assert upload(client, path="/v1/staged", branch="fix").status_code == 200
            other = upload(client, path="/v1/staged", branch="main")
            assert (other.status_code, other.json()["error"]) == (
                403,
                "this token can stage images of 'fix' only, which its job runs for; got 'main'",
            )
            assert len(client.get("/v1/staged?branch=fix").json()["staged"]) == 1
            assert client.get("/v1/staged?branch=main").status_code == 403
            url = {"name": "cart", "viewport": "1x1", "commit_sha": SHA, "content_type": "image/png"}
            replies = [client.post("/v1/put-urls", json=url | {"branch": name}) for name in ("fix", "main")]
            assert [reply.status_code for reply in replies] == [200, 403]

    def test_a_job_of_a_pull_request_moves_to_its_own_and_never_stages(self, world: World) -> None:
        world.trust(ref="refs/*")
        with world.job(**PUSH_TO_FIX) as client:
            assert upload(client, path="/v1/staged", branch="fix").status_code == 200
        with world.job(**PULL_REQUEST_7) as client:
            refused = upload(client, path="/v1/staged", branch="fix")
            assert refused.status_code == 403
            assert refused.json() == {"error": "a job of a pull request cannot stage images"}
            assert client.get("/v1/staged?branch=fix").status_code == 403
            assert client.post("/v1/staged/move", json=MOVE_FIX | {"pr_number": 8}).status_code == 403
            moved = client.post("/v1/staged/move", json=MOVE_FIX | {"pr_number": 7})
            assert moved.json()["moved"] == 1

    def test_a_move_is_bound_to_the_signed_head_branch(self, world: World) -> None:
        world.trust()
        with world.service.client(world.person.token(world.project_id)) as anyone:
            upload(anyone, path="/v1/staged", branch="fix")
        for claims in (
            PULL_REQUEST_7 | {"head_ref": "other"},
            MERGE_REQUEST | {"ref": "other"},
            PUSH_TO_MAIN,
        ):
            with world.job(**claims) as client:
                refused = client.post("/v1/staged/move", json=MOVE_FIX | {"pr_number": 7})
                assert refused.status_code == 403
                assert refused.json()["error"].startswith("this token can move staged images of ")
        with world.job(**MERGE_REQUEST) as client:
            # The issuer didn't sign the number, so the job can move its branch's images to any of them.
            assert client.post("/v1/staged/move", json=MOVE_FIX | {"pr_number": 9}).json()["moved"] == 1


SHOT = {"name": "cart", "viewport": "1x1", "commit_sha": SHA}
AT_SECRET = {"branch": "secret", "commit_sha": SHA}
BY_PULL_REQUEST: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "POST /v1/upload": partial(upload, pr_number=8),
    "POST /v1/upload/known": lambda client: client.post(
        "/v1/upload/known", json={"pr_number": 8, "commit_sha": SHA, "shots": []}
    ),
    "POST /v1/put-urls": lambda client: client.post(
        "/v1/put-urls", json=SHOT | {"content_type": "image/png", "pr_number": 8}
    ),
    "POST /v1/staged/move": lambda client: client.post("/v1/staged/move", json=MOVE_FIX | {"pr_number": 8}),
    "GET /v1/comment": lambda client: client.get("/v1/comment?pr_number=8"),
    "POST /v1/expire": lambda client: client.post("/v1/expire", json={"pr_number": 8}),
    "POST /v1/pull": lambda client: client.post("/v1/pull", json={"pr_number": 8}),
    "GET /v1/gate": lambda client: client.get("/v1/gate?pr_number=8"),
    "POST /v1/gate": lambda client: client.post(
        "/v1/gate", json={"pr_number": 8, "commit_sha": "a" * 40, "skip": "no pages"}
    ),
    "POST /v1/reject": lambda client: client.post("/v1/reject", json={"pr_number": 8, "pairs": []}),
    "POST /v1/compare": lambda client: client.post("/v1/compare", json=AT_SECRET | {"pr_number": 8}),
    "GET /v1/compare": lambda client: client.get("/v1/compare?pr_number=8"),
}
"""How each route reaches another pull request than the job's."""
BY_BRANCH: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "POST /v1/baseline": partial(upload, path="/v1/baseline", branch="secret"),
    "POST /v1/baseline/known": lambda client: client.post(
        "/v1/baseline/known", json=AT_SECRET | {"shots": []}
    ),
    "POST /v1/baseline/complete": lambda client: client.post("/v1/baseline/complete", json=AT_SECRET),
    "POST /v1/staged": partial(upload, path="/v1/staged", branch="secret"),
    "GET /v1/staged": lambda client: client.get("/v1/staged?branch=secret"),
    "POST /v1/staged/move": lambda client: client.post(
        "/v1/staged/move", json=MOVE_FIX | {"branch": "secret", "pr_number": 7}
    ),
    "POST /v1/put-urls": lambda client: client.post(
        "/v1/put-urls", json=SHOT | {"content_type": "image/png", "branch": "secret"}
    ),
}
"""How each route reaches another branch than the job's. A comparison may have any branch as its base."""
BY_IMAGE = {"DELETE /v1/images/{image_id}"}
WITHOUT_TOKEN = {"GET /v1/limits", "POST /v1/oidc/token", "PUT /v1/put/{secret}"}


@pytest.fixture(scope="module")
def jobs(shared_service: Service, ci_issuer: CiIssuer) -> Iterator[dict[str, httpx.Client]]:
    with sign_in(shared_service) as person:
        world = World(shared_service, ci_issuer, person)
        world.trust(ref="refs/*")
        with (
            world.service.client(person.token(world.project_id)) as anyone,
            world.job(**PULL_REQUEST_7, head_ref="fix") as pull_request,
            world.job(**PUSH_TO_FIX) as branch,
        ):
            yield {"anyone": anyone, "pull request": pull_request, "branch": branch}


class TestEveryRoute:
    """A job reaches nothing of another pull request or branch, through any route that takes a token."""

    def test_every_route_has_a_case(self) -> None:
        api: Any = bare_api()
        routes = {
            f"{method} {route.path}"
            for route in api._app.routes
            for method in route.methods - {"HEAD"}
            if route.path.startswith("/v1/")
        }
        assert routes == {*BY_PULL_REQUEST, *BY_BRANCH, *BY_IMAGE, *WITHOUT_TOKEN}

    @pytest.mark.parametrize("route", BY_PULL_REQUEST)
    def test_another_pull_request(self, jobs: dict[str, httpx.Client], route: str) -> None:
        reply = BY_PULL_REQUEST[route](jobs["pull request"])
        assert (reply.status_code, reply.json()["error"]) == (
            403,
            "this token is for pull request 7 only, which its job runs for; got 8",
        )

    @pytest.mark.parametrize("route", BY_BRANCH)
    def test_another_branch(self, jobs: dict[str, httpx.Client], route: str) -> None:
        for job in ("pull request", "branch"):
            assert BY_BRANCH[route](jobs[job]).status_code == 403

    def test_images_of_another_branch_or_pull_request(self, jobs: dict[str, httpx.Client]) -> None:
        same = png()
        targets: tuple[dict[str, object], ...] = (
            {"path": "/v1/baseline", "branch": "secret"},
            {"path": "/v1/staged", "branch": "secret"},
        )
        theirs = [upload(jobs["anyone"], **target).json()["id"] for target in targets]
        pair = upload(jobs["anyone"], path="/v1/staged", branch="secret", before=png()).json()
        theirs += [pair["before_url"].rpartition("/")[2][:32]]
        # Two branches share this image. Deleting it would change both.
        shared = [
            upload(jobs["anyone"], same, path="/v1/baseline", branch=branch, name="shared").json()["id"]
            for branch in ("fix", "secret")
        ]
        assert shared[0] == shared[1]
        for image in [*theirs, shared[0]]:
            for job in ("pull request", "branch"):
                refused = jobs[job].delete(f"/v1/images/{image}")
                assert (refused.status_code, refused.json()) == (404, {"error": "not found"})
        other = upload(jobs["anyone"], pr_number=8).json()["id"]
        assert jobs["pull request"].delete(f"/v1/images/{other}").status_code == 404
        own = [upload(jobs["branch"], **target | {"branch": "fix"}).json()["id"] for target in targets]
        assert [jobs["branch"].delete(f"/v1/images/{image}").status_code for image in own] == [200, 200]


def test_an_invalid_id_token_is_refused_with_the_reason(world: World) -> None:
    world.trust()
    good = world.id_token()
    header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in good.split(".")[:2])
    for id_token, reason in (
        (world.id_token("https://elsewhere.example"), f"audience is not {world.service.base_url}"),
        (world.id_token(seconds=-120), "expired"),
        (f"{unsigned_part({'alg': 'none'})}.{unsigned_part(claims)}.", "unsupported_algorithm"),
        (_signed_by_somebody_else(header, claims), "bad_signature"),
        (_signed_by_somebody_else(header, claims | {"iss": "https://elsewhere.example"}), "not in PRSHOTS"),
        (_signed_by_somebody_else(header, claims | {"iss": ["x"]}), "not in PRSHOTS"),
        (_signed_by_somebody_else(header, claims | {"iss": UNTRUSTED_ISSUER}), "no project trusts"),
    ):
        line = world.refusal(id_token)
        assert reason in line, line
        assert f"repo:{world.repository}:pull_request" in line
    assert world.exchange(good).status_code == 200


@cache
def _somebody_else() -> RSAKey:
    return RSAKey.generate_key(2048)


def _signed_by_somebody_else(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return jws.serialize_compact(header, json.dumps(claims), _somebody_else())


def test_a_malformed_id_token_or_body_is_refused(world: World) -> None:
    for id_token in (None, 7, "a.b", "eyJ.eyJ.x", f"{unsigned_part({})}.{unsigned_part([])}.x", "x" * 17_000):
        assert "id_token" in world.refusal(id_token)
    assert "audience is not" in world.refusal(f"x.{unsigned_part({'iss': world.issuer.url})}.x")
    evil = {"iss": "x\n2026 [error] forged", "sub": "\x1b[31m" + "x" * 1000}
    assert "forged" in world.refusal(f"x.{unsigned_part(evil)}.x")
    for body in (b"", b"[]", b"\xff", b"[" * 60_000, b'{"id_token": "%s"}' % (b"x" * 70_000)):
        assert world.ask(content=body).status_code == 401
    assert world.person.get("/v1/oidc/token").status_code == 405


async def test_refusals_are_logged_with_the_reason_but_not_each_one(tmp_path: Path) -> None:
    database = open_database(tmp_path)
    known = "https://ci.example"
    exchange = TokenExchange(
        SqlTrusts(database), CiIssuers([known]), allowed=[known], audiences=["https://shots.example"]
    )
    app = ErrorBoundary(Router(keyless_routes(exchange, BodySlots(1))))
    transport = httpx.ASGITransport(app)  # type: ignore[arg-type]  # its scope may be any mapping
    async with httpx.AsyncClient(transport=transport, base_url="https://shots.example") as client:
        with structlog.testing.capture_logs() as lines:
            for number in range(60):
                for issuer in (known, f"https://{number}.example"):
                    claims = {"iss": issuer, "sub": f"job {number}", "aud": f"https://{number}.example"}
                    asked = {"id_token": f"x.{unsigned_part(claims)}.x", "project": str(number)}
                    assert (await client.post("/v1/oidc/token", json=asked)).status_code == 401
    await database.close()
    reasons = [line["reason"] for line in lines]
    assert sum("audience is not" in reason for reason in reasons) == LINES
    assert sum("not in PRSHOTS_TRUSTED_ISSUERS" in reason for reason in reasons) == LINES
    assert (lines[0]["event"], lines[0]["log_level"]) == ("keyless upload refused", "warning")
    assert (lines[0]["issuer"], lines[0]["subject"]) == (known, "job 0")


def test_an_issuer_that_does_not_answer_is_503(world: World) -> None:
    world.trust(issuer=SILENT_ISSUER)
    claims = JOB | {"iss": SILENT_ISSUER, "aud": world.service.base_url, "exp": int(time.time()) + 300}
    reply = world.exchange(_signed_by_somebody_else({"alg": "RS256", "kid": "k"}, claims))
    assert (reply.status_code, reply.json()) == (503, {"error": "issuer unavailable, retry later"})
    assert reply.headers["retry-after"] == "5"
    assert f"{SILENT_ISSUER.removeprefix('http://')} did not answer" in world.service.log


def test_token_exchanges_are_counted_by_result(world: World) -> None:
    def counted() -> dict[str, float]:
        text = world.issuer.client.get(f"{world.service.base_url}/metrics").text
        lines = [line.rpartition(" ") for line in text.splitlines() if "token_exchanges_total{" in line]
        return {name.split('"')[1]: float(value) for name, _, value in lines}

    before = counted()
    assert set(before) == {"granted", "refused", "unavailable"}
    world.trust()
    assert world.exchange(world.id_token()).status_code == 200
    assert world.exchange("nothing").status_code == 401
    after = wait_for(counted, lambda now: now["refused"] >= before["refused"] + 1)
    assert after["granted"] > before["granted"]


class TestTheDashboard:
    def test_dashboard_lists_trusts_and_trusted_issuers(self, world: World) -> None:
        first, second = world.trust(ref="refs/heads/main"), world.trust(environment="review")
        shown = world.person.get_json(f"/projects/{world.project_id}/trusts")["trusts"]
        assert {trust["id"] for trust in shown} == {first, second}
        (trust,) = [trust for trust in shown if trust["id"] == first]
        assert trust["created_at"] == pytest.approx(time.time(), abs=60)
        assert {name: trust[name] for name in ("issuer", "claims", "created_by", "last_used_at")} == {
            "issuer": world.issuer.url,
            "claims": {"repository": world.repository, "ref": "refs/heads/main"},
            "created_by": world.person.get_json("/me")["user"]["login"],
            "last_used_at": None,
        }
        issuers = world.person.get_json("/me")["service"]["trusted_issuers"]
        assert issuers[:2] == ["https://token.actions.githubusercontent.com", "https://gitlab.com"]
        assert world.issuer.url in issuers

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({"issuer": 7}, "issuer is required"),
            ({"issuer": "https://gitlab.com", "claims": ["x"]}, "claims is required"),
            ({"issuer": "https://gitlab.com", "claims": {"project_path": 7}}, "project_path is required"),
            ({"issuer": "https://gitlab.com", "claims": {"ref": "main"}}, "must name the repository"),
            ({"issuer": "http://169.254.169.254", "claims": {"sub": "x"}}, "PRSHOTS_TRUSTED_ISSUERS"),
        ],
    )
    def test_dashboard_refuses_an_invalid_trust_with_the_reason(
        self, world: World, body: dict[str, Any], words: str
    ) -> None:
        reply = world.person.ask("POST", f"/projects/{world.project_id}/trusts", **body)
        assert reply.status_code == 400
        assert words in reply.json()["error"]
        assert world.person.get_json(f"/projects/{world.project_id}/trusts") == {"trusts": []}
