"""`prshots delete`: take screenshots away now."""

from typing import Annotated

import typer

from prshots.cli.common import say
from prshots.cli.service_options import ProjectOption, TokenOption, UrlOption, connected
from prshots.contract.errors import ExpireFailedError, InvalidInputError, NotFoundError

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID…", help="The ids that the uploads answered with.")
]


def delete(
    ids: IdsArgument, *, url: UrlOption = "", token: TokenOption = "", project: ProjectOption = ""
) -> None:
    """Delete screenshots now, whatever the project's policy.

    Exit code 1 when one could not be deleted; the others are.
    """
    failures = 0
    with connected(url, token, project) as client:
        for image_id in dict.fromkeys(ids):
            try:
                client.delete(image_id)
            except NotFoundError:
                problem = "there is no such image, or it is another project's"
            except InvalidInputError as error:
                problem = str(error)
            except ExpireFailedError:
                problem = "could not be deleted now; the service will do it within the hour"
            else:
                say(f"{image_id}: deleted")
                continue
            failures += 1
            say(f"{image_id}: {problem}")
    raise typer.Exit(1 if failures else 0)
