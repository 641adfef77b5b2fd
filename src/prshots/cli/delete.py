"""`prshots delete`: delete screenshots now."""

from typing import Annotated

import typer

from prshots.cli.common import QuietOption, pluralize, say, say_failure
from prshots.cli.service_options import ProjectOption, TokenOption, UrlOption, connect
from prshots.contract.errors import (
    CallError,
    ExpireFailedError,
    ImageAddressError,
    InvalidInputError,
    NotFoundError,
    UnreachableError,
    WrongAddressError,
)

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID…", help="Image ids, as printed by `prshots upload --format json`.")
]


def delete(
    ids: IdsArgument,
    *,
    quiet: QuietOption = False,
    url: UrlOption = "",
    token: TokenOption = "",
    project: ProjectOption = "",
) -> None:
    """Delete screenshots now, regardless of the project's policy.

    Exit code 1 if one could not be deleted. The others are still deleted.
    """
    del quiet
    distinct = dict.fromkeys(ids)
    deleted = 0
    with connect(url, token, project) as client:
        for image_id in distinct:
            try:
                client.delete(image_id)
            except NotFoundError:
                problem = "not found in this project"
            except ExpireFailedError:
                problem = "could not be deleted now: the service retries within the hour"
            except (UnreachableError, ImageAddressError, WrongAddressError):  # of every image
                raise
            except (InvalidInputError, CallError) as error:
                problem = str(error)
            else:
                deleted += 1
                continue
            say_failure(f"{image_id}: {problem}")
    say(f"Deleted {deleted:,} of {pluralize(len(distinct), 'screenshot')}.")
    raise typer.Exit(0 if deleted == len(distinct) else 1)
