"""The audit log: every act has its entry, and only owners read it."""

import json
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from support.drawn_pages import drawn_page, sha
from support.http_server import answering, as_json
from support.project_client import Project
from support.service import Service, upload
from support.signed_in_people import Person, sign_in

PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
CLAIMS = {"project_path": "team/web"}
NOTE = "as\u2028agreed\u2029with\x85ann"
"""A text that `splitlines()` takes for four lines."""


class Place:
    """An organization with an owner and a project, and its log."""

    def __init__(self, service: Service, owner: Person) -> None:
        self.service, self.owner = service, owner
        self.organization_id = owner.organization()
        made = owner.ask("POST", "/projects", name="shop", organization_id=self.organization_id)
        self.project_id: str = made.json()["id"]

    def entries(self, query: str = "") -> list[dict[str, Any]]:
        """Return the entries, oldest first."""
        path = f"/organizations/{self.organization_id}/audit{query}"
        entries: list[dict[str, Any]] = self.owner.get_json(path)["entries"]
        return entries[::-1]

    def exported(self, query: str = "") -> list[dict[str, Any]]:
        """Return the entries of the export, newest first."""
        path = f"/v1/dashboard/organizations/{self.organization_id}/audit/export{query}"
        return [json.loads(line) for line in self.owner.get(path).text.splitlines()]

    def newest(self) -> dict[str, Any]:
        return self.entries()[-1]

    def ask(self, method: str, path: str, **body: Any) -> Any:
        reply = self.owner.ask(method, f"/projects/{self.project_id}{path}", **body)
        assert reply.status_code in {200, 201}, reply.text
        return reply.json()


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service, f"owner-{secrets.token_hex(4)}") as owner:
        yield owner


@pytest.fixture
def place(shared_service: Service, owner: Person) -> Place:
    return Place(shared_service, owner)


def test_acts_on_a_project_are_recorded_with_who_what_and_where(place: Place) -> None:
    token = place.ask("POST", "/tokens", label="ci")
    place.ask("DELETE", f"/tokens/{token['token']['id']}")
    trust = place.ask("POST", "/trusts", issuer="https://gitlab.com", claims=CLAIMS)
    place.ask("DELETE", f"/trusts/{trust['id']}/pins")
    place.ask("DELETE", f"/trusts/{trust['id']}")
    place.ask("PATCH", "", retain_days=7, name="store")
    place.ask("PATCH", "", retain_days=7)  # changes nothing
    place.ask("POST", "/delete", name="store")

    entries = place.entries()
    hint = token["token"]["hint"]
    assert [(entry["action"], entry["target"], entry["project"]) for entry in entries[1:]] == [
        ("project.created", "shop", "shop"),
        ("token.created", f"ci ({hint})", "shop"),
        ("token.revoked", f"ci ({hint})", "shop"),
        ("trust.added", "https://gitlab.com", "shop"),
        ("trust.unpinned", "https://gitlab.com", "shop"),
        ("trust.removed", "https://gitlab.com", "shop"),
        ("project.changed", "store", "store"),
        ("project.deleted", "", "store"),
    ]
    assert entries[-2]["details"] == {"name": "shop → store", "retain_days": "none → 7"}
    login = place.owner.get_json("/me")["user"]["login"]
    assert {tuple(entry["actor"].values()) for entry in entries} == {("person", login, "127.0.0.1")}
    assert token["secret"] not in json.dumps(entries)


def test_acts_on_members_are_recorded(place: Place) -> None:
    path = f"/organizations/{place.organization_id}"
    with sign_in(place.service, f"mem-{secrets.token_hex(4)}") as member:
        login = member.get_json("/me")["user"]["login"]
        invite = {"login": login, "role": "viewer"}
        assert place.owner.ask("POST", f"{path}/invitations", **invite).status_code == 201
        assert place.owner.ask("DELETE", f"{path}/members/{member.user_id}").status_code == 200
        assert place.owner.ask("POST", f"{path}/invitations", **invite).status_code == 201
        assert member.ask("POST", f"{path}/members").status_code == 201
        for role in ("reviewer", "reviewer"):
            place.owner.ask("PATCH", f"{path}/members/{member.user_id}", role=role)
        assert member.ask("DELETE", f"{path}/members/{member.user_id}").status_code == 200
    entries = place.entries("?action=member") + place.entries("?action=invitation.withdrawn")
    assert [(entry["action"], entry["actor"]["name"] == login, entry["target"]) for entry in entries] == [
        ("member.invited", False, login),
        ("member.invited", False, login),
        ("member.joined", True, login),
        ("member.role_changed", False, login),
        ("member.removed", True, login),
        ("invitation.withdrawn", False, login),
    ]
    assert entries[3]["details"] == {"role": "viewer → reviewer"}


def test_decisions_quarantine_and_deletes_are_recorded(place: Place) -> None:
    secret = place.ask("POST", "/tokens", label="ci")["secret"]
    with place.service.client(secret) as client:
        project = Project(client)
        project.build("1", home=drawn_page())
        image = {"name": "home", "viewport": "320x240", "commit_sha": sha("2")}
        uploaded = upload(client, drawn_page(button="#d70022"), **image).json()["id"]
        (shot,) = project.compare("2", "1")["shots"]
        pair = {key: shot[key] for key in PAIR}
        place.ask("POST", "/pulls/7/decisions", decision="approved", pairs=[pair], note=NOTE)
        assert client.post("/v1/reject", json={"pr_number": 7, "pairs": [pair]}).status_code == 200
        where = {"name": "home", "viewport": "320x240", "theme": ""}
        started = place.ask("POST", "/quarantines", **where, reason="flaky", days=3)
        place.ask("DELETE", f"/quarantines/{started['id']}")
        place.ask("DELETE", f"/images/{uploaded}")
        upload(client, drawn_page(), **image)
        for _ in range(2):  # the second changes nothing
            assert client.post("/v1/expire", json={"pr_number": 7}).status_code == 200
        upload(client, drawn_page(), **image)
        place.ask("POST", "/pulls/7/expire")
    entries = place.entries()[3:]
    login = place.owner.get_json("/me")["user"]["login"]
    assert [(entry["actor"]["name"], entry["action"], entry["target"]) for entry in entries] == [
        (login, "decision.made", "#7"),
        ("ci", "decision.made", "#7"),
        (login, "quarantine.started", "home 320x240"),
        (login, "quarantine.ended", "home 320x240"),
        (login, "image.deleted", "home"),
        ("ci", "pull_request.closed", "#7"),
        (login, "pull_request.deleted", "#7"),
    ]
    about = {"commit_sha": sha("2"), "pairs": "1", "names": "home"}
    assert entries[0]["details"] == {"decision": "approved", "note": NOTE, **about}
    assert entries[1]["actor"]["kind"] == "token"
    deleted = {"image_id": uploaded, "pr_number": "7", "commit_sha": sha("2")}
    assert entries[4]["details"] == {**deleted, "viewport": "320x240", "theme": ""}
    numbers = [entry["pr_number"] for entry in place.exported()[::-1][3:]]
    assert numbers == [7, 7, None, None, 7, 7, 7]

    approved = place.exported("?action=decision")[1]
    assert approved["details"]["shots"] == [pair]
    assert (approved["pr_number"], approved["details"]["note"]) == (7, NOTE)
    assert "decision.made" in place.service.log
    assert pair["pixels_after"] not in place.service.log  # there can be too many shots for a line
    acts = [entry["action"] for entry in entries]
    printed = place.service.run(
        "audit", "--json-lines", "--pr", "7", "--target", "#7", "--actor", login
    ).stdout
    assert [json.loads(line)["details"].get("note") for line in printed.splitlines()][-1] == NOTE
    assert [each["action"] for each in place.entries("?pr_number=7")] == [acts[i] for i in (0, 1, 4, 5, 6)]
    assert place.entries("?pr_number=8") == []
    assert [each["target"] for each in place.entries("?target=HOME")] == ["home"]
    assert len(place.exported("?target=home&pr_number=7")) == 1
    assert len(place.entries("?target=%237&pr_number=000000007")) == 4


def test_connections_are_recorded_without_their_token(place: Place) -> None:
    with answering(lambda *_: as_json(200, {})) as forge_url:
        body = {"forge": "gitea", "url": forge_url, "repository": "acme/shop", "token": "t0p-secret"}
        place.ask("PUT", "/connection", **body)
    place.ask("DELETE", "/connection")
    entries = place.entries("?action=connection")
    assert [(entry["action"], entry["target"]) for entry in entries] == [
        ("connection.set", "acme/shop"),
        ("connection.removed", "acme/shop"),
    ]
    assert "t0p-secret" not in place.owner.get(export_path(place)).text


def test_references_do_not_count_as_deleted_images(place: Place) -> None:
    secret = place.ask("POST", "/tokens", label="ci")["secret"]
    with place.service.client(secret) as client:
        project = Project(client)
        project.build("1", home=drawn_page())
        project.push("2", cart=drawn_page(button="#d70022"))
        assert project.known("2", home=drawn_page())["missing"] == []
        listed = place.ask("GET", "/pulls/7/images?name=home&viewport=320x240")["images"]
        place.ask("DELETE", f"/images/{listed[0]['id']}")
        assert project.known("3", home=drawn_page(), cart=drawn_page(button="#d70022"))["missing"] == []
        project.expire()
    place.ask("POST", "/delete", name="shop")
    entries = [(entry["action"], entry["details"]) for entry in place.exported()]
    assert dict(entries)["pull_request.closed"] == {"images": 1}
    deleted = [details for action, details in entries if action == "image.deleted"]
    assert deleted[0] == {"images": 1}  # the baseline, with the project
    assert (deleted[1]["image_id"], len(deleted[1]["source_id"])) == (listed[0]["id"], 32)  # its image stays
    assert len(deleted) == 2


def test_another_author_of_a_pull_request_is_recorded(place: Place) -> None:
    secret = place.ask("POST", "/tokens", label="ci")["secret"]
    with place.service.client(secret) as client:
        Project(client).push("1", home=drawn_page())
        for author in ("ann", "", "ann", "bob"):
            reply = client.post("/v1/pull", json={"pr_number": 7, "author": author, "title": "t"})
            assert reply.status_code == 200, reply.text
    (entry,) = place.entries("?action=pull_request")
    assert (entry["action"], entry["target"]) == ("pull_request.author_changed", "#7")
    assert (entry["actor"]["name"], entry["details"]) == ("ci", {"author": "ann → bob"})


def export_path(place: Place, query: str = "") -> str:
    return f"/v1/dashboard/organizations/{place.organization_id}/audit/export{query}"


def test_entries_can_be_filtered_paged_and_exported(place: Place) -> None:
    for number in range(61):
        place.ask("POST", "/tokens", label=f"n{number}")
    path = f"/organizations/{place.organization_id}/audit"
    first = place.owner.get_json(path)
    second = place.owner.get_json(f"{path}?after={first['next']}")
    seqs = [entry["seq"] for entry in first["entries"] + second["entries"]]
    assert len(seqs) == 63
    assert seqs == sorted(set(seqs), reverse=True)
    assert second["next"] is None

    login = place.owner.get_json("/me")["user"]["login"]
    assert [entry["action"] for entry in place.entries("?action=project")] == ["project.created"]
    assert len(place.entries(f"?actor={login.upper()}&action=project.created")) == 1
    assert place.entries("?actor=somebody") == []
    assert place.entries("?action=tok") == []
    assert place.entries("?until=2000-01-01") == place.entries("?since=2100-01-01") == []
    assert len(place.entries(f"?project_id={place.project_id}&since=2000-01-01&until=2100-01-01")) == 60
    for bad in (
        "since=yesterday",
        "until=2026-02-30",
        "since=2026-01-01T00:00",
        "until=9999-12-31",
        "since=0001-01-01",
    ):
        reply = place.owner.ask("GET", f"{path}?{bad}")
        assert reply.status_code == 400
        assert "must be a date such as 2026-01-31" in reply.json()["error"]

    for bad in ("x", "-1", "1.5", "9" * 10, "%EF%BC%97"):
        reply = place.owner.ask("GET", f"{path}?pr_number={bad}")
        assert (reply.status_code, reply.json()["error"]) == (400, "pr_number must be a whole number")
    exported = place.owner.get(export_path(place, "?action=token"))
    assert exported.headers["content-type"] == "application/jsonl"
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert len(lines) == 61
    assert lines[0]["details"]["id"]
    assert (lines[0]["action"], lines[0]["organization_id"]) == ("token.created", place.organization_id)
    assert place.owner.head(export_path(place)).status_code == 200


def test_the_log_stays_after_its_organizations_projects_and_the_operator_reads_everything(
    place: Place,
) -> None:
    place.ask("POST", "/delete", name="shop")
    name = next(
        each["name"]
        for each in place.owner.get_json("/me")["organizations"]
        if each["id"] == place.organization_id
    )
    assert place.owner.ask("DELETE", f"/organizations/{place.organization_id}").status_code == 200
    assert place.owner.ask("GET", f"/organizations/{place.organization_id}/audit").status_code == 404
    lines = place.service.run("audit", "--json-lines").stdout.splitlines()
    entries = [json.loads(line) for line in lines]
    about = [entry for entry in entries if entry["organization_id"] == place.organization_id]
    assert [entry["action"] for entry in about] == [
        "project.deleted",
        "project.created",
        "organization.created",
    ]
    assert ("organization.deleted", name) in {(entry["action"], entry["target"]) for entry in entries}


def test_the_operator_reads_the_log_of_the_installation(place: Place) -> None:
    code = place.service.run("login-link").stdout.strip().partition("#")[2]
    link = place.service.run(
        "audit", "--json-lines", "--action", "sign_in_link", "--target", "operator"
    ).stdout
    assert json.loads(link.splitlines()[0])["actor"]["kind"] == "operator"
    assert code not in link
    with httpx.Client(base_url=place.service.web_url, headers={"Origin": place.service.web_url}) as operator:
        assert operator.post("/auth/link", json={"code": code}).status_code == 200
        name = f"gone-{secrets.token_hex(4)}"
        made = place.owner.ask("POST", "/organizations", name=name).json()["id"]
        assert place.owner.ask("DELETE", f"/organizations/{made}").status_code == 200
        newest = operator.get("/v1/dashboard/installation/audit").json()["entries"][0]
        assert (newest["action"], newest["target"]) == ("organization.deleted", name)
        exported = operator.get("/v1/dashboard/installation/audit/export?action=organization").text
        assert json.loads(exported.splitlines()[0])["organization_id"] == ""
    assert place.owner.ask("GET", "/installation/audit").status_code == 404
    joined = place.service.run(
        "audit", "--json-lines", "--organization", "local", "--action", "member.joined"
    )
    entries = [json.loads(line) for line in joined.stdout.splitlines()]
    assert {each["actor"]["name"] for each in entries if each["target"] == "operator"} == {"operator"}


def test_the_operators_commands_are_recorded_as_theirs(place: Place) -> None:
    name = f"cli-{secrets.token_hex(4)}"
    place.service.run("project", "create", name)
    table = place.service.run(
        "audit", "--organization", "local", "--action", "project", "--limit", "1"
    ).stdout
    assert name in table
    local = ("audit", "--json-lines", "--organization", "local")
    line = place.service.run(*local, "--action", "project").stdout
    assert json.loads(line.splitlines()[0])["actor"]["kind"] == "operator"
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    found = place.service.run(*local, "--project", name, "--since", today, "--until", today).stdout
    assert [json.loads(line)["project"] for line in found.splitlines()] == [name]
    for nothing in (("--until", "2026-01-31"), ("--pr", "7"), ("--target", f"{name}x")):
        assert place.service.run(*local, "--project", name, *nothing).stdout == ""
    assert (
        "no organization 'nowhere'"
        in place.service.run("audit", "--organization", "nowhere", check=False).stderr
    )


def test_the_address_comes_from_trusted_proxies_only(place: Place) -> None:
    path = f"/v1/dashboard/projects/{place.project_id}/tokens"
    given = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}
    place.owner.post(path, json={"label": "x"}, headers=given)
    assert place.newest()["actor"]["address"] == "198.51.100.7"  # what the last proxy we trust saw
    place.owner.post(path, json={"label": "x"}, headers={"X-Forwarded-For": "<script>"})
    assert place.newest()["actor"]["address"] == "127.0.0.1"
    place.owner.post(path, json={"label": "x"}, headers={"X-Forwarded-For": f"fe80::1%{'x' * 99}"})
    assert place.newest()["actor"]["address"] == "fe80::1"


def test_entries_are_logged_after_the_commit(place: Place) -> None:
    label = secrets.token_hex(8)
    place.ask("POST", "/tokens", label=label)
    lines = [line for line in place.service.log.splitlines() if "audit" in line and label in line]
    assert len(lines) == 1
    assert "token.created" in lines[0]


def test_a_refused_act_leaves_no_entry(place: Place) -> None:
    count = len(place.entries())
    assert place.owner.ask("PATCH", f"/projects/{place.project_id}", retain_days=-1).status_code == 400
    assert place.owner.ask("DELETE", f"/projects/{place.project_id}/tokens/{'0' * 12}").status_code == 404
    with httpx.Client(base_url=place.service.web_url) as stranger:
        assert stranger.delete(f"/v1/dashboard/projects/{place.project_id}/tokens/x").status_code in {
            401,
            403,
        }
    assert len(place.entries()) == count
