"""Every dashboard route as a visitor, a stranger, a member and an owner, and from another site."""

import json
import secrets
from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest

from prshots.server.api.dashboard import webhooks
from prshots.server.api.dashboard.routes import ROUTES
from support.drawn_pages import drawn_page, sha
from support.http_server import answering, as_json
from support.project_client import Project
from support.service import Service, upload
from support.signed_in_people import Person, sign_in

CLAIMS = {"project_path": "team/web"}
CART = {"name": "cart", "viewport": "320x240", "commit_sha": sha("2")}
BEFORE, AFTER = drawn_page(), drawn_page(button="#d70022")
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
DELETE_ORGANIZATION = ("DELETE", "/organizations/{organization_id}")
JOIN = ("POST", "/organizations/{organization_id}/members")
INVITE = ("POST", "/organizations/{organization_id}/invitations")
TOKENS_OF_MEMBER = ("GET", "/organizations/{organization_id}/members/{member_id}/tokens")
CHANGE_MEMBER = ("PATCH", "/organizations/{organization_id}/members/{member_id}")
REMOVE_MEMBER = ("DELETE", "/organizations/{organization_id}/members/{member_id}")
DELETE_PROJECT = ("POST", "/projects/{project_id}/delete")
QUARANTINE = ("POST", "/projects/{project_id}/quarantines")
QUARANTINED = {"name": "home", "viewport": "320x240", "theme": "", "reason": "flaky font", "days": 3}
DECIDE = ("POST", "/projects/{project_id}/pulls/{pr_number}/decisions")
SHARE = ("POST", "/projects/{project_id}/pulls/{pr_number}/share-links")
CONNECT = ("PUT", "/projects/{project_id}/connection")
DISCONNECT = ("DELETE", "/projects/{project_id}/connection")
OF_MEMBER = {CHANGE_MEMBER, REMOVE_MEMBER, TOKENS_OF_MEMBER}
AUDIT = {("GET", f"/organizations/{{organization_id}}/audit{export}") for export in ("", "/export")}
WEBHOOKS = {(route.method, route.path) for route in webhooks.ROUTES}
ADD_WEBHOOK = ("POST", "/organizations/{organization_id}/webhooks")
CHANGE_WEBHOOK = ("PUT", "/organizations/{organization_id}/webhooks/{webhook_id}")
HOOK: dict[str, object] = {"url": "http://127.0.0.1:9/", "format": "slack", "events": ["gate"]}
OWNERS_ONLY = {
    *AUDIT,
    *WEBHOOKS,
    DELETE_PROJECT,
    DELETE_ORGANIZATION,
    INVITE,
    *OF_MEMBER,
    CONNECT,
    DISCONNECT,
}
BODIES: dict[tuple[str, str], dict[str, object]] = {
    ("POST", "/organizations"): {"name": "new"},
    ("POST", "/projects"): {"name": "new"},
    ("PATCH", "/projects/{project_id}"): {"retain_days": 9},
    DELETE_PROJECT: {"name": "theirs"},
    ("POST", "/projects/{project_id}/thumbnails"): {"ids": []},
    ("POST", "/projects/{project_id}/tokens"): {"label": "new"},
    ("POST", "/projects/{project_id}/trusts"): {
        "issuer": "https://gitlab.com",
        "claims": {"project_path": "team/new"},
    },
    QUARANTINE: QUARANTINED,
    INVITE: {"login": "somebody", "role": "maintainer"},
    CHANGE_MEMBER: {"role": "maintainer"},
    CONNECT: {"forge": "gitea", "url": "", "repository": "acme/shop", "token": "t0ken"},
    DECIDE: {"decision": "approved"},
    ADD_WEBHOOK: HOOK,
    CHANGE_WEBHOOK: HOOK,
    SHARE: {"days": 3},
}
NOWHERE = {
    "project_id": "0" * 16,
    "organization_id": "0" * 16,
    "image_id": "0" * 32,
    "token_id": "0" * 12,
    "trust_id": "0" * 12,
    "quarantine_id": "0" * 12,
    "share_link_id": "0" * 12,
    "member_id": "0" * 16,
    "webhook_id": "0" * 16,
    "delivery_id": "msg_0",
    "pr_number": "7",
}
ALL = [(route.method, route.path) for route in ROUTES]
CHANGING = [(method, path) for method, path in ALL if method != "GET"]
EVERY = pytest.mark.parametrize(("method", "path"), ALL, ids=map(" ".join, ALL))


class World(NamedTuple):
    """An organization with a project, an image, a token, a trust and a quarantine, and the people around it."""

    service: Service
    owner: Person
    member: Person
    stranger: Person
    places: dict[str, str]
    forge_url: str
    changed: dict[str, str]

    def ask(self, who: httpx.Client, method: str, path: str, **other: str) -> httpx.Response:
        body = dict(BODIES.get((method, path), {}))
        if (method, path) == ("POST", "/projects"):
            body |= {"organization_id": (self.places | other)["organization_id"]}
        if (method, path) == CONNECT:
            body |= {"url": self.forge_url}
        if (method, path) == ("POST", "/organizations"):
            body |= {"name": secrets.token_hex(4)}
        if (method, path) == DECIDE:
            body |= {"pairs": [self.changed]}
        url = f"/v1/dashboard{path.format(**(self.places | other))}"
        return who.request(method, url, json=body if method != "GET" else None)


@pytest.fixture(scope="module")
def people(shared_service: Service) -> Iterator[tuple[Person, Person, Person]]:
    """Sign in an owner, a member and a stranger. No route ends their sessions."""
    with (
        sign_in(shared_service) as owner,
        sign_in(shared_service) as member,
        sign_in(shared_service) as stranger,
    ):
        yield owner, member, stranger


@pytest.fixture(scope="module")
def forge_url() -> Iterator[str]:
    """Run a forge with every repository."""
    with answering(lambda *_: as_json(200, {})) as url:
        yield url


@pytest.fixture(scope="module")
def quiet_world(shared_service: Service, people: tuple[Person, Person, Person], forge_url: str) -> World:
    """Share one world between the tests that change nothing in it."""
    return _made(shared_service, people, forge_url)


@pytest.fixture
def world(
    request: pytest.FixtureRequest,
    shared_service: Service,
    people: tuple[Person, Person, Person],
    forge_url: str,
) -> World:
    """Make a separate world for each test that may change it."""
    if "method" in request.fixturenames and request.getfixturevalue("method") == "GET":
        found: World = request.getfixturevalue("quiet_world")
        return found
    return _made(shared_service, people, forge_url)


def _made(service: Service, people: tuple[Person, Person, Person], forge_url: str) -> World:
    owner, member, _ = people
    organization = owner.organization(member)
    project = owner.ask("POST", "/projects", name="theirs", organization_id=organization).json()["id"]
    token = owner.ask("POST", f"/projects/{project}/tokens", label="ci").json()
    trust = owner.ask(
        "POST", f"/projects/{project}/trusts", issuer="https://gitlab.com", claims=CLAIMS
    ).json()
    with service.client(token["secret"]) as client:
        project_client = Project(client)
        project_client.build("1", cart=BEFORE)
        image = upload(client, AFTER, **CART).json()["id"]
        (shot,) = project_client.compare("2", "1")["shots"]
        project_client.build("3", home=BEFORE)
    webhook = owner.ask("POST", ADD_WEBHOOK[1].format(organization_id=organization), **HOOK).json()["webhook"]
    hook_path = f"/organizations/{organization}/webhooks/{webhook['id']}"
    owner.ask("POST", f"{hook_path}/test")
    (delivery,) = owner.get_json(f"{hook_path}/deliveries")["deliveries"]
    quarantine = owner.ask("POST", QUARANTINE[1].format(project_id=project), **QUARANTINED).json()
    shared = owner.ask("POST", SHARE[1].format(project_id=project, pr_number=7)).json()["share_link"]
    places = {
        "project_id": project,
        "organization_id": organization,
        "image_id": image,
        "token_id": token["token"]["id"],
        "trust_id": trust["id"],
        "quarantine_id": quarantine["id"],
        "share_link_id": shared["id"],
        "member_id": member.user_id,
        "webhook_id": webhook["id"],
        "delivery_id": delivery["id"],
        "pr_number": "7",
    }
    return World(service, *people, places, forge_url, {key: shot[key] for key in PAIR})


def said(reply: httpx.Response) -> tuple[int, str, set[str]]:
    return reply.status_code, reply.text, set(reply.headers)


def untouched(world: World) -> None:
    """Check that nothing in the world has changed."""
    owner, places = world.owner, world.places
    project = owner.get_json(f"/projects/{places['project_id']}")
    assert (project["name"], project["images"], project["retain_days"]) == ("theirs", 3, None)
    compared = owner.get_json(f"/projects/{places['project_id']}/pulls/7/comparison")["comparison"]
    assert compared["gate"]["state"] == "waiting"
    (token,) = owner.get_json(f"/projects/{places['project_id']}/tokens")["tokens"]
    assert token["revoked_at"] is None
    assert owner.get_json(f"/projects/{places['project_id']}/connection") == {"connection": None}
    (webhook,) = owner.get_json(f"/organizations/{places['organization_id']}/webhooks")["webhooks"]
    assert (webhook["id"], webhook["old_secret_until"]) == (places["webhook_id"], None)
    (trust,) = owner.get_json(f"/projects/{places['project_id']}/trusts")["trusts"]
    assert trust["claims"] == CLAIMS
    (quarantine,) = owner.get_json(f"/projects/{places['project_id']}/quarantines")["quarantines"]
    assert (quarantine["id"], quarantine["reason"]) == (places["quarantine_id"], QUARANTINED["reason"])
    shared = owner.get_json(SHARE[1].format(**places))["share_links"]
    assert [(each["id"], each["ended_at"]) for each in shared] == [(places["share_link_id"], None)]
    members = owner.get_json(f"/organizations/{places['organization_id']}/members")["members"]
    assert {member["id"]: member["role"] for member in members} == {
        owner.user_id: "owner",
        world.member.user_id: "maintainer",
    }


def test_without_a_session_every_route_is_401(quiet_world: World) -> None:
    web_url = quiet_world.service.web_url
    with httpx.Client(base_url=web_url, headers={"Origin": web_url}) as nobody:
        for route in ALL:
            reply = quiet_world.ask(nobody, *route)
            assert (reply.status_code, reply.json()) == (401, {"error": "unauthorized"}), route
    untouched(quiet_world)


def test_a_stranger_gets_the_same_404_as_for_missing_things(quiet_world: World) -> None:
    """Another organization's things get exactly the same reply as things that do not exist."""
    for method, path in ALL:
        theirs = quiet_world.ask(quiet_world.stranger, method, path)
        nobodys = quiet_world.ask(quiet_world.stranger, method, path, **NOWHERE)
        if "{" in path or (method, path) == ("POST", "/projects"):
            assert said(theirs) == said(nobodys), (method, path)
            assert (theirs.status_code, theirs.json()) == (404, {"error": "not found"}), (method, path)
        elif method == "GET":
            assert "theirs" not in theirs.text
            assert quiet_world.places["organization_id"] not in theirs.text
    untouched(quiet_world)


@EVERY
def test_a_member_can_use_all_routes_except_the_owners(world: World, method: str, path: str) -> None:
    places = {}
    if (method, path) in OF_MEMBER:
        places["member_id"] = world.owner.user_id
    reply = world.ask(world.member, method, path, **places)
    if (method, path) == JOIN:
        assert reply.status_code == 404  # they are not invited again
    elif (method, path) in OWNERS_ONLY:
        assert reply.status_code == 403
        assert reply.json() == {"error": "only an owner of the organization may do this"}
        untouched(world)
    else:
        assert reply.status_code in {200, 201}, reply.text


@EVERY
def test_an_owner_can_use_every_route(world: World, method: str, path: str) -> None:
    if (method, path) in {INVITE, JOIN}:
        with sign_in(world.service, new := f"new-{secrets.token_hex(4)}") as invited:
            reply = world.owner.ask("POST", INVITE[1].format(**world.places), login=new, role="maintainer")
            if (method, path) == JOIN:
                reply = world.ask(invited, method, path)
    else:
        reply = world.ask(world.owner, method, path)
    if (method, path) == DELETE_ORGANIZATION:
        assert (reply.status_code, "still has projects" in reply.text) == (409, True)
    else:
        assert reply.status_code in {200, 201}, reply.text


def test_a_change_requested_from_another_site_is_403(quiet_world: World) -> None:
    web_url, owner = quiet_world.service.web_url, quiet_world.owner
    with httpx.Client(base_url=web_url, headers={"Cookie": owner.headers["Cookie"]}) as elsewhere:
        for method, path in CHANGING:
            for origin in (None, "https://evil.example", "null", "", f"{web_url}.evil.example", "x"):
                elsewhere.headers.pop("Origin", None)
                if origin is not None:
                    elsewhere.headers["Origin"] = origin
                reply = quiet_world.ask(elsewhere, method, path)
                assert reply.status_code == 403, (method, path, origin)
                assert reply.json() == {"error": "this request did not come from the dashboard"}
    untouched(quiet_world)


@pytest.mark.parametrize("what", ["image", "token", "trust", "quarantine"])
def test_an_image_token_trust_or_quarantine_is_404_under_another_project(world: World, what: str) -> None:
    """Each thing is found only under its own project."""
    other = world.owner.ask(
        "POST", "/projects", name="other", organization_id=world.places["organization_id"]
    ).json()["id"]
    reply = world.owner.ask("DELETE", f"/projects/{other}/{what}s/{world.places[f'{what}_id']}")
    assert (reply.status_code, reply.json()) == (404, {"error": "not found"})
    untouched(world)


def test_a_member_can_leave_and_loses_access_and_tokens(world: World) -> None:
    project = world.places["project_id"]
    token = world.member.token(project)
    path = f"/organizations/{world.places['organization_id']}/members/{world.member.user_id}"
    (listed,) = world.member.get_json(f"{path}/tokens")["tokens"]
    assert (listed["hint"], listed["project"]) == (f"msr_…{token[-4:]}", "theirs")
    assert world.member.ask("DELETE", f"{path}?keep_tokens=true").status_code == 403
    assert world.member.ask("DELETE", path).json() == {"ok": True}
    assert world.member.ask("GET", f"/projects/{project}").status_code == 404
    with world.service.client(token) as client:
        assert upload(client).status_code == 401


@pytest.mark.parametrize(("query", "status"), [("", 401), ("?keep_tokens=true", 200)])
def test_removing_a_member_revokes_their_tokens_unless_the_owner_keeps_them(
    world: World, query: str, status: int
) -> None:
    token = world.member.token(world.places["project_id"])
    path = f"/organizations/{world.places['organization_id']}/members/{world.member.user_id}"
    assert [each["label"] for each in world.owner.get_json(f"{path}/tokens")["tokens"]] == ["ci"]
    assert world.owner.ask("DELETE", path + query).json() == {"ok": True}
    assert world.member.ask("DELETE", path).status_code == 404  # they can't revoke a token that was kept
    with world.service.client(token) as client:
        assert upload(client).status_code == status


HOSTILE: tuple[object, ...] = (
    "\ud800",
    "\0",
    "x" * 50_000,
    10**400,
    -(2**63),
    float("nan"),
    True,
    [[["\ud800"]]],
    {"\ud800": "x"},
    {"x\0": {"y": ["\0"]}},
)
NESTED = b'{"name": ' + b"[" * 30_000 + b"]" * 30_000 + b"}"


@pytest.mark.parametrize(("method", "path"), BODIES, ids=map(" ".join, BODIES))
def test_hostile_values_in_any_field_are_refused(quiet_world: World, method: str, path: str) -> None:
    owner, places = quiet_world.owner, quiet_world.places
    url = f"/v1/dashboard{path.format(**places)}"
    good = BODIES[method, path]
    if path == "/projects":
        good = good | {"organization_id": places["organization_id"]}
    bodies = [good | {field: value} for field in good for value in HOSTILE]
    bodies += [{"issuer": "https://gitlab.com", "claims": {name: "x"}} for name in ("\ud800", "\0")]
    for body in bodies:
        reply = owner.request(method, url, content=json.dumps(body))
        assert 400 <= reply.status_code < 500, (body, reply.text)
        assert set(reply.json()) == {"error"}
    assert owner.request(method, url, content=NESTED).status_code == 400
    untouched(quiet_world)


def test_hostile_values_in_the_address_are_refused(quiet_world: World) -> None:
    nul = dict.fromkeys(quiet_world.places, "%00")
    for method, path in ALL:
        if "{" in path:
            reply = quiet_world.owner.request(method, f"/v1/dashboard{path.format(**nul)}", content="{}")
            assert reply.status_code == 404, (method, path, reply.text)
        if method == "GET":
            url = f"/v1/dashboard{path.format(**quiet_world.places)}"
            for name in ("q", "after", "name", "viewport", "state", "policy", "retain_days", "days", "%00"):
                for value in ("x%00y", "%ED%A0%80"):
                    reply = quiet_world.owner.get(f"{url}?{name}={value}")
                    assert reply.status_code < 500, (path, name, value, reply.text)
