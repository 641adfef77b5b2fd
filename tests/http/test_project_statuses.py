"""Several projects in one repository: one check for the pull request, one for each project."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from prshots.contract.comments import Marker
from support.drawn_pages import drawn_page, sha
from support.project_client import Project
from support.service import Service
from support.signed_in_people import Person, sign_in

PLAIN, RED, BLUE = drawn_page(), drawn_page(button="#d70022"), drawn_page(button="#0022d7")
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")


class Monorepo:
    """The projects `mobile` and `web` of a repository, with the same baselines."""

    def __init__(self, service: Service, owner: Person, opened: ExitStack) -> None:
        self.service, self.owner, self.opened = service, owner, opened
        self.ids: dict[str, str] = {}

    def add(self, name: str) -> Project:
        self.ids[name] = self.owner.project(name)
        client = self.opened.enter_context(self.service.client(self.owner.token(self.ids[name])))
        project = Project(client)
        project.build("1", cart=PLAIN, home=PLAIN)
        return project

    def push(self, project: Project, commit: str, repository: str, **shots: bytes) -> dict[str, Any]:
        project.push(commit, **shots)
        described = {"pr_number": 7, "repository": repository}
        assert project.client.post("/v1/pull", json=described).status_code == 200
        return project.compare(commit, "1")

    def path(self, name: str) -> str:
        return f"/projects/{self.ids[name]}/pulls/7/comparison"

    def page(self, name: str) -> Any:
        """Return what the pull request's page in the dashboard shows."""
        return self.owner.get_json(self.path(name))

    def shared(self, name: str) -> Any:
        """Return what a share link to the pull request shows."""
        made = self.owner.ask("POST", f"/projects/{self.ids[name]}/pulls/7/share-links").json()
        secret = made["url"].partition("#")[2]
        url = f"{self.service.web_url}/v1/shared/changes"
        return httpx.get(url, headers={"Authorization": f"Share {secret}"}).json()

    def approve(self, name: str, found: dict[str, Any]) -> httpx.Response:
        pairs = [{key: shot[key] for key in PAIR} for shot in found["shots"] if shot["verdict"] == "changed"]
        body = {"decision": "approved", "pairs": pairs}
        return self.owner.ask("POST", f"/projects/{self.ids[name]}/pulls/7/decisions", **body)


@pytest.fixture
def monorepo(shared_service: Service) -> Iterator[Monorepo]:
    with ExitStack() as opened:
        yield Monorepo(shared_service, opened.enter_context(sign_in(shared_service)), opened)


def statuses(project: Project) -> dict[str, tuple[str, str]]:
    gate = project.client.get("/v1/gate", params={"pr_number": 7}).json()
    return {each["context"]: (each["state"], each["description"]) for each in gate["statuses"]}


def test_the_check_of_the_pull_request_is_never_green_over_a_sibling(monorepo: Monorepo) -> None:
    web, mobile = monorepo.add("web"), monorepo.add("mobile")
    found = monorepo.push(web, "2", "https://git.example/Acme/Shop", cart=RED, home=RED)
    waits = {"context": "prshots", "state": "pending", "description": "2 screenshots to review"}
    assert found["gate"]["statuses"] == [waits]
    assert web.comment("changes").splitlines()[2].startswith("### 2 screenshots: 2 changed")

    passed = monorepo.push(mobile, "2", "https://git.example/acme/shop", cart=PLAIN, home=PLAIN)
    assert passed["gate"]["state"] == "passed"
    waiting = {
        "prshots/mobile": ("success", "Nothing is left to review"),
        "prshots/web": ("pending", "2 screenshots to review"),
        "prshots": ("pending", "web: 2 screenshots to review"),
    }
    assert statuses(web) == statuses(mobile) == waiting
    for name, project in (("web", web), ("mobile", mobile)):
        reply = project.client.get("/v1/comment", params={"pr_number": 7, "view": "changes"}).json()
        lines = reply["markdown"].splitlines()
        assert lines[:2] == ["<!-- svc:pr-7 -->", f"<!-- prshots:{monorepo.ids[name]} -->"]
        assert (reply["siblings"], lines[2]) == (1, reply["heading"])
        assert reply["heading"].startswith(f"### {name}: 2 screenshots: 2 ")

    of_web, of_mobile = monorepo.page("web"), monorepo.page("mobile")
    assert of_web["siblings"] == [
        {"id": monorepo.ids["mobile"], "name": "mobile", "gate": {"state": "passed", "open": 0, "reason": ""}}
    ]
    assert [(each["name"], each["gate"]["open"]) for each in of_mobile["siblings"]] == [("web", 2)]
    shared = json.dumps(monorepo.shared("web"))
    assert not any(each in shared for each in ("mobile", monorepo.ids["mobile"], "siblings", "statuses"))

    etag = monorepo.owner.ask("GET", monorepo.path("mobile")).headers["ETag"]
    assert monorepo.approve("web", found).status_code == 200
    changed = monorepo.owner.get(
        f"/v1/dashboard{monorepo.path('mobile')}", headers={"If-None-Match": etag}
    ).json()
    assert changed["siblings"][0]["gate"]["state"] == "passed"
    assert {state for state, _ in statuses(mobile).values()} == {"success"}


def test_a_sibling_blocks_a_commit_that_it_has_neither_compared_nor_skipped(monorepo: Monorepo) -> None:
    repository = "https://git.example/acme/blocks"
    web, mobile = monorepo.add("web"), monorepo.add("mobile")
    monorepo.push(web, "2", repository, cart=PLAIN, home=PLAIN)
    monorepo.push(mobile, "2", repository, cart=PLAIN, home=PLAIN)
    monorepo.push(mobile, "3", repository, cart=PLAIN, home=PLAIN)
    unseen = "The newest commit is not compared yet"
    assert statuses(mobile)["prshots/web"] == ("pending", unseen)
    assert statuses(mobile)["prshots"] == ("pending", f"web: {unseen}")

    body = {"pr_number": 7, "commit_sha": sha("3"), "skip": "no web pages changed"}
    skipped = web.client.post("/v1/gate", json=body).json()
    assert (skipped["state"], skipped["commit_sha"]) == ("passed", sha("3"))
    assert {each["context"]: each["state"] for each in skipped["statuses"]} == dict.fromkeys(
        ("prshots/mobile", "prshots/web", "prshots"), "success"
    )
    assert {state for state, _ in statuses(mobile).values()} == {"success"}
    monorepo.push(web, "3", repository, cart=RED, home=PLAIN)
    assert statuses(mobile)["prshots"] == ("pending", "web: 1 screenshot to review")


def test_a_skipped_run_does_not_pass_for_its_siblings(monorepo: Monorepo) -> None:
    repository = "https://git.example/acme/skips"
    web, mobile = monorepo.add("web"), monorepo.add("mobile")
    monorepo.push(web, "2", repository, cart=RED, home=PLAIN)
    assert mobile.client.get("/v1/gate", params={"pr_number": 7}).json()["reason"] == "not_compared"
    monorepo.owner.ask("PATCH", f"/projects/{monorepo.ids['mobile']}", repository=repository)
    body = {"pr_number": 7, "commit_sha": sha("2"), "skip": "docs only"}
    skipped = mobile.client.post("/v1/gate", json=body).json()
    found = {each["context"]: (each["state"], each["description"]) for each in skipped["statuses"]}
    assert found["prshots/mobile"] == ("success", "Skipped: docs only")
    assert found["prshots"] == ("pending", "web: 1 screenshot to review")
    assert "prshots/web" not in found  # alone, web would never renew it
    over_changes = web.client.post("/v1/gate", json=body).json()
    assert [each["state"] for each in over_changes["statuses"]] == ["pending"]
    for bad in ({}, {"skip": ""}, {"skip": 7}):
        refused = mobile.client.post("/v1/gate", json={"pr_number": 7, "commit_sha": sha("2")} | bad)
        assert (refused.status_code, refused.json()["error"].partition(":")[0]) == (
            400,
            "skip must be a string",
        )


def test_projects_of_other_organizations_or_pull_requests_are_no_siblings(
    monorepo: Monorepo, shared_service: Service
) -> None:
    repository = "https://git.example/acme/alone"
    web, other_pull = monorepo.add("web"), monorepo.add("mobile")
    other_pull.pr_number = 8
    other_pull.push("2", cart=RED)
    other_pull.client.post("/v1/pull", json={"pr_number": 8, "repository": repository})
    other_pull.compare("2", "1")
    with sign_in(shared_service) as stranger, ExitStack() as opened:
        theirs = Monorepo(shared_service, stranger, opened)
        theirs.push(theirs.add("evil"), "2", repository, cart=RED)
        found = monorepo.push(web, "2", repository, cart=PLAIN, home=PLAIN)
        assert [each["context"] for each in found["gate"]["statuses"]] == ["prshots"]
        assert statuses(web) == {"prshots": ("success", "Nothing is left to review")}


def test_unreadable_screenshots_are_named_first(monorepo: Monorepo) -> None:
    web = monorepo.add("web")
    broken = RED[: len(RED) // 2]
    found = monorepo.push(web, "2", "https://git.example/acme/broken", cart=broken, home=broken)
    words = "2 screenshots can't be read: cart 320x240, home 320x240. Take them again."
    assert (found["state"], found["gate"]["state"], found["gate"]["reason"]) == (
        "compared",
        "blocked",
        "failed",
    )
    assert found["gate"]["statuses"] == [{"context": "prshots", "state": "failure", "description": words}]
    for marker in Marker:
        asked = {"pr_number": 7, "view": "changes", "marker": marker.value}
        comment = web.client.get("/v1/comment", params=asked).json()["markdown"]
        heading, below = comment.partition("### ")[2].split("\n\n")[:2]
        assert (heading.partition(":")[0], below) == ("2 screenshots", f"**Blocked**: {words}"), comment
        assert comment.count("cannot be decoded") == 2
        assert "comparison failed" not in comment.lower()
    page = monorepo.page("web")["comparison"]
    assert (page["blocked"], page["unreadable"]) == (words, words)
    assert [shot["reason"].partition(":")[0] for shot in page["shots"]] == ["cannot be decoded"] * 2
    assert monorepo.shared("web")["comparison"]["blocked"] == words


def test_comment_names_a_base_outside_the_history_and_asks_for_a_decision(monorepo: Monorepo) -> None:
    web = monorepo.add("web")
    web.push("2", cart=RED, home=PLAIN)
    found = web.compare("2")
    assert [shot["ancestor"] for shot in found["shots"]] == [False, False]
    assert (found["gate"]["state"], found["gate"]["open"]) == ("waiting", 1)
    comment = web.comment("changes")
    assert "compared with the newest of `main`" in comment
    assert "because the job listed no commit that has them" in comment
    assert "**Waiting**" in comment
    assert "Passed" not in comment
