"""Share links: who makes them, what they show, and how they end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest

from support.drawn_pages import drawn_page, sha
from support.project_client import Project
from support.service import Service, upload
from support.signed_in_people import Person, sign_in

PLAIN, RED = drawn_page(), drawn_page(button="#d70022")
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
NOT_FOUND = (404, {"error": "not found"})
CHANGES = "/v1/shared/changes"
WEEK = 7 * 86_400
SECRET_NOTE = "the corner is ugly"


class Shared:
    """A project whose pull request changes the shot cart, which a person has rejected."""

    def __init__(self, service: Service, owner: Person) -> None:
        self.service, self.owner = service, owner
        self.id = owner.project()
        self.client = service.client(owner.token(self.id))
        self.project = Project(self.client)
        self.project.build("1", cart=PLAIN)
        self.project.push("2", cart=RED)
        (shot,) = self.project.compare("2", "1")["shots"]
        self.path = f"/projects/{self.id}/pulls/7"
        self.links = f"{self.path}/share-links"
        decision = {"decision": "rejected", "note": SECRET_NOTE, "pin": {"x": 0.5, "y": 0.5}}
        pairs = [{key: shot[key] for key in PAIR}]
        assert owner.ask("POST", f"{self.path}/decisions", pairs=pairs, **decision).status_code == 200

    def create(self, **body: Any) -> str:
        """Create a link, and return its secret."""
        reply = self.owner.ask("POST", self.links, **body)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["url"]).partition("#")[2]

    def open(self, secret: str, **headers: str) -> httpx.Response:
        """Open a link without a session."""
        return httpx.get(
            f"{self.service.web_url}{CHANGES}", headers={"Authorization": f"Share {secret}", **headers}
        )

    def states(self) -> list[str]:
        return [state(link) for link in self.owner.get_json(self.links)["share_links"]]


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture(scope="module")
def quiet(shared_service: Service, owner: Person) -> Iterator[Shared]:
    """Share one project between the tests that leave it as it is."""
    made = Shared(shared_service, owner)
    with closing(made.client):
        yield made


@pytest.fixture
def shared(shared_service: Service, owner: Person) -> Iterator[Shared]:
    made = Shared(shared_service, owner)
    with closing(made.client):
        yield made


def state(link: dict[str, Any]) -> str:
    if link["ended_at"] is None:
        return "active"
    return "revoked" if link["ended_by"] else "closed"


def said(reply: httpx.Response) -> tuple[int, Any]:
    return reply.status_code, reply.json()


def test_a_link_shows_the_changes_without_people_notes_and_the_project(quiet: Shared) -> None:
    made = quiet.owner.ask("POST", quiet.links).json()
    url, link = made["url"], made["share_link"]
    assert url.startswith(f"{quiet.service.web_url}/shared#")
    assert link["expires_at"] - link["created_at"] == WEEK
    login = quiet.owner.get_json("/me")["user"]["login"]
    assert (link["created_by"], state(link)) == (login, "active")
    reply = quiet.open(url.partition("#")[2])
    found = reply.json()
    assert set(found) == {"project", "pr_number", "title", "expires_at", "comparison"}
    in_dashboard = quiet.owner.get_json(f"{quiet.path}/comparison")["comparison"]
    (shot,) = in_dashboard["shots"]
    assert (shot["review"]["by"], shot["review"]["note"]) == (login, SECRET_NOTE)
    shot["review"] = {"state": "rejected", "by": "", "at": None, "note": "", "pin": None}
    shot["parts"] = [part | {"by": []} for part in shot["parts"]]
    assert found["comparison"] == in_dashboard
    for private in (login, SECRET_NOTE, quiet.id, quiet.owner.organization_id):
        assert private not in reply.text
    image = httpx.get(shot["after"]["url"])
    assert (image.status_code, image.content) == (200, RED)
    assert url.partition("#")[2] not in quiet.service.log


def test_replies_are_neither_stored_nor_indexed_and_repeat_only_after_a_change(shared: Shared) -> None:
    secret = shared.create()
    first = shared.open(secret)
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["x-robots-tag"] == "noindex, nofollow"
    again = shared.open(secret, **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-robots-tag"] == "noindex, nofollow"
    shared.project.push("3", home=RED)
    shared.project.compare("3", "1")
    newer = shared.open(secret, **{"If-None-Match": first.headers["etag"]})
    assert newer.json()["comparison"]["commit_sha"] == sha("3")


def test_the_page_is_not_indexed_and_sends_no_address(shared_service: Service) -> None:
    for path in ("/shared", "/shared?tab=changes"):
        page = httpx.get(f"{shared_service.web_url}{path}")
        assert page.headers["x-robots-tag"] == "noindex, nofollow"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert httpx.get(shared_service.web_url).headers["referrer-policy"] == "same-origin"


HEADERS = ("", "Share", "Share x", "Share " + "A" * 43, "Bearer {}", "Basic {}", "Share {}x", "{}")
HEADERS += ("Share {},Share {}", "Share {} {}", "Share \u00e9", "Share " + "x" * 20_000)


def test_wrong_secrets_get_one_and_the_same_404(quiet: Shared) -> None:
    secret = quiet.create()
    url = f"{quiet.service.web_url}{CHANGES}"
    given = [header.replace("{}", secret) for header in HEADERS]
    requests = [{"Authorization": header.encode()} if header else {} for header in given]
    with httpx.Client() as client:
        replies = [client.get(url, headers=headers) for headers in requests]
        replies.append(client.get(url, headers=[("Authorization", f"Share {secret}")] * 2))
        replies.append(client.get(f"{url}?secret={secret}"))
    assert [said(reply) for reply in replies] == [NOT_FOUND] * len(replies)
    assert {reply.headers["cache-control"] for reply in replies} == {"no-store"}


def test_other_days_are_refused(quiet: Shared) -> None:
    for days in (0, 31, -1, 1.5, "7", True, [], 10**400):
        reply = quiet.owner.ask("POST", quiet.links, days=days)
        assert said(reply) == (400, {"error": "days must be a whole number from 1 to 30"}), days


def test_a_link_ends_when_somebody_revokes_it(shared: Shared) -> None:
    secrets = [shared.create(days=days) for days in (1, 30)]
    newest, oldest = shared.owner.get_json(shared.links)["share_links"]
    days = {(each["expires_at"] - each["created_at"]) // 86_400 for each in (newest, oldest)}
    assert days == {1, 30}
    address = f"{shared.links}/{newest['id']}"
    other = shared.owner.project()
    for elsewhere in (f"/projects/{shared.id}/pulls/8/share-links", f"/projects/{other}/pulls/7/share-links"):
        assert said(shared.owner.ask("DELETE", f"{elsewhere}/{newest['id']}")) == NOT_FOUND
        assert said(shared.owner.ask("POST", elsewhere)) == NOT_FOUND
    assert sorted(shared.open(secret).status_code for secret in secrets) == [200, 200]
    assert said(shared.owner.ask("DELETE", address)) == (200, {"ok": True})
    assert said(shared.owner.ask("DELETE", address)) == NOT_FOUND
    assert sorted(shared.open(secret).status_code for secret in secrets) == [200, 404]
    assert shared.states() == ["active", "revoked"]
    acts = shared.owner.get_json(f"/organizations/{shared.owner.organization_id}/audit?action=share_link")
    about = [(each["action"], each["target"], each["details"]) for each in acts["entries"]][:3]
    assert about[0] == ("share_link.revoked", "#7", {"id": newest["id"]})
    assert {act[0] for act in about[1:]} == {"share_link.created"}


def test_closing_a_pull_request_ends_its_links_for_good(shared: Shared) -> None:
    secret = shared.create()
    shared.project.expire()
    assert said(shared.open(secret)) == NOT_FOUND
    refused = shared.owner.ask("POST", shared.links)
    assert refused.status_code == 409
    assert "the pull request is closed" in refused.json()["error"]
    shared.project.push("3", cart=RED)  # reopens it
    assert said(shared.open(secret)) == NOT_FOUND
    assert shared.open(shared.create()).status_code == 200
    assert shared.states() == ["active", "closed"]


def test_deleting_the_screenshots_or_the_project_ends_the_links(shared: Shared) -> None:
    secret = shared.create()
    assert shared.owner.ask("POST", f"{shared.path}/expire").status_code == 200
    assert said(shared.open(secret)) == NOT_FOUND
    assert shared.states() == ["closed"]
    secret, name = shared.create(), shared.owner.get_json(f"/projects/{shared.id}")["name"]
    assert shared.open(secret).json()["comparison"] is None
    assert shared.owner.ask("POST", f"/projects/{shared.id}/delete", name=name).status_code == 200
    assert said(shared.open(secret)) == NOT_FOUND


def test_a_link_opens_nothing_else(quiet: Shared) -> None:
    secret = quiet.create()
    routes = [("POST", CHANGES), ("PUT", CHANGES), ("DELETE", CHANGES)]
    routes += [("GET", f"/v1/dashboard{quiet.path}"), ("POST", f"/v1/dashboard{quiet.path}/decisions")]
    routes += [("GET", "/v1/dashboard/me"), ("POST", f"/v1/dashboard/projects/{quiet.id}/thumbnails")]
    routes += [("GET", "/v1/comment?pr_number=7"), ("POST", "/v1/reject"), ("POST", "/v1/upload")]
    headers = {"Origin": quiet.service.web_url, "Cookie": f"prshots_session={secret}"}
    with httpx.Client(base_url=quiet.service.web_url, headers=headers) as client:
        for scheme in ("Share", "Bearer"):
            for method, path in routes:
                reply = client.request(method, path, headers={"Authorization": f"{scheme} {secret}"})
                assert reply.status_code == (405 if path == CHANGES else 401), (method, path, scheme)
        signed_in = client.post("/auth/link", json={"code": secret})
        assert signed_in.status_code != 200
    with quiet.service.client(secret) as ci:
        assert upload(ci).status_code == 401
    assert quiet.open(secret).status_code == 200


def test_a_pull_request_has_at_most_50_active_links_even_if_created_at_once(shared: Shared) -> None:
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: shared.owner.ask("POST", shared.links, days=1), range(60)))
    assert sorted(reply.status_code for reply in replies) == [201] * 50 + [409] * 10
    (refused,) = {reply.json()["error"] for reply in replies if reply.status_code == 409}
    assert refused == "50 share links of this pull request are active: revoke one first"


@pytest.mark.slow
def test_no_link_survives_a_close_that_races_with_its_creation(shared: Shared) -> None:
    """The link is created before the close and ended by it, or it is refused. An upload reopens afterwards."""
    for commit in range(3, 9):
        with ThreadPoolExecutor(9) as threads:
            creating = [threads.submit(shared.owner.ask, "POST", shared.links, days=1) for _ in range(8)]
            threads.submit(shared.project.expire).result()
            replies = [each.result() for each in creating]
        made = [reply.json()["url"].partition("#")[2] for reply in replies if reply.status_code == 201]
        assert {reply.status_code for reply in replies} <= {201, 409}
        shared.project.push(str(commit), cart=RED)
        assert [shared.open(secret).status_code for secret in made] == [404] * len(made)
    assert "active" not in shared.states()
