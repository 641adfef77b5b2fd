"""What is known of the job that runs us, whichever CI it is."""

from dataclasses import dataclass, field
from enum import StrEnum


class ForgeKind(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    BITBUCKET = "bitbucket"


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of the job that runs us. What the CI does not say is empty.

    `ci` is its name for people. `closed`: it runs because the pull request was closed or merged. `from_fork`:
    the pull request comes from another repository, so that the job's own token may often only read.
    `repository` is `owner/name`, at GitLab the project's id or path. `forge_url` is the forge's address for
    people; it may be known where the forge's kind is not. `forge_api` is the root of its API, such as
    https://api.github.com, https://gitlab.example/api/v4, https://gitea.example/api/v1.
    """

    ci: str = ""
    pr_number: int | None = None
    commit_sha: str = ""
    closed: bool = False
    from_fork: bool = False
    forge: ForgeKind | None = None
    forge_url: str = ""
    forge_api: str = ""
    repository: str = ""
    forge_token: str = field(default="", repr=False)
    run_url: str = ""
