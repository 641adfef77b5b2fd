"""What the commands that call a service have in common: where it is, and which pull request is meant."""

import math
import os
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import say
from prshots.client.ci import ForgeKind, validate
from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import MAX_PR_NUMBER

if TYPE_CHECKING:
    from prshots.client.ci import Job
    from prshots.client.sending import OnWait
    from prshots.client.service import Client


def _checked_commit(given: str) -> str:
    if given.strip() and not validate.commit(given):
        raise typer.BadParameter(f"a commit's SHA has 7 to 40 hexadecimal characters; got {given[:60]!r}")
    return validate.commit(given)


UrlOption = Annotated[
    str, typer.Option("--url", envvar="PRSHOTS_URL", metavar="URL", help="The address of the service.")
]
TokenOption = Annotated[
    str,
    typer.Option(
        "--token",
        envvar="PRSHOTS_TOKEN",
        metavar="TOKEN",
        help="An upload token. Without one, the ID token of the CI's job is exchanged for one.",
    ),
]
ProjectOption = Annotated[
    str,
    typer.Option(
        "--project",
        envvar="PRSHOTS_PROJECT",
        metavar="NAME",
        help="Without a token: the project to upload to, where several trust this repository.",
    ),
]
PrOption = Annotated[
    int | None,
    typer.Option(
        "--pr",
        envvar="PRSHOTS_PR",
        metavar="N",
        min=1,
        max=MAX_PR_NUMBER,
        help="The pull request; by default the CI's.",
    ),
]
CommitOption = Annotated[
    str,
    typer.Option(
        "--commit",
        envvar="PRSHOTS_COMMIT",
        metavar="SHA",
        callback=_checked_commit,
        help="The commit; by default the pull request's as the CI says, else that of the working folder.",
    ),
]
ForgeOption = Annotated[
    ForgeKind | None,
    typer.Option(
        "--forge", envvar="PRSHOTS_FORGE", help="Where the pull request is; by default as the CI says."
    ),
]
ForgeUrlOption = Annotated[
    str,
    typer.Option(
        "--forge-url",
        envvar="PRSHOTS_FORGE_URL",
        metavar="URL",
        help="The root of the forge's API, such as https://gitlab.example.com/api/v4.",
    ),
]
RepositoryOption = Annotated[
    str,
    typer.Option(
        "--repository",
        envvar="PRSHOTS_REPOSITORY",
        metavar="OWNER/NAME",
        help="The repository of the pull request; at GitLab the project's path or id.",
    ),
]
ForgeTokenOption = Annotated[
    str,
    typer.Option(
        "--forge-token",
        envvar="PRSHOTS_FORGE_TOKEN",
        metavar="TOKEN",
        help="A token of the forge that may write comments; by default GITHUB_TOKEN, GITLAB_TOKEN, …",
    ),
]


def current_job() -> "Job":
    from prshots.client.ci import detected

    return detected(os.environ)


def job_with(job: "Job", forge: ForgeKind | None, forge_url: str, repository: str, forge_token: str) -> "Job":
    """Return the job with what was given by hand instead of what the CI says. Raises InvalidInputError."""
    from prshots.client.ci import with_forge

    return with_forge(job, os.environ, kind=forge, api=forge_url, repository=repository, token=forge_token)


def connected(url: str, token: str, project: str, on_wait: "OnWait | None" = None) -> "Client":
    """Return the service. Raises InvalidInputError when it is not said which, or with what token."""
    from prshots.client.keyless import token_source
    from prshots.client.service import Client

    address, tell = _service_address(url), on_wait or say_wait
    return Client(address, token_source(address, token, project, os.environ, on_wait=tell), on_wait=tell)


def _service_address(url: str) -> str:
    if not url.strip():
        raise InvalidInputError(
            "which service? Give its address, such as https://prshots.example.com: --url or PRSHOTS_URL"
        )
    if address := validate.root(url):
        return address
    if "@" in url:  # whose password is not for a log
        raise InvalidInputError("--url is the service's address without a user and a password")
    meant = validate.root(f"https://{url.strip()}") if "://" not in url else ""
    advice = f"did you mean {meant}?" if meant else "it takes an address such as https://prshots.example.com"
    raise InvalidInputError(f"--url (PRSHOTS_URL) is no address: got {url[:100]!r}; {advice}")


def say_wait(reason: str, seconds: float) -> None:
    say(wait_words(reason, seconds))


def wait_words(reason: str, seconds: float) -> str:
    return f"{reason}: going on in {math.ceil(seconds)} s"


def pull_request(given: int | None, job: "Job") -> int:
    """Return which pull request is meant. Raises InvalidInputError when neither option nor CI says."""
    number = given if given is not None else job.pr_number
    if number is None:
        where = f"{job.ci} runs this for no pull request" if job.ci else "this runs in no CI that we know"
        raise InvalidInputError(f"which pull request? {where}: give --pr N")
    return number


def commit(given: str, job: "Job") -> str:
    """Return which commit is meant: the option's, the CI's, else the one that is checked out here.

    Raises InvalidInputError when none is said.
    """
    from prshots.client.ci.checkout import commit_of

    if found := commit_of(job, given):
        return found
    where = f"{job.ci} does not say" if job.ci else "no CI that we know says"
    raise InvalidInputError(f"which commit? {where}, and neither does git here: give --commit SHA")
