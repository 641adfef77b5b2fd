"""Which CI runs us, and what it says of the pull request."""

from collections.abc import Mapping
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

    `closed`: it runs because the pull request was closed or merged. `from_fork`: the pull request comes from
    another repository, so that the job's own token may often only read. `repository` is `owner/name`, at
    GitLab the project's id or path. `forge_api` is the root of the forge's API, such as
    https://api.github.com, https://gitlab.example/api/v4, https://gitea.example/api/v1.
    """

    ci: str = ""
    pr_number: int | None = None
    commit_sha: str = ""
    closed: bool = False
    from_fork: bool = False
    forge: ForgeKind | None = None
    forge_api: str = ""
    repository: str = ""
    forge_token: str = field(default="", repr=False)
    run_url: str = ""


def detected(environ: Mapping[str, str]) -> Job:
    """Return what the environment says; of no CI that we know, an empty job."""
    del environ
    return Job()
