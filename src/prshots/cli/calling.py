"""What the commands that call a service have in common: where it is, and which pull request is meant."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import say
from prshots.errors import InvalidInputError

if TYPE_CHECKING:
    from prshots.client.jobs import Job
    from prshots.client.service import Client

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
    typer.Option("--pr", envvar="PRSHOTS_PR", metavar="N", help="The pull request; by default the CI's."),
]


def current_job() -> "Job":
    from prshots.client.jobs import detected

    return detected(os.environ)


def connected(url: str, token: str, project: str) -> "Client":
    """Return the service. Raises InvalidInputError when it is not said which, or with what token."""
    from prshots.client.keyless import token_source
    from prshots.client.service import Client

    if not url.startswith(("http://", "https://")):
        raise InvalidInputError(
            "which service? Give its address, such as https://prshots.example.com: --url or PRSHOTS_URL"
            + (f"; got {url!r}" if url else "")
        )
    return Client(url, token_source(url, token, project, os.environ), on_wait=say_wait)


def say_wait(reason: str, seconds: float) -> None:
    say(f"{reason}: going on in {seconds:.0f} s")


def pull_request(given: int | None, job: "Job") -> int:
    """Return which pull request is meant. Raises InvalidInputError when neither option nor CI says."""
    number = given if given is not None else job.pr_number
    if number is None:
        where = f"{job.ci} runs this for no pull request" if job.ci else "this runs in no CI that we know"
        raise InvalidInputError(f"which pull request? {where}: give --pr N")
    return number
