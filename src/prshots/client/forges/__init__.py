"""The forges, and how to find, create and change a comment there."""

from prshots.client.ci import ForgeKind, Job
from prshots.client.forges.bitbucket import Bitbucket
from prshots.client.forges.forge import Comment, Forge, ForgePullRequest, Merge
from prshots.client.forges.forks import fork_advice
from prshots.client.forges.gitea import Gitea
from prshots.client.forges.github import GitHub
from prshots.client.forges.gitlab import GitLab
from prshots.client.sender import OnWait, ignore_wait
from prshots.contract.errors import InvalidInputError
from prshots.contract.statements import called

__all__ = ["Comment", "Forge", "ForgePullRequest", "Merge", "forge_of"]

_KINDS: dict[ForgeKind, type[Forge]] = {
    ForgeKind.GITHUB: GitHub,
    ForgeKind.GITLAB: GitLab,
    ForgeKind.GITEA: Gitea,
    ForgeKind.BITBUCKET: Bitbucket,
}


def forge_of(job: Job, on_wait: OnWait = ignore_wait) -> Forge:
    """Return the job's repository on its forge. Raises InvalidInputError if something is missing."""
    if job.forge is None:
        raise InvalidInputError(f"no forge detected: use {called('--forge')}, one of {', '.join(ForgeKind)}")
    kind = _KINDS[job.forge]
    if not job.repository:
        option = f"{called('--repository')}, such as owner/name"
        raise InvalidInputError(f"no {kind.label} repository detected: use {option}")
    if not job.forge_api.startswith(("http://", "https://")):
        option = f"{called('--forge-url')}, the base URL of its API"
        raise InvalidInputError(f"no {kind.label} address detected: use {option}")
    if not job.forge_token:
        words = f"no token for {kind.label}: set {called('--forge-token')}"
        if advice := fork_advice(job):
            words += f"; {advice}"
        elif job.forge in {ForgeKind.GITHUB, ForgeKind.GITEA}:
            variable = "GITHUB_TOKEN: ${{ github.token }}"
            words += f"; in {kind.label} Actions, add env: {variable} to the step"
        raise InvalidInputError(words)
    return kind(api_url=job.forge_api, repository=job.repository, token=job.forge_token, on_wait=on_wait)
