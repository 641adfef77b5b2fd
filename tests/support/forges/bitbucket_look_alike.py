"""A Bitbucket Cloud look-alike (API 2.0) with one pull request. A deleted comment stays in the list."""

import base64
import html
import re
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from support.forges.forge_server import Account, Answer, Asked, ForgeServer, Proposed, Status, Written

_ROUTE = re.compile(
    r"/repositories/(?P<repository>[^/]+/[^/]+)/pullrequests/(?P<id>\d+)/comments(?:/(?P<comment>\d+))?"
)
_STATUS = re.compile(r"/repositories/(?P<repository>[^/]+/[^/]+)/commit/(?P<sha>[^/]+)/statuses/build")
_PULLS = re.compile(r"/repositories/(?P<repository>[^/]+/[^/]+)/pullrequests(?:/(?P<id>\d+))?")
_QUERY = re.compile(r'state = "OPEN" AND source\.branch\.name = "((?:[^"\\]|\\.)*)"')
_STATES = {"SUCCESSFUL": "success", "INPROGRESS": "pending", "FAILED": "failure", "STOPPED": "stopped"}
DELETED = "deleted"
INLINE = "inline"
"""A comment on a line of the diff."""


class BitbucketLookAlike(ForgeServer):
    """`token` belongs to a person and includes their email. `access_token` belongs to the repository: no account."""

    name = "bitbucket"
    root = "/2.0"
    token = "ann@example.com:token-of-prshots-bot"
    access_token = "token-of-the-repository"
    on_a_line = INLINE

    def __init__(self) -> None:
        super().__init__()
        self.accounts[self.access_token] = Account("shop-screenshots", may_ask_who=False)
        self._creators: dict[tuple[str, str], str] = {}

    def presented_token(self, headers: Mapping[str, str]) -> str:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind == "Basic":
            return base64.b64decode(given).decode()
        return given if kind == "Bearer" and ":" not in given else ""  # a person's token needs Basic

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/user":
            if not asked.account.may_ask_who:
                return Answer(403, self.shape("no_profile"))
            return Answer(200, self._person(asked.account.login))
        if asked.path == f"/repositories/{self.repository}":
            return Answer(200, {"type": "repository", "full_name": self.repository})
        if found := _PULLS.fullmatch(asked.path):
            return self._pulls(asked, found["repository"], found["id"])
        if found := _STATUS.fullmatch(asked.path):
            return self._set_status(asked, found["repository"], found["sha"])
        route = _ROUTE.fullmatch(asked.path)
        if route is None or int(route["id"]) != self.pr_number:
            return Answer(404, self.shape("no_pull_request"))
        if route["repository"] != self.repository:
            return Answer(404, self.shape("no_repository"))
        if asked.method != "GET" and not asked.account.may_write:
            return Answer(403, self.shape("insufficient_scope"))
        match asked.method, route["comment"]:
            case "GET", None:
                return self._list(asked)
            case "POST", None:
                return self._create(asked)
            case "PUT" | "DELETE", str(comment):
                return self._change(asked, comment)
        return Answer(405)

    def _list(self, asked: Asked) -> Answer:
        found, number, size, pages = self._page(asked, "pagelen")
        page = self.shape("page") | {
            "values": [self._comment(written) for written in found],
            "pagelen": size,
            "size": len(self._written),
            "page": number,
        }
        if number < pages:
            asks = urlencode({**asked.query, "pagelen": size, "page": number + 1})
            page["next"] = f"{self.public_url}{self.root}{asked.path}?{asks}"
        return Answer(200, page)

    def _pulls(self, asked: Asked, repository: str, number: str | None) -> Answer:
        if repository != self.repository:
            return Answer(404, self.shape("no_repository"))
        if number:
            known = [one for one in self.proposed if str(one.number) == number]
            if known and asked.method == "PUT":
                return self._change_pull(asked, known[0])
            return Answer(200, self._pull(known[0])) if known else Answer(404, self.shape("no_pull_request"))
        if not (query := _QUERY.fullmatch(asked.query.get("q", ""))):
            return Answer(400, self.shape("bad_request"))
        branch = re.sub(r"\\(.)", r"\1", query[1])
        found = [self._pull(one) for one in self.proposed if one.is_open and one.branch == branch]
        return Answer(200, self.shape("page") | {"values": found, "size": len(found)})

    def _change_pull(self, asked: Asked, proposed: Proposed) -> Answer:
        if not asked.account.may_write:
            return Answer(403, self.shape("insufficient_scope"))
        if not proposed.is_open or not asked.body.get("title"):
            return Answer(400, self.shape("bad_request"))
        self.description = asked.body["description"]
        return Answer(200, self._pull(proposed))

    def _pull(self, proposed: Proposed) -> Any:
        page = f"{self.public_url}/{self.repository}/pull-requests/{proposed.number}"
        return {
            "type": "pullrequest",
            "id": proposed.number,
            "state": "OPEN" if proposed.is_open else "DECLINED",
            "title": "A new cart",
            "description": self.description,
            "author": self._person("ann"),
            "links": {"html": {"href": page}},
            "source": {"branch": {"name": proposed.branch}, "repository": {"full_name": proposed.repository}},
            "destination": {"branch": {"name": "main"}, "repository": {"full_name": self.repository}},
            "participants": [
                {
                    "type": "participant",
                    "user": self._person(author),
                    "role": "REVIEWER",
                    "approved": state == "approved",
                    "state": state,
                    "participated_on": "2026-04-12T08:00:00.000000+00:00",
                }
                for author, state in self._reviews.items()
            ],
        }

    def _create(self, asked: Asked) -> Answer:
        if not (body := _raw(asked)):
            return Answer(400, self.shape("bad_request"))
        return Answer(201, self._comment(self._write(asked.account.login, body)))

    def _change(self, asked: Asked, comment_id: str) -> Answer:
        if (written := self._found(comment_id)) is None:
            return Answer(404, self.shape("no_comment"))
        if written.author != asked.account.login:
            return Answer(403, self.shape("not_yours"))
        if asked.method == "DELETE":
            written.kind, written.body = DELETED, ""
            return Answer(204)
        if not (body := _raw(asked)):
            return Answer(400, self.shape("bad_request"))
        written.body = body
        return Answer(200, self._comment(written))

    def _set_status(self, asked: Asked, repository: str, sha: str) -> Answer:
        """Create or overwrite a build status. Only its creator may overwrite it."""
        if repository != self.repository:
            return Answer(404, self.shape("no_repository"))
        if not asked.account.may_write or not asked.account.may_set_status:
            return Answer(403, self.shape("status_scope"))
        if sha == self.unknown_commit:
            return Answer(404, self.shape("no_commit"))
        if wrong := _wrong_fields(asked.body):
            words = "; ".join(f"{name}: {why}" for name, why in wrong.items())
            return Answer(400, {"type": "error", "error": {"message": words, "fields": wrong}})
        given = {"description": "", **asked.body}
        if self._creators.setdefault((sha, given["key"]), asked.account.login) != asked.account.login:
            return Answer(403, self.shape("not_your_status"))
        self._statuses.append(
            Status(sha, given["key"], _STATES[given["state"]], given["description"], given["url"])
        )
        return Answer(201, {"type": "build", **given})

    def _comment(self, written: Written) -> Any:
        shape = self.shape("comment")
        here = f"{self.public_url}/{self.repository}/pull-requests/{self.pr_number}"
        shape["links"]["html"]["href"] = f"{here}/_/diff#comment-{written.id}"
        shape["content"] |= {"raw": written.body, "html": f"<p>{html.escape(written.body)}</p>"}
        if written.kind == INLINE:
            shape["inline"] = self.shape("inline")
        return shape | {
            "id": written.id,
            "user": self._person(written.author),
            "deleted": written.kind == DELETED,
        }

    def _person(self, login: str) -> Any:
        account = f"{{{uuid.uuid5(uuid.NAMESPACE_DNS, login)}}}"
        shape = self.shape("user") | {"nickname": login, "display_name": login, "uuid": account}
        shape["links"]["self"]["href"] = f"{self.public_url}{self.root}/users/{quote(account)}"
        return shape


def _wrong_fields(given: Mapping[str, str]) -> dict[str, str]:
    """Return what Bitbucket finds wrong with a build status, by field."""
    wrong = {name: "required key not provided" for name in ("key", "state", "url") if name not in given}
    for name, most in (("key", 40), ("name", 255), ("description", 255)):
        if len(given.get(name, "")) > most:
            wrong[name] = f"Ensure this value has at most {most} characters (it has {len(given[name])})."
    if given.get("state") not in _STATES:
        wrong["state"] = "Select a valid choice."
    if not re.fullmatch(r"https?://(localhost|[^/:\s]+\.[^/:\s]+)(:\d+)?(/\S*)?", given.get("url", "")):
        wrong.setdefault("url", "Enter a valid URL.")
    return wrong


def _raw(asked: Asked) -> str:
    """Return the text, or "" if it is missing or longer than Bitbucket allows."""
    content = asked.body.get("content") if isinstance(asked.body, dict) else None
    raw = content.get("raw") if isinstance(content, dict) else None
    return raw if isinstance(raw, str) and len(raw) <= 32_768 else ""
