"""The common part of the GitLab, Gitea and Bitbucket look-alikes: accounts, one pull request, its comments.

with GitLabLookAlike() as gitlab:
    gitlab.write_as("somebody", "Looks good to me")
    … GitLab(api_url=gitlab.url, repository=gitlab.repository, token=gitlab.token) …
    assert [comment.body for comment in gitlab.comments()] == [...]

Replies follow the shapes in `replies/`, which are recorded from the forges or taken from their documentation.
"""

import contextlib
import copy
import itertools
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

from support import http_server

REPLIES = Path(__file__).parent / "replies"


@dataclass
class Written:
    """A comment. `kind` is "" for a normal comment, or names a forge-specific kind that readers do not see as one."""

    id: int
    author: str
    body: str
    kind: str = ""


@dataclass(frozen=True)
class Proposed:
    """A pull request: a branch of this repository, or of a fork."""

    number: int
    branch: str
    repository: str
    is_open: bool = True


@dataclass(frozen=True)
class Account:
    login: str
    may_write: bool = True
    may_ask_who: bool = True
    may_set_status: bool = True
    is_member: bool = True


class Status(NamedTuple):
    """A commit status as it arrived. `state` is success, pending or failure on every forge."""

    sha: str
    name: str
    state: str
    description: str
    url: str


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    account: Account


@dataclass(frozen=True)
class Answer:
    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ForgeServer(ABC):
    """A server that runs inside `with`. `requests` lists every request as "METHOD /path?query".

    `public_url` is the address it puts into replies. It can differ from the real one, for example behind a proxy.
    """

    name: ClassVar[str]
    root: ClassVar[str]
    repository = "acme/shop"
    pr_number = 11
    login = "prshots-bot"
    token = "token-of-prshots-bot"
    read_only_token = "token-that-may-only-read"
    outsider_token = "token-of-no-member"
    no_status_token = "token-that-may-not-set-statuses"
    unknown_commit = "0" * 40
    largest_page = 100
    on_a_line = ""
    """The kind of a comment on a line of the diff, if that is another list."""

    def __init__(self) -> None:
        self.accounts = {
            self.token: Account(self.login),
            self.read_only_token: Account(self.login, may_write=False),
            self.outsider_token: Account("passer-by", is_member=False, may_set_status=False),
            self.no_status_token: Account(self.login, may_set_status=False),
        }
        self.page_size = self.largest_page
        self.locked = False
        self.description = ""
        """The text that opens the pull request."""
        self.requests: list[str] = []
        self.proposed = [Proposed(self.pr_number, "cart", self.repository)]
        self._written: list[Written] = []
        self._reviews: dict[str, str] = {}
        self._statuses: list[Status] = []
        self._ids = itertools.count(4180)
        self._replies = json.loads((REPLIES / f"{self.name}.json").read_text())
        self._lock = threading.Lock()
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.public_url = self._running.enter_context(http_server.answering(self._reply))
        self.url = self.public_url + self.root
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def comments(self) -> list[Written]:
        """Return the normal comments, oldest first."""
        with self._lock:
            return [copy.copy(comment) for comment in self._written if not comment.kind]

    def statuses(self, sha: str, name: str = "prshots") -> list[tuple[str, str, str]]:
        """Return a commit's statuses of this name: state, description and URL, in order of arrival."""
        with self._lock:
            return [one[2:] for one in self._statuses if (one.sha, one.name) == (sha, name)]

    def write_as(self, author: str, body: str, kind: str = "") -> Written:
        with self._lock:
            return self._write(author, body, kind)

    def write_on_line(self, author: str, body: str) -> Written:
        """Write on a line of the diff."""
        return self.write_as(author, body, self.on_a_line)

    def review_as(self, author: str, state: str) -> None:
        """Review without a text. `state` is the forge's own."""
        self._reviews[author] = state

    def propose(self, branch: str, repository: str = "", *, is_open: bool = True) -> int:
        """Open a pull request from a branch of this repository, or of a fork."""
        number = self.pr_number + 100 + len(self.proposed)
        with self._lock:
            self.proposed.append(Proposed(number, branch, repository or self.repository, is_open))
        return number

    def _reply(self, asked: BaseHTTPRequestHandler, body: bytes) -> http_server.Answer:
        with self._lock:
            self.requests.append(f"{asked.command} {asked.path}")
            answer = self._answer(asked, body)
        said = b"" if answer.body is None else json.dumps(answer.body).encode()
        return answer.status, {**answer.headers, "Content-Type": "application/json"}, said

    def _answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> Answer:
        parts = urlsplit(asked.path)
        if not parts.path.startswith(self.root):
            return Answer(404, {"error": "Not Found"})
        try:
            said = json.loads(body) if body else None
        except ValueError:
            return Answer(400, {"message": "invalid JSON"})
        if (account := self.accounts.get(self.presented_token(asked.headers))) is None:
            return Answer(401, self.shape("unauthorized"))
        path = parts.path.removeprefix(self.root)
        return self.answer(Asked(asked.command, path, dict(parse_qsl(parts.query)), said, account))

    @abstractmethod
    def presented_token(self, headers: Mapping[str, str]) -> str: ...

    @abstractmethod
    def answer(self, asked: Asked) -> Answer: ...

    def shape(self, name: str) -> Any:
        """Return a copy of one of the forge's replies, to fill in."""
        return copy.deepcopy(self._replies[name])

    def _write(self, author: str, body: str, kind: str = "") -> Written:
        self._written.append(Written(next(self._ids), author, body, kind))
        return self._written[-1]

    def _found(self, comment_id: str) -> Written | None:
        return next(
            (comment for comment in self._written if str(comment.id) == comment_id and not comment.kind), None
        )

    def _page(
        self, asked: Asked, size_name: str, *, reverse: bool = False
    ) -> tuple[list[Written], int, int, int]:
        """Return a page, its number, its size and the number of pages."""
        size = min(int(asked.query.get(size_name, "20")), self.page_size)
        number = max(int(asked.query.get("page", "1")), 1)
        pages = max(-(-len(self._written) // size), 1)
        listed = self._written[::-1] if reverse else self._written
        return listed[(number - 1) * size : number * size], number, size, pages
