"""Options shared by the commands that call a service."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import say, stated_option
from prshots.contract import validate
from prshots.contract.addresses import is_public
from prshots.contract.errors import InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.statements import message, statements
from prshots.forges.deadline import deadline_after

if TYPE_CHECKING:
    from prshots.client.ci import Job
    from prshots.client.service import Client
    from prshots.forges.sender import OnWait

_TIMEOUT = statements()["options"]["timeout"]
TIMEOUT: int = _TIMEOUT["default"]


def _check_pr(given: int | None) -> int | None:
    if given is not None and not validate.pr_number(given):
        raise typer.BadParameter(f"got {given}: use {message('pull_request_rule')}")
    return given


def check_with(validator: Callable[[str], str], rule: str) -> Callable[[str], str]:
    """Return an option's callback, which rejects invalid values. An empty value counts as not given."""

    def check(given: str) -> str:
        if given.strip() and not validator(given):
            raise typer.BadParameter(f"got {given[:60]!r}: use {rule}")
        return validator(given)

    return check


def _start_clock(context: typer.Context, seconds: int) -> int:
    context.with_resource(deadline_after(seconds))  # until the command ends
    return seconds


_check_commit = check_with(validate.commit, message("commit_rule"))
_check_branch = check_with(validate.branch, message("branch_rule"))

Url = Annotated[str, stated_option("url")]
Token = Annotated[str, stated_option("token")]
Project = Annotated[str, stated_option("project")]
Pr = Annotated[int | None, stated_option("pr", callback=_check_pr)]
Commit = Annotated[str, stated_option("commit", callback=_check_commit)]
Branch = Annotated[str, stated_option("branch", callback=_check_branch)]
Timeout = Annotated[int, stated_option("timeout", min=1, max=_TIMEOUT["largest"], callback=_start_clock)]
Forge = Annotated[ForgeKind | None, stated_option("forge")]
ForgeUrl = Annotated[str, stated_option("forge-url")]
Repository = Annotated[str, stated_option("repository")]
ForgeToken = Annotated[str, stated_option("forge-token")]
Name = Annotated[str, stated_option("name")]
Viewport = Annotated[str, stated_option("viewport")]
Theme = Annotated[str, stated_option("theme")]


def branch_setting() -> str:
    """Return the branch from PRSHOTS_BRANCH, for commands that don't have the option."""
    return validate.branch(os.environ.get("PRSHOTS_BRANCH"))


def current_job() -> "Job":
    """Return the CI job. Without CI, return a job with git's facts about the repository."""
    from prshots.client.ci import detect_job

    job = detect_job(os.environ)
    if job.ci:
        return job
    from prshots.client.heads import find_local_checkout

    return find_local_checkout(os.environ).job


def job_with(job: "Job", forge: ForgeKind | None, forge_url: str, repository: str, forge_token: str) -> "Job":
    """Return the job, with the given options in place of CI's values. Raises InvalidInputError."""
    from prshots.client.ci import with_forge

    return with_forge(job, os.environ, kind=forge, api=forge_url, repository=repository, token=forge_token)


def connect(url: str, token: str, project: str, on_wait: "OnWait | None" = None) -> "Client":
    """Return a client of the service. Raises InvalidInputError if the URL or the token is invalid."""
    from prshots.client.keyless import token_source
    from prshots.client.service import Client

    address, tell = _service_address(url), on_wait or say
    return Client(address, token_source(address, token, project, os.environ, on_wait=tell), on_wait=tell)


def _service_address(url: str) -> str:
    if not url.strip():
        raise InvalidInputError(message("no_service_url"))
    if address := validate.root(url):
        return address
    if "@" in url:  # may contain a password, which must not be logged
        raise InvalidInputError(message("url_has_password"))
    meant = validate.root(_with_scheme(url.strip())) if "://" not in url else ""
    advice = message("did_you_mean", meant=meant) if meant else message("use_address")
    raise InvalidInputError(message("invalid_url", given=repr(url[:100]), advice=advice))


def _with_scheme(address: str) -> str:
    """Return the address, adding a scheme if it is missing."""
    host = address.partition("/")[0].rpartition(":")[0] or address.partition("/")[0]
    return f"{'https' if is_public(host) else 'http'}://{address}"


def ask_forge(job: "Job", pr: int | None, *, needs_commit: bool = False) -> "Job":
    """Return the job with the facts that only the forge knows. Raises InvalidInputError, CallError."""
    from prshots.client.lookup import with_head, with_pull_request

    job = with_pull_request(job, say) if pr is None else job
    number = pr or job.pr_number
    return with_head(job, number, say) if needs_commit and number else job


def pull_request(given: int | None, job: "Job") -> int:
    """Return the pull request's number, from the option or from CI. Raises InvalidInputError."""
    if given is not None:
        return given
    if job.pr_number is None:
        why = message("job_without_pull_request", ci=job.ci) if job.ci else message("no_ci")
        raise InvalidInputError(message("no_pull_request", why=why))
    return job.pr_number


def commit(given: str, job: "Job") -> str:
    """Return the commit, from the option, from CI, or from git's HEAD. Raises InvalidInputError."""
    from prshots.client.ci.checkout import commit_of

    if found := commit_of(job, given):
        return found
    why = f"{job.ci} does not name one" if job.ci else "no supported CI detected"
    raise InvalidInputError(f"no commit: {why}, and git has none here. Use --commit SHA")
