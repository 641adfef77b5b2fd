"""Cases where a decision must hold or must be asked for again, each with real git and the real service."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from support.clients import CLIENTS, runner_of
from support.compared_shop import Found, Shop, Shots
from support.git_repositories import Repository
from support.service import Service
from support.signed_in_people import Person, sign_in

pytestmark = pytest.mark.slow

PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")


class Reviewer:
    """A person who decides about what a job found."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def decide(self, found: Found, decision: str, *names: str, **more: object) -> httpx.Response:
        pull = urlsplit(found.json["dashboard_url"]).path.replace("/prs/", "/pulls/")
        pairs = [{key: shot[key] for key in PAIR} for shot in found.json["shots"] if shot["name"] in names]
        return self.person.ask("POST", f"{pull}/decisions", decision=decision, pairs=pairs, **more)

    def approve(self, found: Found, *names: str) -> dict[str, Any]:
        reply = self.decide(found, "approved", *names)
        assert reply.status_code == 200, reply.text
        return dict(reply.json()["gate"])


@pytest.fixture
def client_name() -> str:
    return "python"


@pytest.fixture
def shop(shared_service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client_name: str) -> Shop:
    """Make a shop whose main branch is built."""
    work = Repository.with_remote(tmp_path / "git")
    work.commit("First")
    work.push("main")
    made = Shop(
        tmp_path, shared_service, shared_service.new_token(), monkeypatch, work, runner_of(client_name)
    )
    made.build(work.head, {"home": 1, "cart": 1})
    return made


@pytest.fixture
def reviewer(shared_service: Service) -> Iterator[Reviewer]:
    with sign_in(shared_service, operator=True) as person:
        yield Reviewer(person)


def changed(shop: Shop, shots: Shots | None = None, number: int = 1, **options: Any) -> Found:
    """Push a commit to the pull request's branch, and run its job."""
    return shop.pull(number, shop.work.commit(), shots or {"home": 1, "cart": 2}, **options)


def states(found: Found) -> dict[str, str]:
    return {shot["name"]: shot["review"]["state"] for shot in found.json["shots"]}


def latest(shop: Shop, number: int = 1) -> Found:
    """Ask for the newest comparison, as `prshots gate` does."""
    url = f"{shop.service.base_url}/v1/compare?pr_number={number}"
    reply = httpx.get(url, headers={"Authorization": f"Bearer {shop.token}"})
    return Found(0, "", reply.json())


def gate(found: Found) -> tuple[str, int]:
    return found.json["gate"]["state"], found.json["gate"]["open"]


def test_a_decision_holds_for_the_same_pixels_however_they_arrive(shop: Shop, reviewer: Reviewer) -> None:
    """A push of the same pixels, a rebase, a squash and a force-push back all keep it."""
    work, main = shop.work, shop.work.head
    work.branch("change")
    first = changed(shop)
    assert (gate(first), states(first)) == (("waiting", 1), {"cart": "open", "home": "not_needed"})
    assert reviewer.approve(first, "cart") == {"state": "passed", "open": 0, "reason": ""}
    assert gate(changed(shop)) == ("passed", 0)

    work.branch("main", main)
    shop.build(work.commit("Main moves on"), {"home": 1, "cart": 1})
    work.branch("rebased")
    assert gate(changed(shop)) == ("passed", 0)

    other = changed(shop, {"home": 2, "cart": 3})
    assert (gate(other), states(other)) == (("waiting", 2), {"cart": "open", "home": "open"})
    back = shop.pull(1, work.commit("Forced back"), {"home": 1, "cart": 2})
    assert (gate(back), states(back)["cart"]) == (("passed", 0), "approved")


def test_a_different_base_needs_a_new_decision_for_its_shot_only(shop: Shop, reviewer: Reviewer) -> None:
    work, main = shop.work, shop.work.head
    work.branch("change")
    first = changed(shop, {"home": 2, "cart": 2})
    assert reviewer.approve(first, "home", "cart")["state"] == "passed"
    work.branch("main", main)
    shop.build(work.commit("Another cart"), {"home": 1, "cart": 5})
    work.branch("rebased")
    found = changed(shop, {"home": 2, "cart": 2})
    assert (gate(found), states(found)) == (("waiting", 1), {"cart": "open", "home": "approved"})


def test_the_next_pull_request_after_a_squash_merge_needs_no_decision(shop: Shop, reviewer: Reviewer) -> None:
    work, main = shop.work, shop.work.head
    work.branch("change")
    head = work.commit()
    assert reviewer.approve(shop.pull(1, head, {"home": 1, "cart": 2}), "cart")["state"] == "passed"
    work.branch("main", main)
    squashed = work.commit("Squashed")
    work.push("main")
    shop.merge(1, head, squashed)
    work.branch("other")
    assert gate(changed(shop, number=2)) == ("passed", 0)


def test_an_old_job_that_runs_again_does_not_go_back(shop: Shop, reviewer: Reviewer) -> None:
    shop.work.branch("change")
    old = shop.work.commit()
    shop.pull(1, old, {"home": 1, "cart": 2})
    new = changed(shop, {"home": 1, "cart": 3})
    reviewer.approve(new, "cart")
    again = shop.pull(1, old, {"home": 1, "cart": 2})
    assert gate(again) == ("waiting", 1)  # the old commit's own
    now = latest(shop)
    assert (now.json["commit_sha"], gate(now)) == (new.json["commit_sha"], ("passed", 0))


def test_images_of_a_newer_commit_block_until_they_are_compared(shop: Shop, reviewer: Reviewer) -> None:
    shop.work.branch("change")
    reviewer.approve(changed(shop), "cart")
    newer = shop.work.commit()
    done = shop.in_terminal(
        *("upload", "shots", "--no-compare", "--pr", "1", "--commit", newer), shots={"home": 1, "cart": 2}
    )
    assert done.returncode == 0, done.stderr
    blocked = latest(shop).json["gate"]
    assert (gate(latest(shop)), blocked["reason"]) == (("blocked", 0), "not_compared")


def test_newest_decision_counts_and_a_late_one_is_refused(shop: Shop, reviewer: Reviewer) -> None:
    """A decision about a pair that changed in the meantime is refused as a whole."""
    shop.work.branch("change")
    first = changed(shop, {"home": 2, "cart": 2})
    with sign_in(shop.service, operator=True) as person:
        reply = Reviewer(person).decide(first, "rejected", "cart", note="Too bright")
    assert reply.json()["gate"]["state"] == "rejected"
    rejected = latest(shop)
    review = rejected.json["shots"][0]["review"]
    assert (states(rejected)["cart"], review["note"]) == ("rejected", "Too bright")
    assert reviewer.approve(first, "home", "cart")["state"] == "passed"

    second = changed(shop, {"home": 2, "cart": 3})
    refused = reviewer.decide(first, "approved", "home", "cart")
    assert (refused.status_code, refused.json()) == (409, {"error": "changed since you looked"})
    assert states(latest(shop)) == {"cart": "open", "home": "approved"}
    assert reviewer.decide(second, "withdrawn", "home").json()["gate"]["open"] == 2


def test_a_renamed_shot_asks_about_both_names(shop: Shop, reviewer: Reviewer) -> None:
    shop.work.branch("change")
    found = changed(shop, {"home": 1, "basket": 1}, compare=("--complete",))
    assert states(found) == {"basket": "not_needed", "cart": "open", "home": "not_needed"}
    assert reviewer.approve(found, "cart")["state"] == "passed"


def test_a_forks_pull_request_is_reviewed_like_any_other(shop: Shop, reviewer: Reviewer) -> None:
    shop.work.branch("change")
    found = changed(shop, fork=True)
    assert gate(found) == ("waiting", 1)
    assert reviewer.approve(found, "cart")["state"] == "passed"


def test_a_stacked_pull_request_asks_about_what_it_shows(shop: Shop, reviewer: Reviewer) -> None:
    """Its base branch has no baselines, so it shows the changes of both, and each pull request has its decisions."""
    shop.work.branch("change")
    below = changed(shop)
    assert reviewer.approve(below, "cart")["state"] == "passed"
    shop.work.push("change")
    shop.work.branch("stacked")
    found = changed(shop, {"home": 3, "cart": 2}, number=2, target="change")
    assert (found.state, gate(found)) == ("compared", ("waiting", 2))
    assert reviewer.approve(found, "home", "cart")["state"] == "passed"
    assert gate(latest(shop)) == ("passed", 0)


def test_a_decision_during_a_comparison_counts_or_is_refused(shop: Shop, reviewer: Reviewer) -> None:
    """A shot whose pixels are known again can be decided at once, and the decision is there in the end."""
    many = {f"page{number}": 1 for number in range(20)}
    shop.build(shop.work.head, {"home": 1, "cart": 1} | many)
    shop.work.branch("change")
    first = changed(shop, {"home": 1, "cart": 2} | many)
    with ThreadPoolExecutor(1) as thread:
        other = dict.fromkeys(many, 2)
        second = thread.submit(changed, shop, {"home": 1, "cart": 2} | other)
        statuses = []
        while not second.done():
            statuses.append(reviewer.decide(first, "approved", "cart").status_code)
        found = second.result()
    assert statuses
    assert set(statuses) <= {200, 409}
    if 200 not in statuses[-1:]:
        assert reviewer.decide(found, "approved", "cart").status_code == 200
    assert (states(latest(shop))["cart"], gate(latest(shop))) == ("approved", ("waiting", 20))


@pytest.mark.parametrize("client_name", CLIENTS)
def test_decisions_about_pull_requests_ahead_in_a_merge_queue_count(shop: Shop, reviewer: Reviewer) -> None:
    work, main = shop.work, shop.work.head
    heads = {}
    for number, shots in (
        (7, {"home": 1, "cart": 2}),
        (8, {"home": 2, "cart": 1}),
        (9, {"home": 1, "cart": 3}),
    ):
        work.branch(f"change-{number}", main)
        heads[number] = work.commit()
        found = shop.pull(number, heads[number], shots)
        reviewer.approve(found, "home" if number == 8 else "cart")

    first, found = shop.queue(7, main, heads[7], {"home": 1, "cart": 2})
    assert (gate(found), states(found)["cart"]) == (("passed", 0), "approved")
    second, found = shop.queue(8, first, heads[8], {"home": 2, "cart": 2})
    assert (gate(found), states(found)) == (("passed", 0), {"cart": "approved", "home": "approved"})
    assert (found.json["commit_sha"], gate(latest(shop, 8))) == (second, ("passed", 0))

    # The pull request's own decision comes first, even a withdrawn one.
    assert (
        reviewer.decide(found, "rejected", "cart", note="Not together").json()["gate"]["state"] == "rejected"
    )
    assert reviewer.decide(found, "withdrawn", "cart").json()["gate"]["open"] == 1

    # 9 is behind 8, so its decisions don't count for it.
    shop.queue(9, second, heads[9], {"home": 2, "cart": 3})
    _, found = shop.queue(8, first, heads[8], {"home": 2, "cart": 3})
    assert (gate(found), states(found)["cart"]) == (("waiting", 1), "open")


@pytest.mark.parametrize("client_name", CLIENTS)
def test_approved_pass_lets_fail_on_ignore_approved_shots(shop: Shop, reviewer: Reviewer) -> None:
    shop.work.branch("change")
    head, fail_on = shop.work.commit(), ("--fail-on", "changed")
    codes = []
    for decision in ("approved", "rejected"):
        reviewer.decide(shop.pull(1, head, {"home": 1, "cart": 2}), decision, "cart")
        for options in (fail_on, (*fail_on, "--approved-pass")):
            codes += [shop.pull(1, head, {"home": 1, "cart": 2}, compare=options).code]
    assert codes == [4, 0, 4, 4]
