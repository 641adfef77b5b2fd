"""`prshots upload`: from files to screenshots in the pull request."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import say
from prshots.cli.service_options import (
    CommitOption,
    ProjectOption,
    PrOption,
    TokenOption,
    UrlOption,
    connected,
    current_job,
    pull_request,
)
from prshots.cli.service_options import commit as commit_of
from prshots.cli.upload_output import OutputFormat, Report, printable
from prshots.cli.upload_progress import Bar, Lines
from prshots.client import AT_ONCE
from prshots.contract.errors import InvalidInputError

if TYPE_CHECKING:
    from prshots.client.shots import Found

MOST_AT_ONCE = 64

PathsArgument = Annotated[
    list[str], typer.Argument(metavar="PATH…", help="Files, folders, or globs; ** goes into all folders.")
]
NameOption = Annotated[
    str, typer.Option("--name", metavar="NAME", help="The screenshot's name, if there is only one.")
]
BaseOption = Annotated[
    str, typer.Option("--base", metavar="DIR", help="Names are the paths relative to this folder.")
]
ViewportOption = Annotated[
    str,
    typer.Option(
        "--viewport",
        metavar="WxH",
        help="The viewport of all; by default what the name ends with (@1280x800), else the image's pixels.",
    ),
]
JobsOption = Annotated[
    int, typer.Option("--jobs", metavar="N", min=1, max=MOST_AT_ONCE, help="How many uploads at once.")
]
ShrinkOption = Annotated[
    bool, typer.Option("--shrink", help="Recompress images of 5 MB or more until they fit.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Send nothing; print what would be uploaded.")]
FormatOption = Annotated[OutputFormat, typer.Option("--format", help="What to print at the end.")]
AllowEmptyOption = Annotated[
    bool, typer.Option("--allow-empty", help="Finding no screenshot, or no such path, is no failure.")
]


def upload(
    paths: PathsArgument,
    *,
    url: UrlOption = "",
    token: TokenOption = "",
    project: ProjectOption = "",
    pr: PrOption = None,
    commit: CommitOption = "",
    name: NameOption = "",
    base: BaseOption = "",
    viewport: ViewportOption = "",
    jobs: JobsOption = AT_ONCE,
    shrink: ShrinkOption = False,
    dry_run: DryRunOption = False,
    output_format: FormatOption = OutputFormat.TABLE,
    allow_empty: AllowEmptyOption = False,
) -> None:
    """Upload screenshots to a pull request.

    Exit codes: 0 all were uploaded, 1 none was, 2 called wrongly, 3 some were not.
    """
    found = _found(paths, base=base, name=name, viewport=viewport, shrink=shrink, allow_empty=allow_empty)
    for problem in found.problems:
        say(f"{printable(problem.path)}: {printable(problem.words)}")
    if dry_run:
        report = _dry_run(found, pr, commit)
    elif found.shots:
        from prshots.client.uploading import upload_all

        job = current_job()
        number, sha = pull_request(pr, job), commit_of(commit, job)
        progress = Bar(len(found.shots)) if sys.stderr.isatty() else Lines(len(found.shots))
        with connected(url, token, project, progress.wait) as client, progress:
            outcomes = upload_all(
                client, found.shots, pr_number=number, commit_sha=sha, at_once=jobs, on_done=progress.done
            )
        report = Report(number, sha, outcomes, found.problems)
        say(f"{report.count} of {len(outcomes) + len(found.problems)} uploaded to pull request {number}.")
    else:
        say("no screenshots to upload.")
        report = Report(pr, commit, [], found.problems)
    report.print(output_format)
    raise typer.Exit(report.exit_code)


def _found(
    paths: Sequence[str], *, base: str, name: str, viewport: str, shrink: bool, allow_empty: bool
) -> "Found":
    """Return what there is to upload, and what is wrong. Raises InvalidInputError when there is nothing."""
    from prshots.client.shots import Found, find_shots

    if shrink:
        from prshots.client.shrinking import require_pillow

        require_pillow()
    try:
        shots, problems = find_shots(paths, base=base, name=name, viewport=viewport, shrink=shrink)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    if allow_empty:
        problems = [problem for problem in problems if not problem.is_missing]
    elif not shots and all(problem.is_missing for problem in problems):
        looked = ", ".join(printable(path) or "''" for path in paths)
        raise InvalidInputError(
            f"no screenshots found: looked for PNG, JPEG and WebP at {looked} in {Path.cwd()}. "
            "If there may be none, --allow-empty makes that no failure"
        )
    return Found(shots, problems)


def _dry_run(found: "Found", pr: int | None, commit: str) -> Report:
    """Say what would be sent. What only the CI knows may be missing where somebody tries it out."""
    from prshots.client.uploading import UploadOutcome

    job = current_job()
    number, sha = pr, commit
    try:
        number = pull_request(pr, job)
        sha = commit_of(commit, job)
    except InvalidInputError as error:
        say(f"missing for the upload itself: {error}")
    outcomes = [
        UploadOutcome(shot, note="shrunk to fit" if shot.is_too_large else shot.note) for shot in found.shots
    ]
    where = f"pull request {number or '?'}, commit {sha[:7] or '?'}"
    say(f"dry run: {len(outcomes)} would be uploaded to {where}; nothing is sent.")
    return Report(number, sha, outcomes, found.problems, is_dry=True)
