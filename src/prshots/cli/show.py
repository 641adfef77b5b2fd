"""`prshots show`: show screenshots on the branch's pull request, or stage them until there is one."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli import service_options as options
from prshots.cli.common import QuietOption, print_json, say, say_failure, stated_option
from prshots.cli.output import say_dashboard
from prshots.contract.errors import InvalidInputError
from prshots.contract.safe_text import safe_markdown
from prshots.contract.statements import exit_code

if TYPE_CHECKING:
    from prshots.client.show import Shown


def show(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…",
            help="Files, folders or globs. Default: the branch's staged screenshots.",
            show_default=False,
        ),
    ] = None,
    *,
    before: Annotated[
        list[str] | None,
        typer.Option(
            "--before",
            metavar="PATH",
            help="The before image: a file, or a folder with files of the same names. Repeatable.",
        ),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option("--after", metavar="PATH", help="The image now: same as PATH. Repeatable."),
    ] = None,
    name: options.Name = "",
    viewport: options.Viewport = "",
    theme: options.Theme = "",
    as_json: Annotated[bool, stated_option("json")] = False,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    pr: options.Pr = None,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
    forge: options.Forge = None,
    forge_url: options.ForgeUrl = "",
    repository: options.Repository = "",
    forge_token: options.ForgeToken = "",
) -> None:
    """Show screenshots on the branch's pull request, before and after.

    Before the pull request exists, they are staged for the branch for 7 days. Run the command again when it
    does: they move over.

    Exit codes: 0 all shown, 1 none shown, 2 invalid arguments, 3 some shown.
    """
    del quiet, timeout
    from prshots.client.heads import current_head
    from prshots.client.show import find_pairs
    from prshots.client.show import show as show_pairs

    shots = [*(paths or []), *(after or [])]
    try:
        pairs = find_pairs(shots, before or [], name=name, viewport=viewport, theme=theme)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    with options.connect(url, token, project) as service:
        head = current_head(
            os.environ, pr, lambda job: options.job_with(job, forge, forge_url, repository, forge_token), say
        )
        shown = show_pairs(service, head, pairs, base_branch=options.branch_setting(), say=say)
    _print_result(shown, as_json=as_json)
    raise typer.Exit(exit_code("some_failed") if shown.failed or shown.problems else 0)


def _print_result(shown: "Shown", *, as_json: bool) -> None:
    for problem in (*shown.problems, *shown.failed):
        say_failure(f"{problem.path}: {problem.words}")
    for note in shown.notes:
        say(f"Note: {note}.")
    if as_json:
        print_json(shown.json())
        return
    if shown.shots:
        print(safe_markdown(shown.markdown))
    print(end="", flush=True)
    say(f"Next: {shown.next}")
    say_dashboard(shown.dashboard_url)
