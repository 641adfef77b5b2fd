"""Forge look-alikes over real HTTP: repositories with pull requests to comment on."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from support.free_ports import free_port
from support.node_server import node_server

FOLDER = Path(__file__).parent


@dataclass
class GitHubLookAlike:
    """`url` is the root of the API, `enterprise_url` its root on GitHub Enterprise Server.

    `token` belongs to a workflow, `fork_token` to a workflow run for a fork's pull request, and `person_token` to
    a person with write access. `no_status_token` belongs to a workflow without `statuses: write`, and
    `no_scope_token` to a person whose classic token lacks the scope `repo:status`. `stranger_token` belongs to a person
    who may only comment.
    """

    url: str
    repository: str = "octocat/shop"
    token: str = "ghs_workflow"
    fork_token: str = "ghs_workflow_of_a_fork"
    person_token: str = "ghp_octocat"
    no_status_token: str = "ghs_workflow_without_statuses"
    no_scope_token: str = "ghp_octocat_without_scope"
    stranger_token: str = "ghp_mallory"
    unknown_commit: str = "0" * 40
    pr_number: int = 0
    _branches: Iterator[int] = field(default_factory=itertools.count)
    _client: httpx.Client = field(default_factory=lambda: httpx.Client(trust_env=False, timeout=30))

    @property
    def enterprise_url(self) -> str:
        return f"{self.url}/api/v3"

    def call(self, method: str, path: str, *, token: str = "", json: object = None) -> httpx.Response:
        """Call the API, by default with `person_token`."""
        headers = {"Authorization": f"Bearer {token or self.person_token}"}
        reply = self._client.request(method, self.url + path, headers=headers, json=json)
        assert reply.is_success, reply.text
        return reply

    def new_pr(self) -> int:
        """Open another pull request, for one test.

        Its number isn't 7: tests with a fixed number use that, and two projects of one repository and pull request
        are siblings.
        """
        number = self.propose(f"change-{next(self._branches)}")
        return self.new_pr() if number == 7 else number

    def propose(self, branch: str, repository: str = "", *, is_open: bool = True) -> int:
        """Open a pull request from a branch of this repository, or of a fork."""
        if repository:
            asked = {"branch": branch, "repository": repository}
            return int(self.call("POST", "/_forked", json=asked).json()["number"])
        asked = {"title": "A change", "head": branch, "base": "main"}
        number = int(self.call("POST", f"/repos/{self.repository}/pulls", json=asked).json()["number"])
        if not is_open:
            self.call("PATCH", f"/repos/{self.repository}/pulls/{number}", json={"state": "closed"})
        return number

    def comments(self, pr_number: int = 0) -> list[dict[str, Any]]:
        """Return GitHub's comments on a pull request, by default the first one."""
        path = f"/repos/{self.repository}/issues/{pr_number or self.pr_number}/comments?per_page=100&page="
        pages = (self.call("GET", f"{path}{page}").json() for page in itertools.count(1))
        return list(itertools.chain.from_iterable(itertools.takewhile(bool, pages)))

    def write(self, body: str, pr_number: int = 0, *, token: str = "") -> dict[str, Any]:
        """Comment on a pull request, by default with `person_token`."""
        path = f"/repos/{self.repository}/issues/{pr_number or self.pr_number}/comments"
        made: dict[str, Any] = self.call("POST", path, token=token, json={"body": body}).json()
        return made

    def statuses(self, sha: str, context: str = "prshots") -> list[tuple[str, str, str]]:
        """Return a commit's statuses of this name: state, description and URL, in order of arrival."""
        found = self.call("GET", f"/_statuses/{sha}?context={quote(context, safe='')}").json()
        return [(state, words, url) for state, words, url in found]

    def description(self, pr_number: int) -> str:
        return str(self.call("GET", f"/repos/{self.repository}/pulls/{pr_number}").json()["body"] or "")

    def describe(self, pr_number: int, text: str) -> None:
        self.call("PATCH", f"/repos/{self.repository}/pulls/{pr_number}", json={"body": text})

    def fill_statuses(self, sha: str) -> None:
        """Give a commit as many statuses as GitHub allows."""
        self.call("POST", f"/_statuses/{sha}")

    def app_key(self) -> str:
        """Return the private key of the App 4711, which is installed on `repository`."""
        return str(self.call("GET", "/_app_key").json())

    def purged(self) -> list[str]:
        """Return the addresses purged from the image proxy, in order."""
        return list(self.call("GET", "/_purged").json())


@contextlib.contextmanager
def github_look_alike() -> Iterator[GitHubLookAlike]:
    """Run a GitHub with one repository and one open pull request."""
    port = free_port()
    with node_server(FOLDER / "github.mjs", str(port)):
        github = GitHubLookAlike(f"http://127.0.0.1:{port}")
        with github._client:
            github.pr_number = github.new_pr()
            yield github
