"""Options and variables for the forge, which override CI's values."""

from collections.abc import Mapping
from dataclasses import replace

from prshots.client.ci.job import Job
from prshots.contract import validate
from prshots.contract.errors import InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.statements import called
from prshots.forges.forge_addresses import TOKEN_VARIABLE, api_root, forge_token, kind_of_api


def with_forge(
    job: Job,
    environ: Mapping[str, str],
    *,
    kind: ForgeKind | None = None,
    api: str = "",
    repository: str = "",
    token: str = "",
) -> Job:
    """Return the job, with the given values in place of CI's. Raises InvalidInputError."""
    job = _with_forge_address(job, kind, api, environ)
    if repository.strip():
        job = replace(job, repository=_check_repository(repository, job.forge))
    if token.strip():
        if not (checked := validate.token(token)):
            raise InvalidInputError(
                f"invalid {called('--forge-token')}: it contains a space, a line break or a character "
                "that no token has"
            )
        job = replace(job, forge_token=checked)
    return job


def with_forge_variables(job: Job, environ: Mapping[str, str]) -> Job:
    """Return the job, with the forge's variables in place of CI's values. Raises InvalidInputError."""
    kind = environ.get("PRSHOTS_FORGE", "").strip()
    if kind and kind not in tuple(ForgeKind):
        raise InvalidInputError(f"PRSHOTS_FORGE must be one of {', '.join(ForgeKind)}; got {kind[:100]!r}")
    return with_forge(
        job,
        environ,
        kind=ForgeKind(kind) if kind else None,
        api=environ.get("PRSHOTS_FORGE_URL", ""),
        repository=environ.get("PRSHOTS_REPOSITORY", ""),
        token=environ.get(TOKEN_VARIABLE, ""),
    )


def _with_forge_address(job: Job, kind: ForgeKind | None, url: str, environ: Mapping[str, str]) -> Job:
    api = validate.root(url)
    if url.strip() and not api:
        raise InvalidInputError(
            f"invalid {called('--forge-url')}: use the base URL of the forge's API, such as "
            "https://gitlab.example.com/api/v4, without a user and a password"
        )
    kind = kind or kind_of_api(api) or job.forge
    if api and kind is None:
        raise InvalidInputError(
            f"unknown kind of forge at {called('--forge-url')}: also use {called('--forge')}, one of "
            f"{', '.join(ForgeKind)}"
        )
    if kind is None or (kind is job.forge and not api):
        return job
    if kind is not job.forge:
        # CI's forge is a different one, such as a mirror, unless its kind was unknown.
        is_same = job.forge is None
        job = replace(
            job,
            forge=kind,
            forge_url=job.forge_url if is_same else "",
            repository=job.repository if is_same else "",
            forge_token=forge_token(kind, environ),
        )
    if not (api := api or api_root(kind, job.forge_url)):
        raise InvalidInputError(
            f"no address for {kind}: use {called('--forge-url')}, the base URL of its API: https://HOST/api/v1"
        )
    return replace(job, forge_api=api, is_forge_guessed=job.is_forge_guessed and not url.strip())


def _check_repository(given: str, kind: ForgeKind | None) -> str:
    checked = validate.repository(given)
    if not checked or (kind is not ForgeKind.GITLAB and checked.count("/") != 1):
        raise InvalidInputError(
            f"invalid {called('--repository')}: use owner/name, or on GitLab the project's id; "
            f"got {given[:100]!r}"
        )
    return checked
