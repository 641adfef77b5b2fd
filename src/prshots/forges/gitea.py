"""Gitea and Forgejo. Every pull request is an issue, and the comment is an issue comment."""

from collections.abc import Iterator, Mapping

from prshots.contract.errors import ForgeError
from prshots.forges.forge import Comment, IssueForge, review_state
from prshots.forges.forge_api import text_at


class Gitea(IssueForge):
    label = "Gitea"
    max_characters = 1_000_000  # Gitea has no limit
    needs = (
        "Gitea and Forgejo need the token of Actions if it may write, or an access token with the scopes "
        "write:issue and read:user, and write:repository for commit statuses"
    )
    _open_with_head = "/pulls", {"state": "open", "limit": "50"}  # Gitea can't list by commit
    _line = "position"

    def _headers(self, token: str) -> Mapping[str, str]:
        return {"Authorization": f"token {token}"}

    def me(self) -> str | None:
        # The Actions token can ask: it is gitea-actions or forgejo-actions. Guessing isn't safe, because a
        # token that can write can also change other people's comments.
        return text_at(self._api.call("GET", "/user"), "login") or None

    def comments(self, pr_number: int) -> Iterator[Comment]:
        # Neither paginates here: all comments come in one reply, oldest first. If pages are added one day,
        # they will be linked as in the other lists.
        try:
            yield from map(self._comment, self._api.entries(self._comments(pr_number), {}))
        except ForgeError:
            self._pull(pr_number)  # if there is no such pull request, comments are a 500, and this is a 404
            raise

    def _described(self, pr_number: int) -> str:
        return f"{self._path_of(self._repository)}/issues/{pr_number}"  # the same scope as the comment

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        address = f"{self._pulls}/{pr_number}/reviews"
        for review in self._api.entries(address, {"limit": "50"}):
            if review.get("body") or review_state(review) not in {"", "commented"}:
                yield self._comment(review)
            if review.get("comments_count"):
                lines = self._api.entries(f"{address}/{text_at(review, 'id')}/comments", {})
                yield from map(self._comment, lines)
