"""`prshots delete`: delete screenshots now."""

from typing import Annotated

import typer

from prshots.cli import service_options as options
from prshots.cli.common import QuietOption, say, say_failure, stated_argument
from prshots.contract import errors
from prshots.contract.sizes import pluralize
from prshots.contract.statements import message


def delete(
    ids: Annotated[list[str], stated_argument("delete")],
    *,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
) -> None:
    del quiet, timeout
    distinct = dict.fromkeys(ids)
    deleted = 0
    with options.connect(url, token, project) as client:
        for image_id in distinct:
            try:
                client.delete(image_id)
            except errors.NotFoundError:
                problem = message("image_not_found")
            except errors.ExpireFailedError:
                problem = message("delete_retried")
            except (errors.UnreachableError, errors.ImageAddressError, errors.WrongAddressError):
                raise  # every image would fail
            except (errors.InvalidInputError, errors.CallError) as error:
                problem = str(error)
            else:
                deleted += 1
                continue
            say_failure(f"{image_id}: {problem}")
    say(message("deleted_count", count=f"{deleted:,}", screenshots=pluralize(len(distinct), "screenshot")))
    raise typer.Exit(0 if deleted == len(distinct) else 1)
