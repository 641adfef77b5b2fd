"""A shop whose screenshots are compared: its git repository, its CI jobs, and what they find out."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from support.clients import Run
from support.git_repositories import ALONE, Repository, checkout_of
from support.service import Service

Shots = Mapping[str, int]
"""Names of screenshots, each with the number of what it shows."""


def draw(path: Path, shows: int) -> None:
    """Draw a page with a box whose place and color depend on the number."""
    page = Image.new("RGB", (160, 120), "white")
    left = 10 + 12 * (shows % 10)
    ImageDraw.Draw(page).rectangle((left, 20, left + 30, 60), fill=(200, 20 * shows % 250, 60))
    path.parent.mkdir(parents=True, exist_ok=True)
    page.save(path)


@dataclass
class Found:
    """What `prshots compare` said."""

    code: int
    told: str
    json: dict[str, Any]

    @property
    def state(self) -> str:
        return str(self.json["state"])

    @property
    def verdicts(self) -> dict[str, str]:
        return {shot["name"]: shot["verdict"] for shot in self.json["shots"]}

    @property
    def bases(self) -> dict[str, str | None]:
        return {shot["name"]: shot["base_commit"] for shot in self.json["shots"]}


@dataclass
class Shop:
    """The repository of the shop (`work` is a developer's clone), and jobs of GitHub Actions for it."""

    folder: Path
    service: Service
    token: str
    patch: pytest.MonkeyPatch
    work: Repository
    run: Run
    jobs: int = 0
    variables: dict[str, str] = field(default_factory=dict)

    def build(self, commit: str, shots: Shots, *options: str) -> str:
        """Run CI for a push to main, and return its messages."""
        self.work.push(f"{commit}:refs/heads/main")
        done = self.on_main(commit, "upload", "shots", *options, shots=shots)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def on_main(
        self, commit: str, *args: str, shots: Shots | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in a job for a push to main."""
        event = {"ref": "refs/heads/main", "after": commit, "repository": {"default_branch": "main"}}
        job = self._job(commit)
        return self._run(job, self._env("push", event, "refs/heads/main", commit), shots or {}, *args)

    def pull(
        self,
        number: int,
        head: str,
        shots: Shots,
        *options: str,
        fork: bool = False,
        target: str = "main",
        compare: tuple[str, ...] = (),
    ) -> Found:
        """Run CI for a pull request: upload, then compare."""
        built = self.work.merge_ref(number, self.work.git("rev-parse", f"origin/{target}"), head)
        job = self._job(f"refs/pull/{number}/merge")
        env = self._env(
            "pull_request",
            self.event(number, head, fork=fork, target=target),
            f"refs/pull/{number}/merge",
            built,
        )
        return self._find(job, env, shots, options, compare)

    def queue(self, number: int, onto: str, head: str, shots: Shots) -> tuple[str, Found]:
        """Run CI for a pull request in GitHub's merge queue, onto main or the group before. Return its commit."""
        group = self.work.git("commit-tree", f"{head}^{{tree}}", "-p", onto, "-p", head, "-m", "Queue")
        ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{onto}"
        self.work.push(f"{group}:{ref}")
        about = {"head_sha": group, "head_ref": ref, "base_sha": onto, "base_ref": "refs/heads/main"}
        event = {"merge_group": about, "repository": {"full_name": "octo/shop", "default_branch": "main"}}
        env = self._env("merge_group", event, ref, group)
        return group, self._find(self._job(ref), env, shots, (), ())

    def _find(
        self, job: Path, env: dict[str, str], shots: Shots, options: tuple[str, ...], compare: tuple[str, ...]
    ) -> Found:
        """Upload, and return what a comparison says."""
        done = self._run(job, env, shots, "upload", "shots", *options)
        assert done.returncode == 0, done.stderr
        said = self._run(job, env, {}, "compare", "--json", *compare)
        found = json.loads(said.stdout)
        assert "error" not in found, (found, said.stderr)
        assert f"Dashboard: {found['dashboard_url']}" == done.stderr.splitlines()[-1]
        return Found(said.returncode, done.stderr + said.stderr, found)

    def merge(self, number: int, head: str, merged_as: str) -> str:
        """Run CI for a pull request that was merged, and return its messages."""
        event = self.event(number, head)
        event["action"] = "closed"
        event["pull_request"] |= {"merged": True, "merge_commit_sha": merged_as}
        env = self._env("pull_request", event, f"refs/pull/{number}/merge", merged_as)
        done = self._run(self.folder, env, {}, "expire")
        assert done.returncode == 0, done.stderr
        return done.stderr

    def event(self, number: int, head: str, *, fork: bool = False, target: str = "main") -> dict[str, Any]:
        repository = {"full_name": "octo/shop", "default_branch": "main"}
        pull = {
            "number": number,
            "title": "A change",
            "user": {"login": "ann"},
            "head": {"sha": head, "ref": "change", "repo": {"full_name": "ann/shop"} if fork else repository},
            "base": {"ref": target, "repo": repository},
        }
        return {"action": "synchronize", "repository": repository, "pull_request": pull}

    def in_terminal(self, *args: str, shots: Shots | None = None) -> "subprocess.CompletedProcess[str]":
        """Run the command in the developer's clone, without CI."""
        return self._run(self.work.folder, self._without_ci(), shots or {}, *args)

    def in_pull(self, number: int, head: str, *args: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in a job for the pull request."""
        env = self._env("pull_request", self.event(number, head), f"refs/pull/{number}/merge", head)
        return self._run(self.work.folder, env, {}, *args)

    def in_fork(self, number: int, head: str, *args: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in a job for a fork's pull request."""
        env = self._env(
            "pull_request", self.event(number, head, fork=True), f"refs/pull/{number}/merge", head
        )
        return self._run(self.work.folder, env, {"home": 1}, *args)

    def _job(self, ref: str) -> Path:
        """Check out a ref as a new job does: one commit."""
        self.jobs += 1
        return checkout_of(self.work, self.folder / f"job{self.jobs}", ref).folder

    def _without_ci(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PRSHOTS_URL": self.service.base_url,
            "PRSHOTS_TOKEN": self.token,
            **ALONE,
            **self.variables,
        }

    def _env(self, name: str, event: object, ref: str, sha: str) -> dict[str, str]:
        path = self.folder / "event.json"
        path.write_text(json.dumps(event))
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": "https://api.github.com",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "octo/shop",
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REF": ref,
            "GITHUB_SHA": sha,
            **self._without_ci(),
        }

    def _run(
        self, folder: Path, env: dict[str, str], shots: Shots, *args: str
    ) -> "subprocess.CompletedProcess[str]":
        for name, shows in shots.items():
            draw(folder / "shots" / f"{name}.png", shows)
        self.patch.chdir(folder)
        return self.run(*args, env=env)
