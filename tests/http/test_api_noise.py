"""Noise over HTTP: differences that the branch had before, and shots in quarantine."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.drawn_pages import drawn_page
from support.project_client import Project
from support.service import Service
from support.signed_in_people import Person, sign_in
from support.waiting import wait_for

PLAIN, RED, BLUE = drawn_page(), drawn_page(button="#d70022"), drawn_page(button="#0022d7")
CART = {"name": "cart", "viewport": "320x240", "theme": ""}


class Noisy:
    """A project whose shot cart alternated on main. Its pull request shows the other picture."""

    def __init__(self, service: Service, owner: Person) -> None:
        self.owner, self.web_url = owner, service.web_url
        self.id = owner.project()
        self.client = service.client(owner.token(self.id))
        self.project = Project(self.client)
        for commit, image in zip("1234", (PLAIN, RED, PLAIN, RED), strict=True):
            self.project.build(commit, cart=image, home=PLAIN)
        # The service identifies baselines in the background.
        wait_for(lambda: self.get_json("/noise"), lambda reply: reply["shots"])

    def ask(self, method: str, path: str, **body: Any) -> httpx.Response:
        return self.owner.ask(method, f"/projects/{self.id}{path}", **body)

    def get_json(self, path: str) -> Any:
        return self.owner.get_json(f"/projects/{self.id}{path}")

    def push(self, commit: str, **shots: bytes) -> dict[str, Any]:
        self.project.push(commit, **shots)
        return self.project.compare(commit, "4", "3", "2", "1")

    def quarantine(self, **changes: object) -> httpx.Response:
        return self.ask("POST", "/quarantines", **CART | {"reason": "flaky font", "days": 7} | changes)


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture
def noisy(shared_service: Service, owner: Person) -> Iterator[Noisy]:
    made = Noisy(shared_service, owner)
    yield made
    made.client.close()


def states(found: dict[str, Any]) -> dict[str, str]:
    return {shot["name"]: shot["review"]["state"] for shot in found["shots"]}


def test_a_picture_that_the_branch_had_before_needs_no_decision(noisy: Noisy) -> None:
    found = noisy.push("5", cart=PLAIN, home=RED)
    assert states(found) == {"cart": "seen_before", "home": "open"}
    assert (found["gate"]["state"], found["gate"]["open"]) == ("waiting", 1)
    (listed,) = noisy.get_json("/pulls")["pulls"]
    assert listed["gate"]["open"] == 1
    page = noisy.get_json("/pulls/7/comparison")["comparison"]
    assert (len(page["groups"]), page["groups"]) == (1, found["groups"])
    comment = noisy.project.comment("changes")
    noise_page = f"{noisy.web_url}/projects/{noisy.id}/noise"
    assert "### 2 screenshots: 2 changed\n" in comment
    assert f"\n\n1 screenshot [alternates]({noise_page}) on `main`, as before: `cart`\n" in comment
    assert comment.count("cart") == 1
    assert states(noisy.push("6", cart=BLUE, home=PLAIN)) == {"cart": "open", "home": "not_needed"}


def test_the_page_lists_alternating_shots_with_the_images_that_still_exist(noisy: Noisy) -> None:
    (shot,) = noisy.get_json("/noise")["shots"]
    assert {name: shot[name] for name in CART} == CART
    assert (shot["branch"], shot["changes"]) == ("main", 3)
    plain, red = shot["pictures"]
    assert shot["last_at"] == red["at"] >= plain["at"]
    assert [httpx.get(each["image"]["url"]).content for each in (plain, red)] == [PLAIN, RED]
    noisy.ask("DELETE", f"/images/{plain['image']['id']}")
    (shot,) = noisy.get_json("/noise")["shots"]
    assert [(each["pixels"], each["image"] is None) for each in shot["pictures"]] == [
        (plain["pixels"], True),
        (red["pixels"], False),
    ]


def test_a_quarantined_shot_gates_only_after_the_quarantine(noisy: Noisy) -> None:
    assert noisy.push("5", cart=BLUE, home=PLAIN)["gate"]["state"] == "waiting"
    url = f"/v1/dashboard/projects/{noisy.id}/pulls/7/comparison"
    seen = noisy.owner.get(url).headers["etag"]
    made = noisy.quarantine()
    assert made.status_code == 201, made.text
    changed = noisy.owner.get(url, headers={"If-None-Match": seen})
    assert changed.json()["comparison"]["gate"] == {"state": "passed", "open": 0, "reason": ""}

    quarantine = made.json()
    login = noisy.owner.get_json("/me")["user"]["login"]
    assert quarantine["until"] - quarantine["created_at"] == 7 * 86_400
    assert {key: quarantine[key] for key in ("reason", "created_by", "compared", "differed")} == {
        "reason": "flaky font",
        "created_by": login,
        "compared": 0,
        "differed": 0,
    }
    found = noisy.push("6", cart=BLUE, home=PLAIN)
    assert (states(found)["cart"], found["gate"]["state"]) == ("quarantined", "passed")
    noisy.push("6", cart=BLUE, home=PLAIN)
    noisy.push("7", cart=RED, home=PLAIN)
    again = noisy.quarantine(reason=" slow map ", days=30).json()
    (listed,) = noisy.get_json("/quarantines")["quarantines"]
    assert listed == again
    assert (again["id"], again["reason"], again["compared"], again["differed"]) == (
        quarantine["id"],
        "slow map",
        2,
        1,
    )
    noisy.push("8", cart=BLUE, home=PLAIN)
    page = f"{noisy.web_url}/projects/{noisy.id}/quarantine"
    assert f"\n\n1 screenshot is [in quarantine]({page}) until 20" in noisy.project.comment("changes")

    path = f"/quarantines/{quarantine['id']}"
    assert noisy.ask("DELETE", path).json() == {"ok": True}
    assert noisy.ask("DELETE", path).status_code == 404
    now = noisy.get_json("/pulls/7/comparison")["comparison"]
    assert (states(now)["cart"], now["gate"]["state"]) == ("open", "waiting")
    assert noisy.get_json("/quarantines") == {"quarantines": []}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"days": 0}, "days must be a whole number from 1 to 30"),
        ({"days": 31}, "days must be a whole number from 1 to 30"),
        ({"days": "7"}, "days must be a whole number"),
        ({"reason": "  "}, "reason must have 1 to 500 characters"),
        ({"reason": "x" * 501}, "reason must have 1 to 500 characters"),
        ({"viewport": "wide"}, "viewport must be like 1280x800"),
        (
            {"name": "unknown"},
            "unknown screenshot: name one that is a baseline or in an open pull request",
        ),
    ],
)
def test_an_invalid_quarantine_is_400(quiet: Noisy, changes: dict[str, object], message: str) -> None:
    reply = quiet.quarantine(**changes)
    assert (reply.status_code, reply.json()) == (400, {"error": message})
    assert quiet.get_json("/quarantines") == {"quarantines": []}


@pytest.fixture(scope="module")
def quiet(shared_service: Service, owner: Person) -> Iterator[Noisy]:
    """Share one project between the tests that change nothing in it."""
    made = Noisy(shared_service, owner)
    yield made
    made.client.close()
