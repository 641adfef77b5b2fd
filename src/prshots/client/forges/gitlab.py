"""GitLab, .com and self-managed. The comment is a note on the merge request."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from prshots.client.ci import validate
from prshots.client.forges import Comment, ForgePullRequest, Merge
from prshots.client.forges.forge_api import ForgeApi
from prshots.client.forges.plain import PlainForge, merge_if_complete, open_with_head_branch, text_at
from prshots.client.sender import OnWait, ignore_wait

_NEEDS = (
    "GitLab needs a project, group or personal access token with the scope api and at least the role "
    "Reporter. The job's CI_JOB_TOKEN may not write notes"
)


class GitLab(PlainForge):
    label = "GitLab"
    max_characters = 1_000_000

    def __init__(self, *, api_url: str, repository: str, token: str, on_wait: OnWait = ignore_wait) -> None:
        # Bearer instead of PRIVATE-TOKEN: it also accepts tokens of OAuth applications.
        headers = {"Authorization": f"Bearer {token}"}
        super().__init__(ForgeApi(self.label, api_url, headers, on_wait, needs=_NEEDS))
        self._merge_requests = f"{_project(repository)}/merge_requests"
        self._pages: dict[int, str] = {}

    def me(self) -> str | None:
        return text_at(self._api.call("GET", "/user"), "username") or None

    def comments(self, pr_number: int) -> Iterator[Comment]:
        asked = {"sort": "asc", "order_by": "created_at", "per_page": "100"}
        for page in self._api.linked_pages(self._notes(pr_number), asked):
            for note in page:
                if not note.get("system"):  # written by GitLab: assignments and other events
                    yield self._comment(pr_number, note)

    def create(self, pr_number: int, body: str) -> Comment:
        self._page_of(pr_number)  # first, so that nothing fails after the note is created
        return self._comment(pr_number, self._api.call("POST", self._notes(pr_number), json={"body": body}))

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        self._api.call("PUT", f"{self._notes(pr_number)}/{comment_id}", json={"body": body})

    def delete(self, pr_number: int, comment_id: str) -> None:
        self._remove(f"{self._notes(pr_number)}/{comment_id}")

    def pull_request(self, pr_number: int) -> ForgePullRequest:
        return self._read(self._api.call("GET", f"{self._merge_requests}/{pr_number}"))

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        # A merge request has only the id of the project that its branch is in.
        fork = text_at(self._api.call("GET", _project(repository)), "id") if repository else ""
        asked = {"state": "opened", "source_branch": branch, "per_page": "100"}
        found = [
            replace(self._read(entry), repository=repository)
            for page in self._api.linked_pages(self._merge_requests, asked)
            for entry in page
            if not fork or text_at(entry, "source_project_id") == fork
        ]
        return open_with_head_branch(found, branch, repository)

    def merge_of(self, pr_number: int) -> Merge | None:
        found = self._api.call("GET", f"{self._merge_requests}/{pr_number}")
        if text_at(found, "state") != "merged":
            return None
        # A fast-forward has neither a merge commit nor, without squashing, another commit than the head.
        names = ("merge_commit_sha", "squash_commit_sha", "sha")
        sha = next(filter(None, (text_at(found, name) for name in names)), "")
        return merge_if_complete(sha, text_at(found, "target_branch"))

    def _read(self, entry: Any) -> ForgePullRequest:  # noqa: ANN401 - anything JSON can say
        if (number := validate.pr_number(entry.get("iid") if isinstance(entry, dict) else None)) is None:
            raise self._unlike("merge request")
        source, target = (text_at(entry, f"{end}_project_id") for end in ("source", "target"))
        from_fork = not source or source != target
        return ForgePullRequest(
            number=number,
            branch=text_at(entry, "source_branch"),
            repository="" if from_fork else text_at(entry, "references", "full").rpartition("!")[0],
            from_fork=from_fork,
            is_open=text_at(entry, "state") == "opened",
            target_branch=validate.branch(text_at(entry, "target_branch")),
            title=validate.words(text_at(entry, "title")),
            author=validate.words(text_at(entry, "author", "username")),
            url=validate.address(text_at(entry, "web_url")),
        )

    def _notes(self, pr_number: int) -> str:
        return f"{self._merge_requests}/{pr_number}/notes"

    def _comment(self, pr_number: int, note: Any) -> Comment:  # noqa: ANN401 - anything JSON can say
        note_id = text_at(note, "id")
        author = text_at(note, "author", "username")
        url = f"{self._page_of(pr_number)}#note_{note_id}"
        return self._checked(Comment(note_id, text_at(note, "body"), author, url))

    def _page_of(self, pr_number: int) -> str:
        """Return the web address of the merge request: notes do not have it."""
        if pr_number not in self._pages:
            found = self._api.call("GET", f"{self._merge_requests}/{pr_number}")
            self._pages[pr_number] = text_at(found, "web_url")
        return self._pages[pr_number]


def _project(repository: str) -> str:
    return f"/projects/{quote(repository, safe='')}"
