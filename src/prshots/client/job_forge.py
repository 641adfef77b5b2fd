"""The forge of a job. Jobs of pull requests from forks get no secrets and only a read-only token."""

from urllib.parse import urlsplit

from prshots.client.ci import Job
from prshots.contract.addresses import is_loopback
from prshots.contract.errors import ForgeError, ForgeRefusedError, InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.statements import called, message
from prshots.forges import FORGES, Forge
from prshots.forges.forge_addresses import kind_of_public_api
from prshots.forges.sender import OnWait, ignore_wait

_FROM_A_FORK = {
    ForgeKind.GITHUB: (
        "Post from a second workflow, `on: workflow_run`, with this workflow's screenshots as an artifact. "
        "If your forks get secrets, use a bot's token in PRSHOTS_FORGE_TOKEN. `on: pull_request_target` has "
        "a token that may write, but is dangerous: if the job runs the fork's code, that code has the token"
    ),
    ForgeKind.GITLAB: (
        "A member can run the merge request's pipeline in this project, where it gets the variables. "
        "Review the code first"
    ),
    ForgeKind.GITEA: (
        "Post with a bot's token in PRSHOTS_FORGE_TOKEN, from a job that does not run the fork's code: "
        "that code would have the token too"
    ),
    ForgeKind.BITBUCKET: (
        "Run the pipeline manually in this repository: the fork's pipeline has none of its variables"
    ),
}


def forge_of(job: Job, on_wait: OnWait = ignore_wait) -> Forge:
    """Return the job's repository on its forge. Raises InvalidInputError if something is missing."""
    if job.forge is None:
        raise InvalidInputError(f"no forge detected: use {called('--forge')}, one of {', '.join(ForgeKind)}")
    kind = FORGES[job.forge]
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
    if problem := why_no_token(job):
        raise InvalidInputError(problem)
    return kind(api_url=job.forge_api, repository=job.repository, token=job.forge_token, on_wait=on_wait)


def why_no_token(job: Job) -> str:
    """Return why the job's forge gets no token, or "" if it does.

    A cloned repository chooses its remote, so a token only goes to a public forge of its kind, or to the
    address that the user or the CI's own variables name.
    """
    parts = urlsplit(job.forge_api)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return message("no_token_over_http", address=f"{parts.scheme}://{parts.netloc}")
    if job.is_forge_guessed and kind_of_public_api(job.forge_api) is not job.forge:
        return message("no_token_for_guess", host=parts.netloc, api=job.forge_api)
    return ""


def with_fork_advice(error: ForgeRefusedError, job: Job) -> ForgeError:
    """Return the error, with advice if the pull request comes from a fork."""
    if not (words := fork_advice(job)):
        return error
    return ForgeError(f"{words} ({error})")


def fork_advice(job: Job) -> str:
    """Return advice, or "" if the pull request doesn't come from a fork."""
    if not job.from_fork or job.forge is None:
        return ""
    markdown = "Without --post, `prshots comment` prints the markdown, for the job summary"
    return message("from_a_fork", advice=f"{_FROM_A_FORK[job.forge]}. {markdown}")
