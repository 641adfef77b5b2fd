"""A look-alike of each forge behind an unreliable proxy, with clients of it: the fixture `place`."""

import functools
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from prshots.client.ci import Job
from prshots.client.job_forge import forge_of
from prshots.contract.forge_kinds import ForgeKind
from prshots.forges import Forge
from support.forges.bitbucket_look_alike import BitbucketLookAlike
from support.forges.forge_server import ForgeServer, Written
from support.forges.gitea_look_alike import GiteaLookAlike
from support.forges.gitlab_look_alike import GitLabLookAlike
from support.forges.look_alikes import GitHubLookAlike
from support.unreliable_proxy import UnreliableProxy


class GitHubAsTheOthers:
    """GitHub's look-alike with the interface of the others. Each test has its own pull request."""

    name = "github"
    page_size = 100

    def __init__(self, github: GitHubLookAlike) -> None:
        self._github = github
        self.url = self.public_url = github.url
        self.repository = github.repository
        self.token, self.read_only_token = github.token, github.fork_token
        self.pr_number = github.new_pr()
        self.propose = github.propose
        self.statuses = github.statuses
        self.unknown_commit, self.no_status_token = github.unknown_commit, github.no_status_token

    @property
    def description(self) -> str:
        return self._github.description(self.pr_number)

    @description.setter
    def description(self, text: str) -> None:
        self._github.describe(self.pr_number, text)

    def comments(self) -> list[Written]:
        found = self._github.comments(self.pr_number)
        return [Written(entry["id"], entry["user"]["login"], entry["body"]) for entry in found]

    def write_on_line(self, author: str, body: str) -> object:
        del author
        path = f"/repos/{self.repository}/pulls/{self.pr_number}"
        head = self._github.call("GET", path).json()["head"]["sha"]
        asked = {"body": body, "path": "cart.css", "line": 12, "side": "RIGHT", "commit_id": head}
        return self._github.call("POST", f"{path}/comments", json=asked)

    def review_as(self, author: str, state: str) -> None:
        del author, state
        path = f"/repos/{self.repository}/pulls/{self.pr_number}/reviews"
        self._github.call("POST", path, json={"event": "REQUEST_CHANGES", "body": ""})

    def write_as(self, author: str, body: str) -> Written:
        del author
        made = self._github.write(body, self.pr_number)
        return Written(made["id"], made["user"]["login"], made["body"])


@dataclass
class Place:
    """A forge's look-alike behind an unreliable proxy, and clients of it."""

    look_alike: Any
    front: UnreliableProxy
    stack: ExitStack
    waits: list[str] = field(default_factory=list)

    @functools.cached_property
    def forge(self) -> Forge:
        return self.another_forge()

    def another_forge(self, token: str = "", repository: str = "") -> Forge:
        job = Job(
            forge=ForgeKind(self.look_alike.name),
            forge_api=self.front.url + urlsplit(self.look_alike.url).path,
            repository=repository or self.look_alike.repository,
            forge_token=token or self.look_alike.token,
        )
        return self.stack.enter_context(closing(forge_of(job, self.waits.append)))

    @property
    def pr_number(self) -> int:
        return int(self.look_alike.pr_number)

    def bodies(self) -> list[str]:
        return [comment.body for comment in self.look_alike.comments()]

    def writes(self) -> int:
        """Return the number of write requests. GitHub's query for our login is a POST, but not a write."""
        return sum(
            request.split()[0] != "GET" and not request.endswith("/graphql") for request in self.front.seen
        )


OTHERS = {made.name: made for made in (GitLabLookAlike, GiteaLookAlike, BitbucketLookAlike)}


@pytest.fixture(params=["github", *OTHERS], name="place")
def place_on_each_forge(request: pytest.FixtureRequest) -> Iterator[Place]:
    with ExitStack() as stack:
        look_alike: Any
        if request.param == "github":
            look_alike = GitHubAsTheOthers(request.getfixturevalue("github"))
        else:
            look_alike = stack.enter_context(OTHERS[request.param]())
        front = stack.enter_context(UnreliableProxy(look_alike.public_url))
        look_alike.public_url = front.url
        yield Place(look_alike, front, stack)


def forge_at(look_alike: ForgeServer, token: str = "", repository: str = "") -> closing[Forge]:
    """Return a client of a look-alike."""
    job = Job(
        forge=ForgeKind(look_alike.name),
        forge_api=look_alike.url,
        repository=repository or look_alike.repository,
        forge_token=token or look_alike.token,
    )
    return closing(forge_of(job))
