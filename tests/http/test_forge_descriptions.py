"""Every call of both clients, held against the forges' own descriptions; and GitHub's own examples of events."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from prshots.client.ci import Job, Lookup, detect_job
from prshots.client.job_forge import forge_of
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import CommitState
from prshots.forges.forge import IssueForge
from support.described_forges import FOLDER, DescribedForge, described, of_github, of_others
from support.forges.bitbucket_look_alike import BitbucketLookAlike
from support.forges.forge_server import ForgeServer
from support.forges.gitea_look_alike import GiteaLookAlike
from support.forges.gitlab_look_alike import GitLabLookAlike
from support.forges.look_alikes import GitHubLookAlike, github_look_alike

pytestmark = pytest.mark.slow  # starts Prism

HEAD = "1" * 40
HEAD_OF_NODE = "2" * 40
FORGES = ["github", pytest.param("ghes", marks=pytest.mark.nightly), "gitlab", "gitea", "bitbucket"]
OTHERS: dict[str, type[ForgeServer]] = {
    "gitlab": GitLabLookAlike,
    "gitea": GiteaLookAlike,
    "bitbucket": BitbucketLookAlike,
}
STATUSES = [
    CommitStatus(CommitState(state), f"{index} screenshots {'wait ' * 60}", "https://x.example.com/11")
    for index, state in enumerate(("pending", "pending", "success", "success", "pending", "failure"))
]


@contextmanager
def described_job(
    name: str, folder: Path
) -> Iterator[tuple[DescribedForge, Job, GitHubLookAlike | ForgeServer]]:
    """Run a look-alike behind its description, and return a job there."""
    if name in ("github", "ghes"):
        version = "api.github.com" if name == "github" else "ghes-3.19"
        with (
            github_look_alike() as github,
            described(of_github(version), github.url, "" if name == "github" else "/api/v3", folder) as forge,
        ):
            job = _job(ForgeKind.GITHUB, forge, github.repository, github.token, github.pr_number)
            yield forge, job, github
    else:
        made = OTHERS[name]()
        made.page_size = 2
        for number in range(3):  # several pages, where the forge has pages
            made.write_as("ann", f"remark {number}")
        made.write_on_line("ann", "a line")
        with made as other, described(of_others(name), other.public_url, other.root, folder) as forge:
            repository = getattr(other, "project_id", other.repository)  # Prism doesn't match %2F
            yield forge, _job(ForgeKind(name), forge, str(repository), other.token, other.pr_number), other


def _job(kind: ForgeKind, forge: DescribedForge, repository: str, token: str, pr_number: int) -> Job:
    return Job(forge=kind, forge_api=forge.url, repository=repository, forge_token=token, pr_number=pr_number)


def _of_python(job: Job) -> None:
    assert job.pr_number is not None
    with closing(forge_of(job)) as place:
        place.me()
        made = place.create(job.pr_number, "one")
        assert [found.body for found in place.comments(job.pr_number)][-1] == "one"
        place.update(job.pr_number, made.id, "two")
        list(place.reviews(job.pr_number))
        place.proxied_images(made.id)
        place.delete(job.pr_number, made.id)
        assert [pull.number for pull in place.open_from(place.pull_request(job.pr_number).branch)] == [
            job.pr_number
        ]
        if isinstance(place, IssueForge):
            pull = place.pull_request(job.pr_number)
            assert pull in place.pull_requests_with_head(pull.head_sha)
        for status in STATUSES:
            place.set_status(HEAD, status)
        place.set_status("4" * 40, CommitStatus(CommitState.PENDING, "", ""))
        place.set_description(job.pr_number, f"{place.description(job.pr_number)}Description")


def _of_node(job: Job) -> None:
    statuses = json.dumps([status._asdict() for status in STATUSES])
    given = (job.forge, job.forge_api, job.repository, job.forge_token, job.pr_number, HEAD_OF_NODE, statuses)
    subprocess.run(["node", FOLDER / "every_call.mjs", *map(str, given)], check=True, timeout=120)


@pytest.mark.parametrize("name", FORGES)
def test_every_call_of_both_clients_is_as_the_forge_describes_it(name: str, tmp_path: Path) -> None:
    with described_job(name, tmp_path) as (forge, job, look_alike):
        _of_python(job)
        of_python = set(forge.calls)
        forge.calls.clear()
        _of_node(job)
        assert forge.violations == []
        assert of_python > forge.calls  # only the command looks for a branch's pull request and reads reviews
        assert len(forge.calls) >= 5
        assert len(look_alike.statuses(HEAD)) == len(STATUSES)
        assert look_alike.statuses(HEAD_OF_NODE) == look_alike.statuses(HEAD)
        with closing(forge_of(job)) as place:
            assert place.description(job.pr_number or 0) == "Description of Node"

        with closing(forge_of(job)) as place:  # the check itself works
            place._api.reply("GET", "/nowhere")  # type: ignore[attr-defined]
        assert "GET /nowhere is not described" in forge.violations


def examples() -> list[tuple[str, dict[str, Any]]]:
    package = FOLDER / "node_modules" / "@octokit" / "webhooks-examples"
    return [
        (event["name"], payload)
        for folder in package.iterdir()
        if (folder / "index.json").is_file()
        for event in json.loads((folder / "index.json").read_text())
        for payload in event["examples"]
    ]


def test_githubs_own_examples_of_events_name_only_pull_requests_of_their_repository(tmp_path: Path) -> None:
    environ = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_SHA": HEAD,
    }
    known: dict[str, set[str]] = {}
    for name, payload in examples():
        (tmp_path / "event.json").write_text(json.dumps(payload))
        job = detect_job(environ | {"GITHUB_EVENT_NAME": name})
        if job.pr_number is not None:
            own = (payload.get("pull_request") or payload.get("issue") or {}).get("number")
            listed = {
                pull["number"]
                for part in ("workflow_run", "check_suite", "check_run")
                for pull in (payload.get(part) or {}).get("pull_requests", ())
                if pull["base"]["repo"]["id"] == payload["repository"]["id"]
            }
            assert job.pr_number == own or job.pr_number in listed, (name, payload)
        known.setdefault(name, set()).add(job.lookup or ("number" if job.pr_number else "none"))
    assert known["pull_request"] == known["pull_request_review"] == {"number"}
    assert known["check_suite"] == known["check_run"] == {"number", Lookup.ANY_PULL_REQUEST}
    assert known["deployment_status"] == {Lookup.ANY_PULL_REQUEST}
    assert known["workflow_run"] == {"none", Lookup.ANY_PULL_REQUEST}  # one lists another repository's
    assert known["issue_comment"] <= {"none", Lookup.HEAD}
    assert known["push"] == known["release"] == {"none"}
