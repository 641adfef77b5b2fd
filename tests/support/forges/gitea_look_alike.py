"""A Gitea (or Forgejo) look-alike (API v1) with one pull request: routers/api/v1/repo/issue_comment.go, status.go."""

import re
from collections.abc import Mapping
from typing import Any

from support.forges.forge_server import Account, Answer, Asked, ForgeServer, Proposed, Status, Written

_COMMENTS = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/issues/(?P<index>\d+)/comments")
_COMMENT = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/issues/comments/(?P<comment>\d+)")
_ISSUE = re.compile(r"/repos/acme/shop/issues/(?P<index>\d+)")
_REVIEWS = re.compile(r"/repos/acme/shop/pulls/\d+/reviews(?:/(?P<review>\d+)/comments)?")
_STATUS = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/statuses/(?P<sha>[^/]+)")
_PULL = re.compile(r"/repos/acme/shop/pulls/(?P<index>\d+)")


ON_A_LINE = "line"
"""A comment on a line of the diff. It belongs to a review."""


class GiteaLookAlike(ForgeServer):
    """Set `pages` to page the comments. Gitea does not do this yet, but it pages its other lists."""

    name = "gitea"
    root = "/api/v1"
    actions_token = "token-of-actions"
    unscoped_token = "token-without-read-user"
    on_a_line = ON_A_LINE
    head_sha = "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d"

    def __init__(self) -> None:
        super().__init__()
        self.accounts[self.actions_token] = Account("gitea-actions")
        self.accounts[self.unscoped_token] = Account(self.login, may_ask_who=False)
        self.pages = False

    def presented_token(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("token ").removeprefix("Bearer ")

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/user":
            if not asked.account.may_ask_who:
                return Answer(403, self.shape("no_profile"))
            return Answer(200, self._person(asked.account.login))
        if asked.path == f"/repos/{self.repository}" and asked.account.is_member:
            return Answer(200, {"full_name": self.repository, "private": True})
        if asked.path == f"/repos/{self.repository}/pulls":
            is_wanted = {"open": (True,), "closed": (False,)}.get(
                asked.query.get("state", "open"), (True, False)
            )
            return Answer(200, [self._pull_request(one) for one in self.proposed if one.is_open in is_wanted])
        if found := _REVIEWS.fullmatch(asked.path):
            return Answer(200, self._list_reviews(found["review"]))
        if found := _PULL.fullmatch(asked.path):
            known = [one for one in self.proposed if str(one.number) == found["index"]]
            return (
                Answer(200, self._pull_request(known[0])) if known else Answer(404, self.shape("not_found"))
            )
        if (status := _STATUS.fullmatch(asked.path)) and status["repository"] == self.repository:
            return self._set_status(asked, status["sha"])
        if found := _ISSUE.fullmatch(asked.path):
            return self._issue(asked, found["index"])
        route = _COMMENTS.fullmatch(asked.path) or _COMMENT.fullmatch(asked.path)
        if route is None or route["repository"] != self.repository:
            return Answer(404, self.shape("not_found"))
        if asked.method != "GET" and not asked.account.may_write:
            return Answer(403, self.shape("insufficient_scope"))
        is_one = "comment" in route.groupdict()
        if asked.method not in (("PATCH", "DELETE") if is_one else ("GET", "POST")):
            return Answer(405)
        if is_one:
            return self._change(asked, route["comment"])
        if int(route["index"]) != self.pr_number:
            return Answer(500, {"message": "", "url": self.shape("not_found")["url"]})  # as in Gitea's source
        return self._list(asked) if asked.method == "GET" else self._create(asked)

    def _list(self, asked: Asked) -> Answer:
        headers = {"X-Total-Count": str(len(self._written))}
        page = [written for written in self._written if written.kind != ON_A_LINE]
        if self.pages:
            page, number, size, pages = self._page(asked, "limit")
            if number < pages:
                here = f"{self.public_url}{self.root}{asked.path}?limit={size}"
                headers["Link"] = f'<{here}&page={number + 1}>; rel="next",<{here}&page={pages}>; rel="last"'
        return Answer(200, [self._comment(written) for written in page], headers)

    def _create(self, asked: Asked) -> Answer:
        if not (body := _text(asked)):
            return Answer(422, self.shape("body_missing"))
        if self.locked and not asked.account.is_member:
            return Answer(403, self.shape("locked"))
        return Answer(201, self._comment(self._write(asked.account.login, body)))

    def _change(self, asked: Asked, comment_id: str) -> Answer:
        if (written := self._found(comment_id)) is None:
            return Answer(404, self.shape("no_comment"))
        if written.author != asked.account.login and not asked.account.is_member:
            return Answer(403)  # only members may edit other people's comments
        if asked.method == "DELETE":
            self._written.remove(written)
            return Answer(204)
        written.body = _text(asked)
        return Answer(200, self._comment(written))

    def _issue(self, asked: Asked, number: str) -> Answer:
        """Answer about the issue behind a pull request, which has its description."""
        if not any(str(one.number) == number for one in self.proposed):
            return Answer(404, self.shape("not_found"))
        if asked.method == "PATCH":
            if not asked.account.may_write or not asked.account.is_member:
                return Answer(403, self.shape("insufficient_scope"))
            self.description = asked.body["body"]
        return Answer(
            201 if asked.method == "PATCH" else 200, {"number": int(number), "body": self.description}
        )

    def _set_status(self, asked: Asked, sha: str) -> Answer:
        if not asked.account.may_write or not asked.account.may_set_status:
            return Answer(403, self.shape("status_scope"))
        if sha == self.unknown_commit:
            return Answer(500, {"message": "", "url": self.shape("not_found")["url"]})  # as in Gitea's source
        given = {"state": "", "context": "", "description": "", "target_url": ""} | asked.body
        made = Status(sha, given["context"], given["state"], given["description"], given["target_url"])
        self._statuses.append(made)
        body = {"id": len(self._statuses), "status": made.state, "creator": self._person(asked.account.login)}
        return Answer(201, given | body)

    def _comment(self, written: Written) -> Any:
        page = f"{self.public_url}/{self.repository}/pulls/{self.pr_number}"
        return self.shape("comment") | {
            "id": written.id,
            "html_url": f"{page}#issuecomment-{written.id}",
            "pull_request_url": page,
            "user": self._person(written.author),
            "body": written.body,
        }

    def _pull_request(self, proposed: Proposed) -> Any:
        head = {"sha": self.head_sha, "ref": proposed.branch, "repo": {"full_name": proposed.repository}}
        return {
            "number": proposed.number,
            "state": "open" if proposed.is_open else "closed",
            "title": "A new cart",
            "body": self.description,
            "user": self._person("ann"),
            "html_url": f"{self.public_url}/{self.repository}/pulls/{proposed.number}",
            "head": head,
            "base": {"ref": "main", "repo": {"full_name": self.repository}},
        }

    def _list_reviews(self, review: str | None) -> Any:
        """Return the reviews. What was written on a line is a separate review with one comment."""
        page = f"{self.public_url}/{self.repository}/pulls/{self.pr_number}/files"
        on_lines = [written for written in self._written if written.kind == ON_A_LINE]
        if review is None:
            found = [(written.id, written.author, "COMMENT", 1) for written in on_lines]
            found += [(7, author, state, 0) for author, state in self._reviews.items()]
            return [
                {
                    "id": number,
                    "body": "",
                    "state": state,
                    "dismissed": state == "DISMISSED",
                    "comments_count": count,
                    "user": self._person(author),
                    "html_url": f"{page}#review-{number}",
                    "submitted_at": "2026-04-12T08:00:00Z",
                    "updated_at": "2026-04-12T08:00:00Z",
                }
                for number, author, state, count in found
            ]
        return [
            {
                "id": written.id,
                "body": written.body,
                "user": self._person(written.author),
                "html_url": f"{page}#issuecomment-{written.id}",
                "path": "cart.css",
                "position": 12,
                "created_at": "2026-04-12T08:00:00Z",
                "updated_at": "2026-04-12T09:00:00Z",
            }
            for written in on_lines
            if str(written.id) == review
        ]

    def _person(self, login: str) -> Any:
        return self.shape("user") | {"login": login, "username": login}


def _text(asked: Asked) -> str:
    body = asked.body.get("body") if isinstance(asked.body, dict) else None
    return body if isinstance(body, str) else ""
