"""Every dashboard route as a visitor, a stranger and a member in each role, and from another site."""

import contextlib
import json
import secrets
import socket
from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest

from prshots.server.api.dashboard.routes import ROUTES
from prshots.server.domain.projects.models import Role
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
CREATE_PROJECT = ("POST", "/projects")
QUARANTINE = ("POST", "/projects/{project_id}/quarantines")
QUARANTINED = {"name": "home", "viewport": "320x240", "theme": "", "reason": "flaky font", "days": 3}
DECIDE = ("POST", "/projects/{project_id}/pulls/{pr_number}/decisions")
LINK = ("POST", "/organizations/{organization_id}/invitation-links")
JOIN_BY_LINK = [("POST", "/join/offer"), ("POST", "/join")]
GROUP = "rights/testers"
NAME_GROUP = ("POST", "/organizations/{organization_id}/groups")
FORGET_GROUP = ("DELETE", NAME_GROUP[1])
SHARE = ("POST", "/projects/{project_id}/pulls/{pr_number}/share-links")
CONNECT = ("PUT", "/projects/{project_id}/connection")
ADD_WEBHOOK = ("POST", "/organizations/{organization_id}/webhooks")
HOOK: dict[str, object] = {"url": "http://127.0.0.1:9/", "format": "slack", "events": ["gate"]}
EVERYONE = """
GET    /me
GET    /projects
POST   /organizations
POST   /organizations/{organization_id}/members
POST   /join/offer
POST   /join
"""
"""What everyone who is signed in can call. The last three need an invitation, or a link's secret."""

OPERATORS = """
GET    /installation/audit
GET    /installation/audit/export
GET    /installation/organizations
PATCH  /installation/organizations/{organization_id}
GET    /installation/organizations/{organization_id}/projects
PATCH  /installation/projects/{project_id}
"""
"""What only the operator can call: see test_quotas.py."""

NEEDED_ROLES = {
    Role.VIEWER: """
GET    /organizations/{organization_id}/members
GET    /organizations/{organization_id}/invitations
GET    /organizations/{organization_id}/quotas
GET    /organizations/{organization_id}/usage
GET    /projects/{project_id}/quotas
GET    /projects/{project_id}
GET    /projects/{project_id}/would-expire
GET    /projects/{project_id}/usage
GET    /projects/{project_id}/outbox
GET    /projects/{project_id}/connection
GET    /projects/{project_id}/pulls
GET    /projects/{project_id}/pulls/{pr_number}
GET    /projects/{project_id}/pulls/{pr_number}/comparison
GET    /projects/{project_id}/pulls/{pr_number}/comment
GET    /projects/{project_id}/pulls/{pr_number}/shots
GET    /projects/{project_id}/pulls/{pr_number}/images
GET    /projects/{project_id}/pulls/{pr_number}/zip
GET    /projects/{project_id}/pulls/{pr_number}/share-links
GET    /projects/{project_id}/staged
GET    /projects/{project_id}/baselines
GET    /projects/{project_id}/baselines/images
GET    /projects/{project_id}/baselines/history
GET    /projects/{project_id}/noise
GET    /projects/{project_id}/quarantines
POST   /projects/{project_id}/thumbnails
""",
    Role.REVIEWER: """
POST   /projects/{project_id}/pulls/{pr_number}/decisions
POST   /projects/{project_id}/quarantines
DELETE /projects/{project_id}/quarantines/{quarantine_id}
""",
    Role.MAINTAINER: """
POST   /projects
PATCH  /projects/{project_id}
POST   /projects/{project_id}/pulls/{pr_number}/share-links
DELETE /projects/{project_id}/pulls/{pr_number}/share-links/{share_link_id}
DELETE /projects/{project_id}/images/{image_id}
POST   /projects/{project_id}/pulls/{pr_number}/expire
GET    /projects/{project_id}/tokens
POST   /projects/{project_id}/tokens
DELETE /projects/{project_id}/tokens/{token_id}
GET    /projects/{project_id}/trusts
POST   /projects/{project_id}/trusts
DELETE /projects/{project_id}/trusts/{trust_id}/pins
DELETE /projects/{project_id}/trusts/{trust_id}
""",
    Role.OWNER: """
GET    /organizations/{organization_id}/audit
GET    /organizations/{organization_id}/audit/export
POST   /organizations/{organization_id}/invitations
GET    /organizations/{organization_id}/invitation-links
POST   /organizations/{organization_id}/invitation-links
DELETE /organizations/{organization_id}/invitation-links/{link_id}
GET    /organizations/{organization_id}/groups
POST   /organizations/{organization_id}/groups
DELETE /organizations/{organization_id}/groups
PATCH  /organizations/{organization_id}/members/{member_id}
DELETE /organizations/{organization_id}/members/{member_id}
GET    /organizations/{organization_id}/members/{member_id}/tokens
GET    /organizations/{organization_id}/webhooks
POST   /organizations/{organization_id}/webhooks
PUT    /organizations/{organization_id}/webhooks/{webhook_id}
POST   /organizations/{organization_id}/webhooks/{webhook_id}/secret
POST   /organizations/{organization_id}/webhooks/{webhook_id}/test
GET    /organizations/{organization_id}/webhooks/{webhook_id}/deliveries
GET    /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}
POST   /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}
DELETE /organizations/{organization_id}/webhooks/{webhook_id}
PUT    /projects/{project_id}/connection
DELETE /projects/{project_id}/connection
POST   /projects/{project_id}/delete
DELETE /organizations/{organization_id}
""",
}
"""The role that each route needs, written out so that a change doesn't go unnoticed. Called in this order, no route
removes what a later one needs."""

BODIES: dict[tuple[str, str], dict[str, object]] = {
    ("POST", "/organizations"): {"name": "new"},
    CREATE_PROJECT: {"name": "new"},
    ("PATCH", "/projects/{project_id}"): {"retain_days": 9},
    ("POST", "/projects/{project_id}/delete"): {"name": "theirs"},
    ("POST", "/projects/{project_id}/thumbnails"): {"ids": []},
    ("POST", "/projects/{project_id}/tokens"): {"label": "new", "expires_days": 30},
    ("POST", "/projects/{project_id}/trusts"): {
        "issuer": "https://gitlab.com",
        "claims": {"project_path": "team/new"},
    },
    QUARANTINE: QUARANTINED,
    INVITE: {"login": "somebody", "role": "maintainer"},
    ("PATCH", "/organizations/{organization_id}/members/{member_id}"): {"role": "reviewer"},
    CONNECT: {"forge": "gitea", "url": "", "repository": "acme/shop", "token": "t0ken"},
    DECIDE: {"decision": "approved"},
    LINK: {"role": "viewer"},
    **{key: {"code": "x" * 43} for key in JOIN_BY_LINK},
    NAME_GROUP: {"name": GROUP, "role": "reviewer"},
    ADD_WEBHOOK: HOOK,
    ("PUT", f"{ADD_WEBHOOK[1]}/{{webhook_id}}"): HOOK,
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
    "link_id": "0" * 12,
    "webhook_id": "0" * 16,
    "delivery_id": "msg_0",
    "pr_number": "7",
}


def _routes(listed: str) -> list[tuple[str, str]]:
    return [(method, path) for method, path in map(str.split, listed.strip().splitlines())]


ALL = [(route.method, route.path) for route in ROUTES]
NEEDED = {route: role for role, listed in NEEDED_ROLES.items() for route in _routes(listed)}
REFUSALS = {
    Role.REVIEWER: "only a reviewer, maintainer or owner of the organization may do this",
    Role.MAINTAINER: "only a maintainer or owner of the organization may do this",
    Role.OWNER: "only an owner of the organization may do this",
}
CHANGING = [(method, path) for method, path in ALL if method != "GET"]


class World(NamedTuple):
    """An organization with a project, an image, a token, a trust and a quarantine, and the people around it."""

    service: Service
    members: dict[Role, Person]
    stranger: Person
    places: dict[str, str]
    forge_url: str
    changed: dict[str, str]

    @property
    def owner(self) -> Person:
        return self.members[Role.OWNER]

    @property
    def maintainer(self) -> Person:
        return self.members[Role.MAINTAINER]

    def ask(self, who: httpx.Client, method: str, path: str, **other: str) -> httpx.Response:
        body = dict(BODIES.get((method, path), {}))
        if (method, path) == CREATE_PROJECT:
            body |= {"organization_id": (self.places | other)["organization_id"]}
        if (method, path) == CONNECT:
            body |= {"url": self.forge_url}
        if (method, path) == ("POST", "/organizations"):
            body |= {"name": secrets.token_hex(4)}
        if (method, path) == INVITE:
            body |= {"login": self.stranger.login}
        if (method, path) == DECIDE:
            body |= {"pairs": [self.changed]}
        if "code" in body:
            body |= {"code": other.get("code", body["code"])}
        url = f"/v1/dashboard{path.format(**(self.places | other))}"
        if (method, path) == FORGET_GROUP:
            url += f"?provider=github&name={GROUP}"
        return who.request(method, url, json=body if method != "GET" else None)


class People(NamedTuple):
    members: dict[Role, Person]
    stranger: Person


@pytest.fixture(scope="module")
def people(shared_service: Service) -> Iterator[People]:
    """Sign in a person for each role, and a stranger. No route ends their sessions."""
    with contextlib.ExitStack() as stack:
        members = {role: stack.enter_context(sign_in(shared_service, groups=[GROUP])) for role in Role}
        yield People(members, stack.enter_context(sign_in(shared_service)))


@pytest.fixture(scope="module")
def forge_url() -> Iterator[str]:
    """Run a forge with every repository."""
    with answering(lambda *_: as_json(200, {})) as url:
        yield url


@pytest.fixture(scope="module")
def quiet_world(shared_service: Service, people: People, forge_url: str) -> World:
    """Share one world with a member in each role between the tests that change nothing in it."""
    return _made(shared_service, people, forge_url)


@pytest.fixture
def world(shared_service: Service, people: People, forge_url: str) -> World:
    """Make a separate world with an owner and a maintainer for each test that may change it."""
    members = {role: people.members[role] for role in (Role.MAINTAINER, Role.OWNER)}
    return _made(shared_service, People(members, people.stranger), forge_url)


def _made(service: Service, people: People, forge_url: str) -> World:
    owner = people.members[Role.OWNER]
    organization = owner.organization()
    for role, member in people.members.items():
        if member is not owner:
            owner.add_member(organization, member, role)
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
    link = owner.ask("POST", LINK[1].format(organization_id=organization), role="viewer").json()
    named = owner.ask("POST", NAME_GROUP[1].format(organization_id=organization), name=GROUP, role="viewer")
    assert named.status_code == 201, named.text
    shared = owner.ask("POST", SHARE[1].format(project_id=project, pr_number=7)).json()["share_link"]
    places = {
        "project_id": project,
        "organization_id": organization,
        "image_id": image,
        "token_id": token["token"]["id"],
        "trust_id": trust["id"],
        "quarantine_id": quarantine["id"],
        "member_id": people.members[Role.MAINTAINER].user_id,
        "link_id": link["link"]["id"],
        "code": link["url"].partition("#")[2],
        "share_link_id": shared["id"],
        "webhook_id": webhook["id"],
        "delivery_id": delivery["id"],
        "pr_number": "7",
    }
    changed = {key: shot[key] for key in PAIR}
    return World(service, people.members, people.stranger, places, forge_url, changed)


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
        member.user_id: role for role, member in world.members.items()
    }
    path = f"/organizations/{places['organization_id']}/invitations"
    assert owner.get_json(path) == {"invitations": []}
    (link,) = owner.get_json(LINK[1].format(**places))["links"]
    assert link["id"] == places["link_id"]
    (group,) = owner.get_json(NAME_GROUP[1].format(**places))["groups"]
    assert (group["name"], group["role"]) == (GROUP, "viewer")


def test_every_route_says_which_role_it_needs() -> None:
    assert sorted([*NEEDED, *_routes(EVERYONE), *_routes(OPERATORS)]) == sorted(ALL)


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
        if "{" in path or (method, path) == CREATE_PROJECT:
            assert said(theirs) == said(nobodys), (method, path)
            assert (theirs.status_code, theirs.json()) == (404, {"error": "not found"}), (method, path)
        elif method == "GET":
            assert "theirs" not in theirs.text
            assert quiet_world.places["organization_id"] not in theirs.text
    untouched(quiet_world)


@pytest.mark.parametrize("role", Role)
def test_each_role_can_read_what_it_includes(quiet_world: World, role: Role) -> None:
    for route in {*NEEDED, *_routes(EVERYONE)}:
        if route[0] == "GET" and role.includes(NEEDED.get(route, Role.VIEWER)):
            reply = quiet_world.ask(quiet_world.members[role], *route)
            assert reply.status_code == 200, (route, reply.text)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.MAINTAINER])
def test_a_lower_role_than_needed_is_403_and_changes_nothing(quiet_world: World, role: Role) -> None:
    for route, needed in NEEDED.items():
        if not role.includes(needed):
            reply = quiet_world.ask(quiet_world.members[role], *route, member_id=quiet_world.owner.user_id)
            assert (reply.status_code, reply.json()["error"]) == (403, REFUSALS[needed]), route
    untouched(quiet_world)


def test_what_only_the_operator_can_call_is_404_even_for_an_owner(quiet_world: World) -> None:
    for route in _routes(OPERATORS):
        reply = quiet_world.ask(quiet_world.owner, *route)
        assert (reply.status_code, reply.json()) == (404, {"error": "not found"}), route


def test_the_needed_role_is_enough_for_each_change(
    shared_service: Service, people: People, forge_url: str
) -> None:
    world = _made(shared_service, people, forge_url)
    link = world.owner.ask("POST", LINK[1].format(**world.places), role="viewer").json()["url"]
    with sign_in(shared_service) as invited, sign_in(shared_service) as guest:
        world.owner.ask("POST", INVITE[1].format(**world.places), login=invited.login, role="viewer")
        who = {JOIN: invited} | dict.fromkeys(JOIN_BY_LINK, guest)
        for route in [*_routes(EVERYONE), *NEEDED]:
            if route in CHANGING:
                person = who.get(route, world.members[NEEDED.get(route, Role.OWNER)])
                reply = world.ask(person, *route, code=link.partition("#")[2])
                if route == DELETE_ORGANIZATION:
                    assert (reply.status_code, "still has projects" in reply.text) == (409, True)
                else:
                    assert reply.status_code in {200, 201}, (route, reply.text)


def test_a_member_cannot_join_again(quiet_world: World) -> None:
    for member in quiet_world.members.values():
        assert quiet_world.ask(member, *JOIN).status_code == 404
    untouched(quiet_world)


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
    token = world.maintainer.token(project)
    path = f"/organizations/{world.places['organization_id']}/members/{world.maintainer.user_id}"
    (listed,) = world.maintainer.get_json(f"{path}/tokens")["tokens"]
    assert (listed["hint"], listed["project"]) == (f"msr_…{token[-4:]}", "theirs")
    assert world.maintainer.ask("DELETE", f"{path}?keep_tokens=true").status_code == 403
    assert world.maintainer.ask("DELETE", path).json() == {"ok": True}
    assert world.maintainer.ask("GET", f"/projects/{project}").status_code == 404
    with world.service.client(token) as client:
        assert upload(client).status_code == 401


@pytest.mark.parametrize(("query", "status"), [("", 401), ("?keep_tokens=true", 200)])
def test_removing_a_member_revokes_their_tokens_unless_the_owner_keeps_them(
    world: World, query: str, status: int
) -> None:
    token = world.maintainer.token(world.places["project_id"])
    path = f"/organizations/{world.places['organization_id']}/members/{world.maintainer.user_id}"
    assert [each["label"] for each in world.owner.get_json(f"{path}/tokens")["tokens"]] == ["ci"]
    assert world.owner.ask("DELETE", path + query).json() == {"ok": True}
    assert world.maintainer.ask("DELETE", path).status_code == 404  # they can't revoke a token that was kept
    with world.service.client(token) as client:
        assert upload(client).status_code == status


@pytest.mark.parametrize("path", ["/projects/{project_id}/trusts", DECIDE[1], LINK[1]])
def test_somebody_removed_while_their_request_arrives_changes_nothing(world: World, path: str) -> None:
    """The server asks for the body once it has checked the rights for the first time."""
    service, maintainer = world.service, world.maintainer
    member = f"/organizations/{world.places['organization_id']}/members/{maintainer.user_id}"
    assert world.owner.ask("PATCH", member, role="owner").status_code == 200
    body = json.dumps(
        BODIES["POST", path] | ({"pairs": [world.changed]} if path == DECIDE[1] else {})
    ).encode()
    head = (
        f"POST /v1/dashboard{path.format(**world.places)} HTTP/1.1\r\nHost: localhost\r\n"
        f"Origin: {service.web_url}\r\nCookie: prshots_session={maintainer.session_cookie}\r\n"
        f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", service.api_port), timeout=30) as connection:
        connection.sendall(head.encode())
        assert b" 100 " in connection.recv(1000)
        assert world.owner.ask("DELETE", member).status_code == 200
        connection.sendall(body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 404 ")
    world.owner.add_member(world.places["organization_id"], maintainer)
    untouched(world)


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
