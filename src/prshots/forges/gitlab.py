"""GitLab, .com and self-managed. The comment is a note on the merge request."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

from prshots.contract import validate
from prshots.contract.errors import ForgeError, ForgeRefusedError
from prshots.contract.replies import CommitState
from prshots.contract.statements import message
from prshots.forges.forge import (
    Comment,
    Forge,
    ForgePullRequest,
    Merge,
    line_of,
    merge_if_complete,
    open_with_head_branch,
    review_state,
)
from prshots.forges.forge_api import text_at

_TRIES = 5
"""How many times to start a status. Another job with our token may start one at the same time."""


class GitLab(Forge):
    label = "GitLab"
    max_characters = 1_000_000
    needs = (
        "GitLab needs a project, group or personal access token with the scope api and at least the role "
        "Reporter, or Developer for commit statuses. The job's CI_JOB_TOKEN may write neither notes nor "
        "commit statuses"
    )
    states: ClassVar = {CommitState.FAILURE: "failed"}
    _pulls_name = "merge_requests"
    _editing = "PUT", "description"
    _page: tuple[int, str] = (0, "")
    """The last merge request, and its web address."""

    def me(self) -> str | None:
        return text_at(self._api.call("GET", "/user"), "username") or None

    def comments(self, pr_number: int) -> Iterator[Comment]:
        asked = {"sort": "asc", "order_by": "created_at", "per_page": "100"}
        for note in self._api.entries(self._notes(pr_number), asked):
            if not note.get("system"):  # system notes are GitLab's own: assignments and other events
                yield self._comment(pr_number, note)

    def reviews(self, pr_number: int) -> Iterator[Comment]:
        """Yield each reviewer's state, which has no time. What they wrote is among the notes."""
        for entry in self._api.entries(f"{self._pulls}/{pr_number}/reviewers", {"per_page": "100"}):
            person, state = text_at(entry, "user", "username"), review_state(entry)
            if state:
                yield Comment(f"review-{person}", "", person, self._page_of(pr_number), state=state)

    def create(self, pr_number: int, body: str) -> Comment:
        self._page_of(pr_number)  # first, to fail before the note is created
        return self._comment(pr_number, self._api.call("POST", self._notes(pr_number), json={"body": body}))

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        self._api.call("PUT", f"{self._notes(pr_number)}/{comment_id}", json={"body": body})

    def delete(self, pr_number: int, comment_id: str) -> None:
        self._remove(f"{self._notes(pr_number)}/{comment_id}")

    def _post_status(self, path: str, body: Mapping[str, str], context: str) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                super()._post_status(path, body, context)
            except ForgeError as error:
                if not tries_left or "Cannot transition" not in str(error):
                    raise self._explain(error, context) from None
            else:
                return
            # GitLab can't change a pending status, not even its description. End it, and start another.
            super()._post_status(path, {**body, "state": "canceled"}, context)

    def _explain(self, error: ForgeError, context: str) -> ForgeError:
        if "References for commit" in str(error):
            words = message("gitlab_has_no_pipeline", project=self._repository)
            return ForgeRefusedError(words, is_final=True)
        if "already been taken" in str(error):
            return ForgeError(message("gitlab_job_has_status_name", name=context))
        return error

    def open_from(self, branch: str, repository: str = "") -> list[ForgePullRequest]:
        # A merge request only has the id of the project with its branch.
        fork = text_at(self._api.call("GET", self._path_of(repository)), "id") if repository else ""
        asked = {"state": "opened", "source_branch": branch, "per_page": "100"}
        found = [
            replace(self._read_pull(entry), repository=repository)
            for entry in self._api.entries(self._pulls, asked)
            if not fork or text_at(entry, "source_project_id") == fork
        ]
        return open_with_head_branch(found, branch, repository)

    def merge_of(self, pr_number: int) -> Merge | None:
        found = self._pull(pr_number)
        if text_at(found, "state") != "merged":
            return None
        # A fast-forward has no merge commit. Without squashing, its only commit is the head.
        names = ("merge_commit_sha", "squash_commit_sha", "sha")
        sha = next(filter(None, (text_at(found, name) for name in names)), "")
        return merge_if_complete(sha, text_at(found, "target_branch"))

    def _path_of(self, repository: str) -> str:
        return f"/projects/{quote(repository, safe='')}"

    def _notes(self, pr_number: int) -> str:
        return f"{self._pulls}/{pr_number}/notes"

    def _read_pull(self, pull: Any) -> ForgePullRequest:  # noqa: ANN401 - any JSON value
        source, target = (text_at(pull, f"{end}_project_id") for end in ("source", "target"))
        from_fork = not source or source != target
        return ForgePullRequest(
            number=self._read_number(pull, "iid"),
            branch=text_at(pull, "source_branch"),
            repository="" if from_fork else text_at(pull, "references", "full").rpartition("!")[0],
            from_fork=from_fork,
            is_open=text_at(pull, "state") == "opened",
            target_branch=validate.branch(text_at(pull, "target_branch")),
            title=validate.words(text_at(pull, "title")),
            author=validate.words(text_at(pull, "author", "username")),
            url=validate.address(text_at(pull, "web_url")),
        )

    def _comment(self, pr_number: int, note: Any) -> Comment:  # noqa: ANN401 - any JSON value
        note_id = text_at(note, "id")
        author = text_at(note, "author", "username")
        url = f"{self._page_of(pr_number)}#note_{note_id}"
        place = line_of(text_at(note, "position", "new_path"), text_at(note, "position", "new_line"))
        times = text_at(note, "created_at"), text_at(note, "updated_at")
        return self._checked(Comment(note_id, text_at(note, "body"), author, url, place, *times))

    def _page_of(self, pr_number: int) -> str:
        """Return the web address of the merge request, because notes don't include it."""
        if self._page[0] != pr_number:
            self._page = pr_number, text_at(self._pull(pr_number), "web_url")
        return self._page[1]
