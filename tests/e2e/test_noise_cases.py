"""Cases where a difference is noise or only looks like it, each with real git and the real service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.clients import runner_of
from support.compared_shop import Found, Shop
from support.git_repositories import Repository
from support.service import Service
from support.signed_in_people import Person, sign_in
from support.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture
def shop(owner: Person, shared_service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    work = Repository.with_remote(tmp_path / "git")
    token = owner.token(owner.project())
    return Shop(tmp_path, shared_service, token, monkeypatch, work, runner_of("python"))


def build(shop: Shop, *shows: int) -> list[str]:
    """Push a commit to main for each picture of the clock, and run its job."""
    commits = []
    for clock in shows:
        commits.append(shop.work.commit())
        shop.build(commits[-1], {"clock": clock, "home": 1})
    return commits


def pull(shop: Shop, number: int, clock: int) -> tuple[str, str]:
    """Run the job of a pull request whose clock shows this. Return the state of its review and of the gate."""
    main = shop.work.head
    shop.work.branch(f"change-{number}")
    found = shop.pull(number, shop.work.commit(), {"clock": clock, "home": 1})
    shop.work.branch(f"main-{number}", main)
    return state_of(found)


def state_of(found: Found) -> tuple[str, str]:
    (clock,) = (shot for shot in found.json["shots"] if shot["name"] == "clock")
    return clock["review"]["state"], found.json["gate"]["state"]


def wait_for_histories(owner: Person) -> None:
    """Wait until the service has identified the baselines in the background."""
    (project,) = owner.get_json("/projects")["projects"]
    wait_for(lambda: owner.get_json(f"/projects/{project['id']}/noise"), lambda reply: reply["shots"])


def test_only_exact_alternations_of_the_branch_are_seen_before(shop: Shop, owner: Person) -> None:
    build(shop, 1, 2, 1)
    assert pull(shop, 1, 2) == ("open", "waiting")  # after a revert
    build(shop, 2)
    wait_for_histories(owner)
    assert pull(shop, 2, 1) == ("seen_before", "passed")
    assert pull(shop, 3, 3) == ("open", "waiting")
    assert pull(shop, 4, 2) == ("not_needed", "passed")


def test_late_and_repeated_builds_do_not_look_like_alternations(shop: Shop, owner: Person) -> None:
    """Main's clock changed once, from 1 to 2. The second commit's build is slow, and the first's runs again."""
    work = shop.work
    commits = [work.commit() for _ in range(4)]
    work.push("main")
    shows = dict(zip(commits, (1, 1, 2, 2), strict=True))
    for commit in (commits[0], commits[2], commits[0], commits[1], commits[3], commits[2]):
        done = shop.on_main(commit, "upload", "shots", shots={"clock": shows[commit], "home": 1})
        assert done.returncode == 0, done.stderr
    wait_for_histories(owner)
    assert pull(shop, 1, 1) == ("open", "waiting")
