"""`prshots delete`: delete screenshots now."""

from typing import Annotated

import typer

from prshots.cli.common import say
from prshots.cli.service_options import ProjectOption, TokenOption, UrlOption, connected
from prshots.contract.errors import (
    CallError,
    ExpireFailedError,
    InvalidInputError,
    NotFoundError,
    UnreachableError,
)

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID…", help="Image ids, as printed by `prshots upload --format json`.")
]


def delete(
    ids: IdsArgument, *, url: UrlOption = "", token: TokenOption = "", project: ProjectOption = ""
) -> None:
    """Delete screenshots now, regardless of the project's policy.

    Exit code 1 if one could not be deleted. The others are still deleted.
    """
    failures = 0
    with connected(url, token, project) as client:
        for image_id in dict.fromkeys(ids):
            try:
                client.delete(image_id)
            except NotFoundError:
                problem = "not found in this project"
            except ExpireFailedError:
                problem = "could not be deleted now: the service retries within the hour"
            except UnreachableError:
                raise
            except (InvalidInputError, CallError) as error:
                problem = str(error)
            else:
                say(f"{image_id}: deleted")
                continue
            failures += 1
            say(f"{image_id}: {problem}")
    raise typer.Exit(1 if failures else 0)
