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


def approve(project: ConnectedProject, shots: list[Any]) -> None:
    reply = project.decide(PULL, "approved", shots)
    assert reply.status_code == 200, reply.text


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
def test_after_a_pull_request_closes_only_a_status_that_is_still_known_arrives(
    service: Service, forge: ConnectedForge, policy: Policy
) -> None:
    project = ConnectedProject([service], forge, policy)
    shots = compared(project)
    approve(project, shots[:1])
    wait_for_status(project, PULL)
    wait_until(lambda: project.outbox()["waiting"] == 0, project.outbox)
    sent = states(forge)

    forge.revoke_token()
    approve(project, shots)
    with project.ci() as ci:
        ci.post("/v1/expire", json={"pr_number": PULL}).raise_for_status()
    forge.restore_token()
    wait_until(lambda: project.outbox() == {"failing": [], "waiting": 0}, project.outbox)
    keeps_images = policy is Policy.MANUAL
    assert states(forge) == [*sent, PASSED] if keeps_images else sent
    assert ("2 changed" in forge.comments()[0].body) is keeps_images


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
