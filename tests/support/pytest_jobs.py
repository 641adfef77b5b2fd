"""Jobs of GitHub Actions, and pytest runs with our plugin in them."""

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx

from support.forges.look_alikes import GitHubLookAlike
from support.processes import completed
from support.service import SHA, Service

ONLY_OURS = ("-p", "prshots", "-p", "no:cacheprovider")
"""Load the plugin by its installed name, and not the other installed plugins, which are slow to load."""


@dataclass
class Job:
    """The environment of a GitHub Actions job for one pull request."""

    pr_number: int
    token: str
    environ: dict[str, str]


def job_of(folder: Path, service: Service, github: GitHubLookAlike) -> Job:
    """Return a job for a new pull request, with a new project."""
    number, token = github.new_pr(), service.new_token()
    event = folder / "event.json"
    write_event(event, number, github.repository)
    environ = {
        "PRSHOTS_URL": service.base_url,
        "PRSHOTS_TOKEN": token,
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": github.url,
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": github.repository,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_TOKEN": github.token,
    }
    return Job(number, token, environ)


def write_event(path: Path, number: int, repository: str, head: str = "") -> None:
    """Write GitHub's event for a pull request. `head` is the repository of its branch, if that is a fork."""
    repo, base = {"full_name": head or repository, "fork": bool(head)}, {"full_name": repository}
    pull = {"number": number, "head": {"sha": SHA, "repo": repo}, "base": {"sha": "0" * 40, "repo": base}}
    path.write_text(json.dumps({"action": "opened", "number": number, "pull_request": pull}))


def run_elsewhere(folder: Path, job: Job, *args: str) -> tuple[int, str]:
    """Run pytest as a process with warnings as errors, and check that its output contains no secret."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    inherited["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = completed(
        [sys.executable, "-m", "pytest", *ONLY_OURS, "-W", "error", *args],
        cwd=folder,
        env=inherited | job.environ,
    )
    said = done.stdout + done.stderr
    assert job.token not in said
    assert job.environ["GITHUB_TOKEN"] not in said
    return done.returncode, said


def lines(said: str) -> list[str]:
    """Return the plugin's lines at the end of the output."""
    return re.findall(r"^prshots: (.+)$", said, re.MULTILINE)


def entries(job: Job) -> list[str]:
    """Return the names and viewports of all images of the pull request."""
    reply = httpx.get(
        f"{job.environ['PRSHOTS_URL']}/v1/comment",
        params={"pr_number": job.pr_number},
        headers={"Authorization": f"Bearer {job.token}"},
        trust_env=False,
    )
    found = re.findall(r"^`(.+?)` · (\S+) · ", reply.json()["markdown"], re.MULTILINE)
    return sorted(f"{name} {viewport}" for name, viewport in found)
