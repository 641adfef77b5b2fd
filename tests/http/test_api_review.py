"""Decisions about compared pairs: who can make them, what they are about, and what follows for the gate."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from support.drawn_pages import drawn_page
from support.project_client import Project
from support.service import Service
from support.signed_in_people import Person, sign_in

PLAIN, RED, BLUE = drawn_page(), drawn_page(button="#d70022"), drawn_page(button="#0022d7")
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
CHANGED = {"error": "changed since you looked"}


class Reviewed:
    """A project with the changed shots cart and home, and the person who owns it."""

    def __init__(self, service: Service, owner: Person) -> None:
        self.owner = owner
        self.id = owner.project()
        self.client = service.client(owner.token(self.id))
        self.project = Project(self.client)
        self.project.build("1", cart=PLAIN, home=PLAIN)
        self.push("2", cart=RED, home=RED)

    def push(self, commit: str, **shots: bytes) -> None:
        self.project.push(commit, **shots)
        self.found = self.project.compare(commit, "1")

    def pairs(self, *names: str) -> list[dict[str, str]]:
        return [{key: shot[key] for key in PAIR} for shot in self.found["shots"] if shot["name"] in names]

    def parts(self, group: str, *names: str) -> list[dict[str, Any]]:
        """Return what the page sends about a group: the boxes of its part of each shot."""
        return [
            {key: shot[key] for key in PAIR}
            | {side: [shot[side][index] for index in part[side]] for side in ("regions", "gone")}
            for shot in self.latest()["shots"]
            for part in shot["parts"]
            if part["group"] == group and shot["name"] in names
        ]

    def part_reviews(self, name: str) -> list[tuple[str, list[str]]]:
        (shot,) = (shot for shot in self.latest()["shots"] if shot["name"] == name)
        return [(part["review"], part["by"]) for part in shot["parts"]]

    def decide(self, decision: str, *names: str, **more: object) -> httpx.Response:
        body = {"decision": decision, "pairs": self.pairs(*names)} | more
        return self.owner.ask("POST", f"/projects/{self.id}/pulls/7/decisions", **body)

    def reject(self, *names: str, **more: object) -> httpx.Response:
        body = {"pr_number": 7, "pairs": self.pairs(*names)} | more
        return self.client.post("/v1/reject", json=body)

    def latest(self) -> dict[str, Any]:
        return dict(self.client.get("/v1/compare", params={"pr_number": 7}).json())

    def gate(self) -> tuple[str, int, str]:
        gate = self.latest()["gate"]
        return gate["state"], gate["open"], gate["reason"]

    def reviews(self) -> dict[str, dict[str, Any]]:
        return {shot["name"]: shot["review"] for shot in self.latest()["shots"]}


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture
def reviewed(shared_service: Service, owner: Person) -> Iterator[Reviewed]:
    made = Reviewed(shared_service, owner)
    yield made
    made.client.close()


def test_a_person_approves_rejects_and_withdraws(reviewed: Reviewed) -> None:
    assert reviewed.gate() == ("waiting", 2, "")
    login = reviewed.owner.get_json("/me")["user"]["login"]
    assert reviewed.decide("approved", "cart").json() == {
        "decided": 1,
        "gate": {"state": "waiting", "open": 1, "reason": ""},
    }
    pin = {"x": 0.41, "y": 0.2}
    reply = reviewed.decide("rejected", "home", note="Too bright.\nUse the token.", pin=pin)
    assert reply.json()["gate"] == {"state": "rejected", "open": 0, "reason": ""}
    cart, home = reviewed.reviews()["cart"], reviewed.reviews()["home"]
    assert (cart["state"], cart["by"], cart["note"], cart["pin"]) == ("approved", login, "", None)
    assert (home["state"], home["note"], home["pin"]) == ("rejected", "Too bright.\nUse the token.", pin)
    assert home["at"] >= cart["at"] > 1_700_000_000
    assert reviewed.decide("approved", "home").json()["gate"]["state"] == "passed"
    assert reviewed.decide("withdrawn", "home", "cart").json()["gate"]["open"] == 2
    assert reviewed.reviews()["cart"] == {"state": "open", "by": "", "at": None, "note": "", "pin": None}


def test_a_token_rejects_and_never_approves(reviewed: Reviewed) -> None:
    reviewed.decide("approved", "cart", "home")
    for decision in ("approved", "rejected", None):
        assert reviewed.reject("cart", decision=decision).status_code == 400
    assert reviewed.gate()[0] == "passed"
    reply = reviewed.reject("cart", note="The agent saw an overlap")
    assert reply.json() == {"decided": 1, "gate": {"state": "rejected", "open": 0, "reason": ""}}
    review = reviewed.reviews()["cart"]
    assert (review["state"], review["by"]) == ("rejected", "token ci")
    url = f"/v1/dashboard/projects/{reviewed.id}/pulls/7/decisions"
    asked = {"decision": "approved", "pairs": reviewed.pairs("cart")}
    assert reviewed.client.post(url, json=asked).status_code in {401, 403}
    assert reviewed.gate()[0] == "rejected"


def test_a_pair_that_changed_meanwhile_refuses_the_whole_decision(reviewed: Reviewed) -> None:
    seen = reviewed.pairs("cart", "home")
    reviewed.push("3", cart=BLUE, home=RED)
    for reply in (reviewed.decide("approved", pairs=seen), reviewed.reject(pairs=seen)):
        assert (reply.status_code, reply.json()) == (409, CHANGED)
    assert {name: review["state"] for name, review in reviewed.reviews().items()} == {
        "cart": "open",
        "home": "open",
    }


def test_a_note_about_an_earlier_picture_is_outdated(reviewed: Reviewed) -> None:
    reviewed.decide("rejected", "cart", note="Too red")
    assert reviewed.latest()["outdated_notes"] == []
    reviewed.push("3", cart=BLUE, home=RED)
    (note,) = reviewed.latest()["outdated_notes"]
    assert (note["name"], note["state"], note["note"]) == ("cart", "rejected", "Too red")
    assert reviewed.gate() == ("waiting", 2, "")


def test_the_gate_blocks_without_a_comparison_of_the_newest_commit(reviewed: Reviewed) -> None:
    reviewed.decide("approved", "cart", "home")
    reviewed.project.push("3", cart=RED)
    assert reviewed.gate() == ("blocked", 0, "not_compared")
    other = Project(reviewed.client)
    other.pr_number = 8
    other.push("4", cart=RED)
    body = {"pr_number": 8, "commit_sha": "4" * 40, "branch": "nowhere", "commits": []}
    nowhere = reviewed.client.post("/v1/compare", json=body).json()
    assert nowhere["gate"]["state"] == "blocked"


def test_the_pull_requests_own_decisions_override_those_about_queued_pulls(reviewed: Reviewed) -> None:
    reviewed.decide("rejected", "home", note="Only in 7")
    reviewed.decide("approved", "cart")
    reviewed.project.pr_number, pull = 8, f"/projects/{reviewed.id}/pulls/8"
    reviewed.project.push("4", cart=RED, home=PLAIN)
    assert reviewed.project.compare("4", "1")["gate"]["state"] == "waiting"
    found = reviewed.project.compare("4", "1", queued_pulls=[6, 7.0])
    assert (found["gate"]["state"], found["outdated_notes"]) == ("passed", [])
    listed = reviewed.owner.get_json(f"/projects/{reviewed.id}/pulls")["pulls"]
    assert {each["pr_number"]: each["gate"]["state"] for each in listed} == {7: "rejected", 8: "passed"}

    etag = reviewed.owner.ask("GET", f"{pull}/comparison").headers["ETag"]
    reviewed.decide("withdrawn", "cart")
    changed = reviewed.owner.get(f"/v1/dashboard{pull}/comparison", headers={"If-None-Match": etag})
    assert (changed.status_code, changed.json()["comparison"]["gate"]["state"]) == (200, "waiting")
    body = {"decision": "approved", "pairs": reviewed.pairs("cart")}
    assert reviewed.owner.ask("POST", f"{pull}/decisions", **body).json()["gate"]["state"] == "passed"
    reviewed.decide("rejected", "cart")
    assert reviewed.project.compare("4", "1", queued_pulls=[7])["gate"]["state"] == "passed"


def test_the_project_chooses_which_verdicts_need_a_decision(reviewed: Reviewed) -> None:
    path = f"/projects/{reviewed.id}"
    assert reviewed.owner.get_json(path)["review_verdicts"] == ["changed", "moved", "removed"]
    page = f"{path}/pulls/7/comparison"
    etag = reviewed.owner.ask("GET", page).headers["ETag"]
    changed = reviewed.owner.ask("PATCH", path, review_verdicts=["new"])
    assert changed.json()["review_verdicts"] == ["new"]
    shown = reviewed.owner.get(f"/v1/dashboard{page}", headers={"If-None-Match": etag})
    assert (shown.status_code, shown.json()["comparison"]["gate"]["state"]) == (200, "passed")
    assert (reviewed.gate(), reviewed.reviews()["cart"]["state"]) == (("passed", 0, ""), "not_needed")
    refused = reviewed.owner.ask("PATCH", path, review_verdicts=["changed", "failed"])
    assert (refused.status_code, "review_verdicts takes any of" in refused.text) == (400, True)


def test_with_four_eyes_the_author_cannot_approve(reviewed: Reviewed) -> None:
    login = reviewed.owner.get_json("/me")["user"]["login"]
    repository = "https://github.com/acme/shop"
    reviewed.owner.ask("PATCH", f"/projects/{reviewed.id}", four_eyes=True, repository=repository)
    unknown = reviewed.decide("approved", "cart")
    assert (unknown.status_code, "doesn't know the author" in unknown.text) == (403, True)
    about = {"pr_number": 7, "repository": repository, "author": login.upper()}
    assert reviewed.client.post("/v1/pull", json=about).status_code == 200
    refused = reviewed.decide("approved", "cart")
    assert (refused.status_code, "someone else has to approve" in refused.text) == (403, True)
    assert reviewed.decide("rejected", "cart").status_code == 200
    reviewed.client.post("/v1/pull", json=about | {"author": "somebody-else"})
    assert reviewed.decide("approved", "cart").status_code == 200


LONG = "x" * 64


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"pairs": []}, "pairs must be a list of 1 to 1,000 objects"),
        ({"pairs": {}}, "pairs must be a list of 1 to 1,000 objects"),
        ({"pairs": ["x"]}, "pairs must be a list of 1 to 1,000 objects"),
        ({"pairs": [{"name": "cart"}] * 1001}, "pairs must be a list of 1 to 1,000 objects"),
        ({"pairs": [{"name": "cart", "viewport": "1x1"}]}, "a pair without either cannot be decided"),
        ({"pairs": [{"name": "cart", "viewport": "1x1", "pixels_after": LONG}]}, "64 lower-case hexadecimal"),
        ({"note": "x" * 2001}, "note must be a string of at most 2,000 characters"),
        ({"note": 7}, "note must be a string of at most 2,000 characters"),
        ({"pin": {"x": 1.01, "y": 0}}, "pin must be an object with x and y from 0 to 1"),
        ({"pin": {"x": True, "y": 0}}, "pin must be an object with x and y from 0 to 1"),
        ({"pin": [0, 0]}, "pin must be an object with x and y from 0 to 1"),
        ({"pr_number": "7"}, "pr_number required"),
    ],
)
def test_reports_what_is_wrong_with_a_decision(
    reviewed_once: Reviewed, body: dict[str, object], words: str
) -> None:
    reply = reviewed_once.reject("cart", **body)
    assert (reply.status_code, words in reply.json()["error"]) == (400, True), reply.text
    if "pr_number" not in body:
        assert reviewed_once.decide("approved", "cart", **body).json() == reply.json()
    assert reviewed_once.gate() == ("waiting", 2, "")


@pytest.fixture(scope="module")
def reviewed_once(shared_service: Service, owner: Person) -> Iterator[Reviewed]:
    """Share one project between tests that change nothing."""
    made = Reviewed(shared_service, owner)
    yield made
    made.client.close()


def test_another_tenants_pull_request_is_not_found(reviewed_once: Reviewed, shared_service: Service) -> None:
    with sign_in(shared_service) as stranger:
        path = f"/projects/{reviewed_once.id}/pulls/7/decisions"
        reply = stranger.ask("POST", path, decision="approved", pairs=reviewed_once.pairs("cart"))
        assert (reply.status_code, reply.json()) == (404, {"error": "not found"})
    with shared_service.client(shared_service.new_token()) as client:
        theirs = client.post("/v1/reject", json={"pr_number": 7, "pairs": reviewed_once.pairs("cart")})
        assert (theirs.status_code, theirs.json()) == (409, CHANGED)
    assert reviewed_once.gate() == ("waiting", 2, "")


BOTH = drawn_page(button="#d70022", badge="NEW!")
"""Has two changes: the button of the other pages, and a badge."""


@pytest.fixture
def in_parts(reviewed: Reviewed) -> Reviewed:
    """Have the same button on cart and home, and a badge on cart alone."""
    reviewed.push("3", cart=BOTH, home=RED)
    return reviewed


def groups_of(reviewed: Reviewed) -> tuple[str, str]:
    """Return the ids of the groups of the badge and of the button."""
    shots = {shot["name"]: shot["groups"] for shot in reviewed.latest()["shots"]}
    (button,) = shots["home"]
    (badge,) = {*shots["cart"]} - {button}
    return badge, button


def test_a_shot_is_approved_when_each_of_its_parts_is(in_parts: Reviewed) -> None:
    badge, button = groups_of(in_parts)
    login = in_parts.owner.get_json("/me")["user"]["login"]
    reply = in_parts.decide("approved", pairs=in_parts.parts(button, "cart", "home"))
    assert reply.json() == {"decided": 2, "gate": {"state": "waiting", "open": 1, "reason": ""}}
    reviews = in_parts.reviews()
    assert (reviews["cart"]["state"], reviews["home"]["state"]) == ("open", "approved")
    assert sorted(in_parts.part_reviews("cart")) == [("approved", [login]), ("open", [])]
    assert in_parts.part_reviews("home") == [("approved", [login])]
    comment = in_parts.project.comment("changes")
    assert comment.count(f"approved by `{login}`") == 1

    in_parts.push("4", cart=BOTH, home=BLUE)  # the button is in another group now
    assert ("approved", [login]) in in_parts.part_reviews("cart")
    in_parts.push("5", cart=BOTH, home=RED)
    assert (
        in_parts.decide("approved", pairs=in_parts.parts(badge, "cart")).json()["gate"]["state"] == "passed"
    )
    assert in_parts.reviews()["cart"]["by"] == login
    undone = in_parts.decide("withdrawn", pairs=in_parts.parts(badge, "cart"))
    assert undone.json()["gate"] == {"state": "waiting", "open": 1, "reason": ""}
    assert sorted(in_parts.part_reviews("cart")) == [("approved", [login]), ("open", [])]
    assert in_parts.decide("approved", "cart").json()["gate"]["state"] == "passed"
    assert in_parts.decide("withdrawn", "cart").json()["gate"]["open"] == 1
    assert in_parts.part_reviews("cart") == [("open", []), ("open", [])]


def test_rejecting_a_part_rejects_the_shot_until_all_of_it_is_approved(in_parts: Reviewed) -> None:
    badge, button = groups_of(in_parts)
    in_parts.decide("approved", pairs=in_parts.parts(button, "cart", "home"))
    in_parts.decide("rejected", pairs=in_parts.parts(badge, "cart"), note="Why a badge?")
    assert [state for state, _ in in_parts.part_reviews("cart")] == ["rejected", "rejected"]
    assert (
        in_parts.decide("approved", pairs=in_parts.parts(badge, "cart")).json()["gate"]["state"] == "rejected"
    )
    assert (
        in_parts.decide("approved", pairs=in_parts.parts(button, "cart")).json()["gate"]["state"] == "passed"
    )


def test_people_who_approve_two_parts_at_once_approve_both(in_parts: Reviewed) -> None:
    groups = groups_of(in_parts)
    parts = [in_parts.parts(group, "cart") for group in groups]
    with ThreadPoolExecutor(2) as threads:
        replies = threads.map(lambda pairs: in_parts.decide("approved", pairs=pairs), parts)
    assert [reply.status_code for reply in replies] == [200, 200]
    assert in_parts.reviews()["cart"]["state"] == "approved"


def test_boxes_that_the_pair_no_longer_has_refuse_the_whole_decision(in_parts: Reviewed) -> None:
    badge, button = groups_of(in_parts)
    cart, home = in_parts.parts(button, "cart", "home")
    other = in_parts.parts(badge, "cart")[0]
    moved = cart | {"regions": [[1, 2, 3, 4]]}
    nothing: dict[str, object] = cart | {"regions": [], "gone": []}
    swapped = other | {"regions": [], "gone": other["regions"]}
    for wrong in (moved, nothing, swapped):
        reply = in_parts.decide("approved", pairs=[home, wrong])
        assert (reply.status_code, reply.json()) == (409, CHANGED)
    for wrong in ({"regions": [[1, 2, 3]]}, {"gone": "x"}, {"regions": None}, {"gone": [[1, 2, 3, True]]}):
        reply = in_parts.decide("approved", pairs=[cart | wrong])
        assert (reply.status_code, "must each be a list of boxes" in reply.text) == (400, True)
    assert in_parts.gate() == ("waiting", 2, "")


def test_the_audit_log_has_the_boxes_of_each_part(in_parts: Reviewed) -> None:
    _, button = groups_of(in_parts)
    cart, home = in_parts.parts(button, "cart", "home")
    in_parts.decide("approved", pairs=[cart, home])
    organization = in_parts.owner.get_json(f"/projects/{in_parts.id}")["organization"]["id"]
    path = f"/v1/dashboard/organizations/{organization}/audit/export?action=decision"
    details = json.loads(in_parts.owner.get(path).text.splitlines()[0])["details"]
    assert (details["pairs"], details["in_part"]) == (2, 1)
    # All boxes of home are the whole shot.
    assert details["shots"] == [cart, {key: home[key] for key in PAIR}]
