"""A CI job, independent of the CI."""

from dataclasses import dataclass, field
from enum import StrEnum

from prshots.contract.errors import ClosedPullRequestError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.statements import message


class Lookup(StrEnum):
    """A fact about a job that only the forge knows, because the event doesn't include it."""

    PULL_REQUEST = "pull_request"
    """The job runs for a pull request whose head is `commit_sha`."""

    ANY_PULL_REQUEST = "any_pull_request"
    """The job may run for a pull request whose head is `commit_sha`."""

    HEAD = "head"
    """The job runs for `pr_number`, and `commit_sha` is missing. The checkout is the base branch."""


@dataclass(frozen=True, slots=True)
class Job:
    """The CI job that runs this process. Unknown values are empty.

    `ci` is the CI's display name. `closed` means that the job runs because the pull request was closed or
    merged. `already_closed` means that it was closed before the job's event. `from_fork` means that the pull
    request comes from another repository, so the job's token is often read-only. `repository` is
    `owner/name`, or on GitLab the project's id or path. `forge_url` is the forge's web address, which may be
    known even if its kind isn't. `forge_api` is the base URL of its API, such as https://api.github.com,
    https://gitlab.example/api/v4 or https://gitea.example/api/v1. `lookup` is the fact to ask the forge for
    (`client/lookup.py`). `is_forge_guessed` means that only a git remote or a pull request's page names the
    forge.

    A job runs for a pull request or for a `branch`, never for both. `default_branch` is the repository's.
    `target_branch`, `source_branch`, `title`, `author` and `pr_url` are the pull request's, and `base_sha` is
    the commit that it branched off. `repository_url` is the repository's web address. `merged_as` is the
    commit that a merged pull request became. `is_parallel` means that CI splits this job into several, each
    with only some of the screenshots. `has_failed` means that the workflow run in the job's event did not
    succeed, so some of its screenshots may be missing. `in_queue` means that a merge queue or merge train
    tests the pull request on top of others: `base_sha` is then the commit ahead in the queue.
    """

    ci: str = ""
    pr_number: int | None = None
    commit_sha: str = ""
    closed: bool = False
    already_closed: bool = False
    from_fork: bool = False
    forge: ForgeKind | None = None
    forge_url: str = ""
    forge_api: str = ""
    repository: str = ""
    forge_token: str = field(default="", repr=False)
    run_url: str = ""
    lookup: Lookup | None = None
    branch: str = ""
    default_branch: str = ""
    target_branch: str = ""
    source_branch: str = ""
    title: str = ""
    author: str = ""
    repository_url: str = ""
    pr_url: str = ""
    base_sha: str = ""
    merged_as: str = ""
    is_parallel: bool = False
    is_forge_guessed: bool = False
    has_failed: bool = False
    in_queue: bool = False

    @property
    def is_closed(self) -> bool:
        return self.closed or self.already_closed

    def refuse_closed(self, pr_number: int | None) -> None:
        """Raise ClosedPullRequestError if it is closed: no later event would expire what is sent to it."""
        if self.is_closed and pr_number == self.pr_number:
            raise ClosedPullRequestError(message("pull_request_closed", number=pr_number))
