"""Gitea and Forgejo: the comment is one of the issue that every pull request is."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from prshots.client.forges import Comment
from prshots.client.forges.calling import ForgeApi
from prshots.client.forges.plain import PlainForge, text_at
from prshots.client.sending import OnWait, ignore_wait

_NEEDS = (
    "Gitea and Forgejo take the token of Actions where it may write, or an access token with the scopes "
    "write:issue and read:user"
)


class Gitea(PlainForge):
    label = "Gitea"
    max_characters = 1_000_000  # as much as nobody writes: it has no limit of its own

    def __init__(self, *, api_url: str, repository: str, token: str, on_wait: OnWait = ignore_wait) -> None:
        headers = {"Authorization": f"token {token}"}
        super().__init__(ForgeApi(self.label, api_url, headers, on_wait, needs=_NEEDS))
        self._issues = f"/repos/{quote(repository)}/issues"

    def me(self) -> str | None:
        # The token of Actions may ask too: it is gitea-actions or forgejo-actions. To guess would not do, as
        # whoever may write here may also change the comments of others.
        return text_at(self._api.call("GET", "/user"), "login") or None

    def comments(self, pr_number: int) -> Iterator[Comment]:
        # Neither takes a page's size here: all comments come at once, oldest first. Should one begin to page,
        # it links its pages as in its other lists.
        for page in self._api.linked_pages(self._comments(pr_number), {}):
            yield from map(self._comment, page)

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
            )
        )
