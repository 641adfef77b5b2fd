"""Gitea and Forgejo. Every pull request is an issue, and the comment is an issue comment."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from prshots.client.forges import Comment
from prshots.client.forges.forge_api import ForgeApi
from prshots.client.forges.plain import IssueForge, line_of, text_at
from prshots.client.sender import OnWait, ignore_wait

_NEEDS = (
    "Gitea and Forgejo need the token of Actions if it may write, or an access token with the scopes "
    "write:issue and read:user"
)


class Gitea(IssueForge):
    label = "Gitea"
    max_characters = 1_000_000  # Gitea has no limit
    _open_with_head = "/pulls", {"state": "open", "limit": "50"}  # it has no list by commit

    def __init__(self, *, api_url: str, repository: str, token: str, on_wait: OnWait = ignore_wait) -> None:
        headers = {"Authorization": f"token {token}"}
        super().__init__(ForgeApi(self.label, api_url, headers, on_wait, needs=_NEEDS))
        self._repository = repository
        self._issues = f"/repos/{quote(repository)}/issues"

    def me(self) -> str | None:
        # The Actions token can ask: it is gitea-actions or forgejo-actions. Guessing is not safe,
        # because a token that may write may also change other people's comments.
        return text_at(self._api.call("GET", "/user"), "login") or None

    def comments(self, pr_number: int) -> Iterator[Comment]:
        # Neither has pages here: all comments come in one reply, oldest first. If pages are added one day,
        # they will be linked as in the other lists.
        for page in self._api.linked_pages(self._comments(pr_number), {}):
            yield from map(self._comment, page)

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        address = f"/repos/{quote(self._repository)}/pulls/{pr_number}/reviews"
        for page in self._api.linked_pages(address, {"limit": "50"}):
            for review in page:
                if review.get("body"):
                    yield self._comment(review)
                if review.get("comments_count"):
                    for lines in self._api.linked_pages(f"{address}/{text_at(review, 'id')}/comments", {}):
                        yield from map(self._comment, lines)

    def create(self, pr_number: int, body: str) -> Comment:
        return self._comment(self._api.call("POST", self._comments(pr_number), json={"body": body}))

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        del pr_number
        self._api.call("PATCH", f"{self._issues}/comments/{comment_id}", json={"body": body})

    def delete(self, pr_number: int, comment_id: str) -> None:
        del pr_number
        self._remove(f"{self._issues}/comments/{comment_id}")

    def _comments(self, pr_number: int) -> str:
        return f"{self._issues}/{pr_number}/comments"

    def _comment(self, entry: Any) -> Comment:  # noqa: ANN401 - anything JSON can say
        return self._checked(
            Comment(
                id=text_at(entry, "id"),
                body=text_at(entry, "body"),
                author=text_at(entry, "user", "login"),
                url=text_at(entry, "html_url"),
                place=line_of(text_at(entry, "path"), text_at(entry, "position")),
            )
        )
