"""Statuses and comments arrive at the forge, whatever happens between the decision and the forge."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prshots.contract.limits import Policy
from support.connected_project import (
    FORGE_SETTINGS,
    ConnectedForge,
    ConnectedProject,
    wait_for_status,
)
from support.drawn_pages import sha
from support.engine_servers import PostgreSQL
from support.service import Service
from support.service_processes import kill_supervisor
from support.waiting import wait_until

pytestmark = pytest.mark.slow

HEAD = sha("head")
COLORS = {"home": "#a01010", "cart": "#10a010"}
PULL = 11
WAITING = ("pending", "2 screenshots to review")
PASSED = ("success", "Nothing is left to review")


@pytest.fixture
def forge() -> Iterator[ConnectedForge]:
    with ConnectedForge() as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service for all tests. Each has its own project and forge."""
    running = Service(tmp_path_factory.mktemp("outbox"), {"WORKERS": "2", **FORGE_SETTINGS}).start()
    yield running
    assert running.stop() == 0


def compared(project: ConnectedProject, commit_sha: str = HEAD) -> list[Any]:
    """Compare a commit with two changes, and return its shots."""
    project.upload_baselines(list(COLORS))
    project.push(PULL, commit_sha, COLORS)
    return list(project.compare(PULL, commit_sha)["shots"])


def states(forge: ConnectedForge, commit_sha: str = HEAD) -> list[tuple[str, str]]:
    return [(state, description) for state, description, _ in forge.statuses(commit_sha)]


def approve(
    project: ConnectedProject, shots: list[Any], pr_number: int = PULL, decision: str = "approved"
) -> None:
    reply = project.decide(pr_number, decision, shots)
    assert reply.status_code == 200, reply.text


def close(project: ConnectedProject) -> None:
    with project.ci() as ci:
        ci.post("/v1/expire", json={"pr_number": PULL}).raise_for_status()


def check_of(project: ConnectedProject) -> Any:
    with project.person() as person:
        return person.get_json(f"/projects/{project.id}/pulls/{PULL}/comparison")["comparison"]["check"]


def test_a_decision_reaches_the_forge(service: Service, forge: ConnectedForge) -> None:
    project = ConnectedProject([service], forge)
    shots = compared(project)
    wait_for_status(project, PULL)
    assert states(forge)[-1] == WAITING
    assert forge.comments() == []  # the job posts it

    approve(project, shots)
    wait_for_status(project, PULL)
    assert states(forge)[-1] == PASSED
    wait_until(forge.comments, "the comment")
    (comment,) = forge.comments()
    assert "2 changed" in comment.body
    wait_until(lambda: project.outbox() == {"failing": [], "waiting": 0}, project.outbox)

    sent = len(forge.arrived)
    approve(project, shots)  # again: nothing changes
    wait_until(lambda: project.outbox()["waiting"] == 0, project.outbox)
    assert len(forge.arrived) == sent

    forge.write_as("gitea-actions", comment.body)
    project.push(PULL, newer := sha("newer"), COLORS)
    project.decide(PULL, "withdrawn", shots)
    wait_until(lambda: states(forge, newer), "the status of the commit that isn't compared")
    assert states(forge, newer) == [("pending", "The newest commit is not compared yet")]
    assert states(forge)[-1] == PASSED


def test_a_comment_that_the_job_posted_is_updated(service: Service, forge: ConnectedForge) -> None:
    project = ConnectedProject([service], forge)
    forge.write_as("gitea-actions", f"<!-- svc:pr-{PULL} -->\nby the job")
    forge.write_as("somebody", f"<!-- svc:pr-{PULL} -->\nby somebody")
    approve(project, compared(project))
    wait_until(lambda: "2 changed" in forge.comments()[0].body, forge.comments)
    assert [(comment.author, "2 changed" in comment.body) for comment in forge.comments()] == [
        ("gitea-actions", True),
        ("somebody", False),
    ]


def test_an_abbreviated_commit_is_completed_from_the_pull_request(
    service: Service, forge: ConnectedForge
) -> None:
    project = ConnectedProject([service], forge)
    forge.propose("cart")
    compared(project, forge.head_sha[:12])
    wait_until(lambda: states(forge, forge.head_sha)[-1:] == [WAITING], project.outbox)


def test_a_refused_token_is_shown_and_everything_arrives_after_an_outage(
    service: Service, forge: ConnectedForge
) -> None:
    project = ConnectedProject([service], forge)
    shots = compared(project)
    wait_for_status(project, PULL)

    forge.revoke_token()
    approve(project, shots)
    wait_until(lambda: len(project.outbox()["failing"]) == 2, project.outbox)
    for failing in project.outbox()["failing"]:
        assert (failing["pr_number"], "Gitea refused the token" in failing["error"]) == (PULL, True), failing
        assert forge.token not in failing["error"]
    with project.person() as person:
        page = person.get_json(f"/projects/{project.id}/pulls/{PULL}/comparison")
    assert [failing["kind"] for failing in page["comparison"]["outbox"]] == ["comment", "status"]
    assert check_of(project)["state"] == "failing"
    assert "Gitea refused the token" in check_of(project)["error"]
    assert states(forge)[-1] == WAITING

    kill_supervisor(service)
    forge.restore_token()
    service.start()
    wait_for_status(project, PULL)
    assert states(forge)[-1] == PASSED
    wait_until(lambda: project.outbox() == {"failing": [], "waiting": 0}, project.outbox)


def test_a_forge_that_asks_to_wait_too_long_is_given_up(service: Service, forge: ConnectedForge) -> None:
    project = ConnectedProject([service], forge)
    shots = compared(project)
    wait_for_status(project, PULL)
    forge.retry_after = "9" * 400
    approve(project, shots)
    wait_until(
        lambda: [each["next_at"] for each in project.outbox()["failing"]] == [None, None], project.outbox
    )


@pytest.mark.parametrize("policy", [Policy.PR_CLOSE, Policy.MANUAL])
def test_a_closed_pull_request_gets_its_last_comment(
    service: Service, forge: ConnectedForge, policy: Policy
) -> None:
    project = ConnectedProject([service], forge, policy)
    shots = compared(project)
    approve(project, shots)
    wait_until(lambda: states(forge)[-1:] == [PASSED] and forge.comments(), project.outbox)
    close(project)
    keeps_images = policy is Policy.MANUAL
    wait_until(lambda: ("2 changed" in forge.comments()[0].body) is keeps_images, forge.comments)
    wait_until(lambda: project.outbox() == {"failing": [], "waiting": 0}, project.outbox)
    assert states(forge)[-1] == PASSED


def test_deliveries_of_a_closed_pull_request_end(service: Service, forge: ConnectedForge) -> None:
    project = ConnectedProject([service], forge)
    shots = compared(project)
    wait_for_status(project, PULL)
    forge.revoke_token()
    approve(project, shots)
    wait_until(lambda: len(project.outbox()["failing"]) == 2, project.outbox)
    close(project)
    wait_until(lambda: project.outbox() == {"failing": [], "waiting": 0}, project.outbox)
    forge.restore_token()
    assert states(forge)[-1] == WAITING
    assert forge.comments() == []


def test_pull_requests_that_the_forge_does_not_know_are_tried_once(
    service: Service, forge: ConnectedForge
) -> None:
    project = ConnectedProject([service], forge)
    project.upload_baselines(list(COLORS))
    forge.unknown = {sha(str(number)): number for number in range(100, 120)}
    for commit_sha, number in forge.unknown.items():
        project.push(number, commit_sha, COLORS)
        approve(project, project.compare(number, commit_sha)["shots"], number)
    wait_until(lambda: len(project.outbox()["failing"]) == 2 * len(forge.unknown), project.outbox)
    wait_until(lambda: project.outbox()["waiting"] == 0, project.outbox)
    assert {each["next_at"] for each in project.outbox()["failing"]} == {None}
    assert set(forge.refused) == {
        (number, kind) for number in forge.unknown.values() for kind in ("issues", "statuses")
    }
    causes = 3  # the comparison began, it ended, somebody decided
    assert max(forge.refused.values()) <= causes


def test_two_projects_of_a_repository_agree_on_its_check(service: Service, forge: ConnectedForge) -> None:
    """Each connection posts all statuses, and the last one to write has read the newest gates."""
    web = ConnectedProject([service], forge, name="web")
    mobile = ConnectedProject([service], forge, name="mobile")
    shots = compared(web)
    mobile.upload_baselines(list(COLORS))
    mobile.push(PULL, HEAD, dict.fromkeys(COLORS, "#0060df"))
    mobile.compare(PULL, HEAD)

    def last(context: str) -> tuple[str, str]:
        return [(state, words) for state, words, _ in forge.statuses(HEAD, context)][-1]

    wait_until(lambda: web.has_arrived(PULL) and mobile.has_arrived(PULL), lambda: str(forge.statuses(HEAD)))
    assert last("prshots") == ("pending", f"{web.name}: 2 screenshots to review")
    assert last(f"prshots/{mobile.name}") == PASSED
    assert last(f"prshots/{web.name}") == WAITING
    wait_until(lambda: check_of(mobile)["state"] == "sent", lambda: check_of(mobile))
    assert check_of(mobile) == {
        "state": "sent",
        "forge": "gitea",
        "error": "",
        "posted": "pending",
        "description": f"{web.name}: 2 screenshots to review",
    }

    approve(web, shots)
    wait_until(lambda: web.has_arrived(PULL) and mobile.has_arrived(PULL), lambda: str(forge.statuses(HEAD)))
    assert {last(context) for context in ("prshots", f"prshots/{web.name}", f"prshots/{mobile.name}")} == {
        PASSED
    }
    wait_until(lambda: check_of(mobile)["posted"] == "success", lambda: check_of(mobile))

    approve(web, shots, decision="withdrawn")
    wait_until(lambda: last("prshots")[0] == "pending", web.outbox)
    with web.person() as person:  # its images are deleted, so it no longer takes part
        person.ask("POST", f"/projects/{web.id}/pulls/{PULL}/expire").raise_for_status()
    wait_until(lambda: last("prshots") == PASSED, mobile.outbox)


def test_two_replicas_send_each_state_once(
    postgresql: PostgreSQL, forge: ConnectedForge, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": postgresql.new_database(), "WORKERS": "2", **FORGE_SETTINGS}
    replicas = [Service(tmp_path, dict(settings)) for _ in range(2)]
    try:
        for replica in replicas:
            replica.start()
        project = ConnectedProject(replicas, forge)
        shots = compared(project)
        wait_for_status(project, PULL)
        approve(project, shots[:1])
        wait_for_status(project, PULL)
        approve(project, shots[1:])
        wait_for_status(project, PULL)
        wait_until(lambda: project.outbox()["waiting"] == 0, project.outbox)
        assert states(forge)[-3:] == [WAITING, ("pending", "1 screenshot to review"), PASSED]
        assert len(set(forge.arrived)) == len(forge.arrived)
        assert len(forge.comments()) == 1
    finally:
        for replica in replicas:
            replica.stop()
