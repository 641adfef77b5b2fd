"""A GitLab look-alike (API v4) with one merge request: lib/api/notes.rb and the Notes API documentation."""

import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlencode

from support.forges.forge_server import Answer, Asked, ForgeServer, Proposed, Status, Written
from support.forges.gitlab_statuses import Pipelines

_ROUTE = re.compile(
    r"/projects/(?P<project>[^/]+)/merge_requests/(?P<iid>\d+)(?P<notes>/notes)?(?:/(?P<note>\d+))?"
)
_PROJECT = re.compile(r"/projects/(?P<project>[^/]+)")
_STATUS = re.compile(r"/projects/(?P<project>[^/]+)/statuses/(?P<sha>[^/]+)")
_LIST = re.compile(r"/projects/(?P<project>[^/]+)/merge_requests")
SYSTEM = "system"
"""A note that GitLab writes itself, such as "assigned to @ann". It is in the list but is not a comment."""
HIDDEN = "hidden"
"""A note the caller may not see: it counts toward the pages but is not in them."""


class GitLabLookAlike(ForgeServer):
    name = "gitlab"
    root = "/api/v4"
    project_id = 16689
    fork_commit = "f" * 40
    """A commit that only a fork has in a branch, and in a pipeline."""

    merged_as = ""
    """The commit that the merge request was merged as; empty while it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.pipelines = Pipelines()

    def presented_token(self, headers: Mapping[str, str]) -> str:
        bearer = headers.get("authorization", "")
        return headers.get("private-token", "") or bearer.removeprefix("Bearer ")

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/user":
            return Answer(200, self._person("user", asked.account.login))
        if found := _PROJECT.fullmatch(asked.path):
            return self._project(unquote(found["project"]))
        if found := _LIST.fullmatch(asked.path):
            return self._merge_requests(asked, unquote(found["project"]))
        if asked.path.endswith(f"/merge_requests/{self.pr_number}/reviewers"):
            people = self._reviews.items()
            return Answer(
                200, [{"user": self._person("author", who), "state": state} for who, state in people]
            )
        if found := _STATUS.fullmatch(asked.path):
            return self._set_status(asked, unquote(found["project"]), found["sha"])
        if not (route := _ROUTE.fullmatch(asked.path)):
            return Answer(404, self.shape("no_route"))
        if asked.method != "GET" and not asked.account.may_write:
            return Answer(403, self.shape("insufficient_scope"))
        if unquote(route["project"]) not in (self.repository, str(self.project_id)):
            return Answer(404, self.shape("no_project"))
        proposed = next((one for one in self.proposed if str(one.number) == route["iid"]), None)
        if proposed is None or (route["notes"] and proposed.number != self.pr_number):
            return Answer(404, self.shape("no_merge_request"))
        match asked.method, route["notes"], route["note"]:
            case "GET" | "PUT", None, None:
                if asked.method == "PUT":
                    self.description = asked.body["description"]
                return Answer(200, self._merge_request(proposed))
            case "GET", _, None:
                return self._list(asked)
            case "POST", _, None:
                return self._create(asked)
            case "PUT" | "DELETE", _, str(note):
                return self._change(asked, note)
        return Answer(405, {"error": "405 Not Allowed"})

    def _list(self, asked: Asked) -> Answer:
        newest_first = asked.query.get("sort", "desc") == "desc"
        page, number, size, pages = self._page(asked, "per_page", reverse=newest_first)
        following = number + 1 if number < pages else None
        links = {"first": 1, "last": pages} | ({"next": following} if following else {})
        here = f"{self.public_url}{self.root}{asked.path}"
        headers = {
            "Link": ", ".join(
                f'<{here}?{urlencode({**asked.query, "page": to, "per_page": size})}>; rel="{rel}"'
                for rel, to in links.items()
            ),
            "RateLimit-Limit": "2000",
            "RateLimit-Remaining": "1999",
            "RateLimit-Reset": str(int(time.time()) + 60),
        }
        return Answer(200, [self._note(written) for written in page if written.kind != HIDDEN], headers)

    def _create(self, asked: Asked) -> Answer:
        if not (body := _text(asked)):
            return Answer(400, self.shape("body_missing"))
        if self.locked and not asked.account.is_member:
            return Answer(403, self.shape("forbidden"))
        return Answer(201, self._note(self._write(asked.account.login, body)))

    def _change(self, asked: Asked, note_id: str) -> Answer:
        if (written := self._found(note_id)) is None:
            return Answer(404, self.shape("no_note"))
        if written.author != asked.account.login:
            return Answer(403, self.shape("forbidden"))
        if asked.method == "DELETE":
            self._written.remove(written)
            return Answer(204)
        written.body = _text(asked)
        return Answer(200, self._note(written))

    def _set_status(self, asked: Asked, project: str, sha: str) -> Answer:
        if not asked.account.may_write:
            return Answer(403, self.shape("insufficient_scope"))
        if project not in (self.repository, str(self.project_id)):
            return Answer(404, self.shape("no_project"))
        if not asked.account.may_set_status:  # the role is below Developer
            return Answer(403, self.shape("forbidden"))
        missing = {self.unknown_commit: "Commit", self.fork_commit: "References for commit"}
        if sha in missing:
            return Answer(404, {"message": f"404 {missing[sha]} Not Found"})
        answer = self.pipelines.set_status(sha, asked.body, asked.account.login)
        if answer.status == 201 and asked.body["state"] != "canceled":
            made: Any = answer.body
            state = made["status"].replace("failed", "failure")
            self._statuses.append(Status(sha, made["name"], state, made["description"], made["target_url"]))
        return answer

    def _note(self, written: Written) -> Any:
        return self.shape("note") | {
            "id": written.id,
            "body": written.body,
            "author": self._person("author", written.author),
            "system": written.kind == SYSTEM,
            "noteable_iid": self.pr_number,
        }

    def _person(self, shape: str, login: str) -> Any:
        return self.shape(shape) | {"username": login, "web_url": f"https://gitlab.example.com/{login}"}

    def _id_of(self, repository: str) -> int | None:
        known = {one.repository for one in self.proposed} - {self.repository}
        ids = {self.repository: self.project_id} | {name: 500 + at for at, name in enumerate(sorted(known))}
        return ids.get(repository)

    def _project(self, repository: str) -> Answer:
        if (found := self._id_of(repository)) is None:
            return Answer(404, self.shape("no_project"))
        return Answer(200, {"id": found, "path_with_namespace": repository})

    def _merge_requests(self, asked: Asked, repository: str) -> Answer:
        if repository not in (self.repository, str(self.project_id)):
            return Answer(404, self.shape("no_project"))
        state, branch = asked.query.get("state", "all"), asked.query.get("source_branch")
        found = [
            one
            for one in self.proposed
            if state == "all" or one.is_open == (state == "opened")
            if branch in (None, one.branch)
        ]
        return Answer(200, [self._merge_request(one) for one in found])

    def _merge_request(self, proposed: Proposed) -> Any:
        page = f"{self.public_url}/{self.repository}/-/merge_requests/{proposed.number}"
        return self.shape("merge_request") | {
            "iid": proposed.number,
            "description": self.description,
            "author": self._person("author", "ann"),
            "web_url": page,
            "state": "merged" if self.merged_as else "opened" if proposed.is_open else "closed",
            "source_branch": proposed.branch,
            "source_project_id": self._id_of(proposed.repository),
            "target_project_id": self.project_id,
            "merge_commit_sha": self.merged_as or None,
            "squash_commit_sha": None,
            "target_branch": "main",
        }


def _text(asked: Asked) -> str:
    """Return the text as GitLab stores it after extracting quick actions: lib/gitlab/quick_actions."""
    body = asked.body.get("body") if isinstance(asked.body, dict) else None
    return body.replace("\r", "").rstrip() if isinstance(body, str) else ""
