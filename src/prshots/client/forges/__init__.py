"""The forges, and how to find, create and change a comment there."""

from importlib import import_module
from typing import cast

from prshots.client.ci import ForgeKind, Job
from prshots.client.forges.forge import Comment, Forge, ForgePullRequest, Merge
from prshots.client.sender import OnWait, ignore_wait
from prshots.contract.errors import InvalidInputError

__all__ = ["Comment", "Forge", "ForgePullRequest", "Merge", "forge_of"]

_KINDS = {
    ForgeKind.GITHUB: ("github", "GitHub"),
    ForgeKind.GITLAB: ("gitlab", "GitLab"),
    ForgeKind.GITEA: ("gitea", "Gitea"),
    ForgeKind.BITBUCKET: ("bitbucket", "Bitbucket"),
}
"""The module and the class of each forge. Only the one in use is imported."""


def forge_of(job: Job, on_wait: OnWait = ignore_wait) -> Forge:
    """Return the job's repository on its forge. Raises InvalidInputError if something is missing."""
    if job.forge is None:
        raise InvalidInputError(f"no forge detected: use --forge, one of {', '.join(ForgeKind)}")
    module, name = _KINDS[job.forge]
    if not job.repository:
        raise InvalidInputError(f"no {name} repository detected: use --repository, such as owner/name")
    if not job.forge_api.startswith(("http://", "https://")):
        raise InvalidInputError(f"no {name} address detected: use --forge-url, the base URL of its API")
    if not job.forge_token:
        from prshots.client.forges.forks import fork_advice

        missing = f"no token to comment on {name}: use --forge-token, or set PRSHOTS_FORGE_TOKEN"
        raise InvalidInputError(
            f"{missing}; {words}"
            if (words := fork_advice(job))
            else missing + _HOW_TO_PASS_IT.get(job.forge, "")
        )
    kind = getattr(import_module(f"{__name__}.{module}"), name)
    made = kind(api_url=job.forge_api, repository=job.repository, token=job.forge_token, on_wait=on_wait)
    return cast("Forge", made)


_HOW_TO_PASS_IT = {
    ForgeKind.GITHUB: "; in GitHub Actions, add env: GITHUB_TOKEN: ${{ github.token }} to the step",
    ForgeKind.GITEA: "; in Gitea Actions, add env: GITHUB_TOKEN: ${{ github.token }} to the step",
}
