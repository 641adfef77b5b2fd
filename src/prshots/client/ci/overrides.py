"""What somebody says of the forge by hand, instead of what the CI says."""

from collections.abc import Mapping
from dataclasses import replace

from prshots.client.ci import validate
from prshots.client.ci.forge_addresses import TOKEN_VARIABLE, api_root, forge_token, kind_of_api
from prshots.client.ci.job import ForgeKind, Job
from prshots.contract.errors import InvalidInputError


def with_forge(
    job: Job,
    environ: Mapping[str, str],
    *,
    kind: ForgeKind | None = None,
    api: str = "",
    repository: str = "",
    token: str = "",
) -> Job:
    """Return the job with what was given instead of what the CI says. Raises InvalidInputError."""
    job = _at_forge(job, kind, api, environ)
    if repository.strip():
        job = replace(job, repository=_checked_repository(repository, job.forge))
    if token.strip():
        if not (checked := validate.token(token)):
            raise InvalidInputError(
                f"--forge-token ({TOKEN_VARIABLE}) holds what no token has: a space, a line break or the like"
            )
        job = replace(job, forge_token=checked)
    return job


def _at_forge(job: Job, kind: ForgeKind | None, api: str, environ: Mapping[str, str]) -> Job:
    if api.strip() and not (checked := validate.root(api)):
        raise InvalidInputError(
            "--forge-url (PRSHOTS_FORGE_URL) takes the root of the forge's API, such as "
            "https://gitlab.example.com/api/v4, without a user and a password"
        )
    api = checked if api.strip() else ""
    kind = kind or (kind_of_api(api) if api else None) or job.forge
    if api and kind is None:
        raise InvalidInputError(
            "what is at --forge-url? Give --forge github, gitlab, gitea or bitbucket beside it"
        )
    if kind is None or (kind is job.forge and not api):
        return job
    if kind is not job.forge:
        # The CI's forge is another one (a mirror, say), unless it did not say which kind it is.
        known = job.forge is None
        job = replace(
            job,
            forge=kind,
            forge_url=job.forge_url if known else "",
            repository=job.repository if known else "",
            forge_token=forge_token(kind, environ),
        )
    if not (api := api or api_root(kind, job.forge_url)):
        raise InvalidInputError(f"which {kind}? Give the root of its API: --forge-url https://HOST/api/v1")
    return replace(job, forge_api=api)


def _checked_repository(given: str, kind: ForgeKind | None) -> str:
    checked = validate.repository(given)
    if kind is not ForgeKind.GITLAB and checked.count("/") != 1:
        checked = ""
    if not checked:
        raise InvalidInputError(
            "--repository (PRSHOTS_REPOSITORY) takes owner/name, at GitLab also a project's id; "
            f"got {given[:100]!r}"
        )
    return checked
