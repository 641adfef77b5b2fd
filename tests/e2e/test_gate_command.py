"""`prshots gate` in a workflow, against the service and a GitHub look-alike."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prshots.forges import sender
from support.clients import CLIENTS, runner_of
from support.drawn_pages import drawn_page, sha
from support.forges.look_alikes import GitHubLookAlike
from support.project_client import Project
from support.service import Service
from support.signed_in_people import Person, sign_in
from support.unreliable_proxy import CUT, UnreliableProxy, refuse

PLAIN, RED = drawn_page(), drawn_page(button="#d70022")
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
SUCCESS = ("success", "Nothing is left to review")
PENDING = ("pending", "1 screenshot to review")


class Workflow:
    """A job of GitHub Actions for a pull request whose shot cart is red, and blue on its base."""

    def __init__(
        self, service: Service, github: GitHubLookAlike, owner: Person, folder: Path, client: str
    ) -> None:
        self.service, self.github, self.owner = service, github, owner
        self.run, self.event = runner_of(client), folder / "event.json"
        self.project_id = owner.project()
        self.token = owner.token(self.project_id)
        self.project = Project(service.client(self.token))
        self.number = self.project.pr_number = github.new_pr()
        self.commit = sha(f"{self.number}")
        self.page = f"{service.web_url}/projects/{self.project_id}/prs/{self.number}"
        self.work_on(self.commit)

    def compare(self, commit: str = "", **fields: object) -> dict[str, Any]:
        """Upload the commit's screenshots, and compare them with main. A name stands for its commit."""
        name = commit or f"{self.number}"
        self.project.push(name, cart=RED)
        return self.project.compare(name, *([] if fields.pop("alone", False) else ["base"]), **fields)

    def build(self) -> None:
        self.project.build("base", cart=PLAIN)

    def decide(self, decision: str) -> None:
        found = self.project.client.get("/v1/compare", params={"pr_number": self.number}).json()
        pairs = [{key: shot[key] for key in PAIR} for shot in found["shots"]]
        path = f"/projects/{self.project_id}/pulls/{self.number}/decisions"
        assert self.owner.ask("POST", path, decision=decision, pairs=pairs).status_code == 200

    def work_on(self, commit: str, head: str = "") -> None:
        """Write the event of a push to the pull request. `head` is a fork's repository."""
        base = {"full_name": self.github.repository}
        pull = {
            "head": {"sha": commit, "repo": {"full_name": head} if head else base},
            "base": {"repo": base},
        }
        self._write({"pull_request": pull | {"number": self.number}})

    def work_on_main(self, commit: str) -> None:
        self._write({"ref": "refs/heads/main", "after": commit})

    def _write(self, event: dict[str, Any]) -> None:
        about = {"full_name": self.github.repository, "default_branch": "main"}
        self.event.write_text(json.dumps(event | {"repository": about}))

    @property
    def without_ci(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PRSHOTS_URL": self.service.base_url,
            "PRSHOTS_TOKEN": self.token,
            "GITHUB_TOKEN": self.github.token,
        }

    @property
    def env(self) -> dict[str, str]:
        return self.without_ci | {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": self.github.repository,
            "GITHUB_RUN_ID": "42",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(self.event),
        }

    def gate(self, *args: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        done = self.run("gate", *args, env={**self.env, **settings})
        assert self.github.token not in done.stdout + done.stderr
        return done

    def statuses(self, commit: str = "") -> list[tuple[str, str]]:
        return [(state, words) for state, words, _ in self.github.statuses(commit or self.commit)]


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture(params=CLIENTS)
def client_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def short_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.002)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def workflow(
    client_name: str, shared_service: Service, github: GitHubLookAlike, owner: Person, tmp_path: Path
) -> Iterator[Workflow]:
    made = Workflow(shared_service, github, owner, tmp_path, client_name)
    made.build()
    yield made
    made.project.client.close()


def test_sets_the_status_from_pending_to_success(workflow: Workflow) -> None:
    missing = workflow.gate("--fail")
    assert (missing.returncode, missing.stdout) == (4, "blocked: The newest commit is not compared yet\n")
    workflow.compare()
    done = workflow.gate()
    assert (done.returncode, done.stdout) == (0, "waiting: 1 screenshot to review\n")
    assert done.stderr == (
        f"Set the status prshots of commit {workflow.commit[:7]} at GitHub to pending.\n"
        f"Dashboard: {workflow.page}\n"
    )
    workflow.decide("rejected")
    assert workflow.gate("--fail").returncode == 4
    workflow.decide("approved")
    passed = workflow.gate("--fail", "--json")
    assert (passed.returncode, json.loads(passed.stdout)) == (
        0,
        {
            "gate": {
                "state": "passed",
                "open": 0,
                "reason": "",
                "statuses": [{"context": "prshots", "state": "success", "description": SUCCESS[1]}],
            },
            "commit_sha": workflow.commit,
            "dashboard_url": workflow.page,
            "status": True,
        },
    )
    assert workflow.github.statuses(workflow.commit) == [
        ("pending", "The newest commit is not compared yet", workflow.page),
        (*PENDING, workflow.page),
        ("failure", "Changes were rejected", workflow.page),
        (*SUCCESS, workflow.page),
    ]


@pytest.mark.slow
class TestCommit:
    def test_an_old_job_that_runs_again_changes_no_status(self, workflow: Workflow) -> None:
        workflow.compare()
        newer = f"{workflow.number} newer"
        workflow.compare(newer)
        workflow.decide("approved")
        assert workflow.gate().returncode == 0
        again = workflow.gate("--fail")
        assert (again.returncode, again.stdout) == (4, "passed: Nothing is left to review\n")
        words = (
            f"the newest comparison is for commit {sha(newer)[:7]}, not for this job's {workflow.commit[:7]}"
        )
        assert f"The status was not set: {words}." in again.stderr
        assert workflow.statuses() == workflow.statuses(sha(newer)) == []

    def test_images_of_a_newer_commit_are_not_compared_yet(self, workflow: Workflow) -> None:
        workflow.compare()
        workflow.decide("approved")
        newer = f"{workflow.number} newer"
        workflow.project.push(newer, cart=RED)
        workflow.work_on(sha(newer))
        assert workflow.gate().stdout == "blocked: The newest commit is not compared yet\n"
        assert workflow.statuses(sha(newer)) == [("pending", "The newest commit is not compared yet")]

    def test_a_decision_between_reading_and_posting_is_posted(self, workflow: Workflow) -> None:
        def decide(request: str, _: bytes) -> None:
            if request.startswith("POST /repos/") and forge.count("POST /repos/") == 0:
                workflow.decide("approved")

        workflow.compare()
        with UnreliableProxy(workflow.github.url, decide) as forge:
            done = workflow.gate(GITHUB_API_URL=forge.url)
        assert done.stdout == "passed: Nothing is left to review\n"
        assert workflow.statuses() == [PENDING, SUCCESS]


@pytest.mark.slow
class TestWithoutScreenshots:
    def test_skip_lets_the_project_pass(self, workflow: Workflow) -> None:
        done = workflow.gate("--skip", "docs\nonly", "--fail")
        assert (done.returncode, done.stdout) == (0, "passed: Skipped: docs only\n")
        assert workflow.github.statuses(workflow.commit) == [("success", "Skipped: docs only", workflow.page)]

    def test_skip_sets_no_status_if_the_service_cannot_be_asked(self, workflow: Workflow) -> None:
        """Another project may wait for a review, so green would be a guess."""
        for settings in ({"PRSHOTS_URL": ""}, {"PRSHOTS_TOKEN": ""}, {"PRSHOTS_TOKEN": "msr_" + "0" * 64}):
            done = workflow.gate("--skip", "docs only", **settings)
            assert (done.returncode in {1, 2}, done.stdout) == (True, "")
        assert workflow.statuses() == []

    def test_a_job_on_the_default_branch_has_nothing_to_gate(self, workflow: Workflow) -> None:
        workflow.work_on_main(workflow.commit)
        push = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": workflow.commit}
        done = workflow.gate("--fail", **push)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "Nothing to gate: this job runs for main, not for a pull request.\n"
        assert workflow.statuses() == []
        skipped = workflow.gate("--skip", "docs only", "--fail", PRSHOTS_URL="", PRSHOTS_TOKEN="", **push)
        assert (skipped.returncode, skipped.stdout) == (0, "passed: Skipped: docs only\n")
        run = f"https://github.com/{workflow.github.repository}/actions/runs/42"
        assert workflow.github.statuses(workflow.commit) == [("success", "Skipped: docs only", run)]

    def test_missing_baselines_block_or_pass(self, workflow: Workflow) -> None:
        workflow.compare(branch="next", alone=True)
        assert workflow.gate("--fail").stdout == "blocked: The base branch has no baselines yet\n"
        passed = workflow.gate("--fail", "--no-baseline", "pass")
        assert (passed.returncode, passed.stdout) == (0, "passed: The base branch has no baselines yet\n")
        words = "The base branch has no baselines yet"
        assert workflow.statuses() == [("pending", words), ("success", words)]


@pytest.mark.slow
class TestWithoutStatus:
    def test_a_fork_gets_a_warning_and_its_gate(self, workflow: Workflow) -> None:
        workflow.compare()
        workflow.work_on(workflow.commit, head="mallory/shop")
        done = workflow.gate(GITHUB_TOKEN=workflow.github.fork_token)
        assert (done.returncode, done.stdout) == (0, "waiting: 1 screenshot to review\n")
        assert done.stderr.startswith("Warning: can't set the status: this pull request comes from a fork")
        assert workflow.gate("--fail", GITHUB_TOKEN=workflow.github.fork_token).returncode == 4

    def test_without_a_token_says_what_to_set(self, workflow: Workflow) -> None:
        workflow.compare()
        workflow.decide("approved")
        done = workflow.gate("--fail", GITHUB_TOKEN="")
        assert (done.returncode, done.stdout) == (0, "passed: Nothing is left to review\n")
        assert "Warning: can't set the status: no token for GitHub: set --forge-token" in done.stderr

    def test_outside_ci_only_a_given_token_sets_it(self, workflow: Workflow) -> None:
        workflow.compare()
        place = {"GIT_CEILING_DIRECTORIES": str(workflow.event.parents[1])}
        pull = ("gate", "--pr", str(workflow.number))
        done = workflow.run(*pull, env=workflow.without_ci | place)
        assert (done.returncode, done.stdout) == (0, "waiting: 1 screenshot to review\n")
        assert (done.stderr, workflow.statuses()) == (f"Dashboard: {workflow.page}\n", [])
        forge = ("--forge", "github", "--forge-url", workflow.github.url, "--repository", "octocat/shop")
        given = (*forge, "--forge-token", workflow.github.person_token)
        done = workflow.run(*pull, *given, env=workflow.without_ci | place)
        assert (done.returncode, workflow.statuses()) == (0, [PENDING])

    def test_a_forge_that_fails_or_an_unusable_gate_fails_the_command(self, workflow: Workflow) -> None:
        workflow.compare()
        with UnreliableProxy(workflow.github.url) as forge:
            forge.will(CUT, when="POST /repos/", times=sender.TRIES)
            assert workflow.gate(GITHUB_API_URL=forge.url).returncode == 1
        other = {"context": "build", "state": "success", "description": ""}
        gate = {
            "state": "passed",
            "open": 0,
            "reason": "",
            "dashboard_url": workflow.page,
            "statuses": [other],
        }
        for reply in ((404, {"error": "not found"}), (200, gate)):  # an older service, and a hostile one
            with UnreliableProxy(workflow.service.base_url) as service:
                service.will(refuse(reply[0], body=reply[1]), when="GET /v1/gate")
                done = workflow.gate(PRSHOTS_URL=service.url)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.startswith(f"prshots: {service.url} answered")
        assert workflow.github.statuses(workflow.commit, "build") == workflow.statuses() == []
