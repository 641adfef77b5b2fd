"""`prshots upload`: upload screenshots to a pull request."""

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
from prshots.cli.upload_output import OutputFormat, UploadReport, printable
from prshots.cli.upload_progress import Bar, Lines
from prshots.client import DEFAULT_CONCURRENCY
from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import MAX_IMAGE_BYTES

if TYPE_CHECKING:
    from prshots.client.shots import Found, ShotFile

MAX_CONCURRENCY = 64

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH…", help="Files, folders or globs. A glob with ** searches all folders below."
    ),
]
NameOption = Annotated[
    str, typer.Option("--name", metavar="NAME", help="The screenshot's name. For a single file only.")
]
BaseOption = Annotated[
    str,
    typer.Option("--base", metavar="DIR", help="Name screenshots by their path relative to this folder."),
]
ViewportOption = Annotated[
    str,
    typer.Option(
        "--viewport",
        metavar="WxH",
        help="The viewport of all screenshots. Default: the suffix of the file name (cart@1280x800.png), "
        "otherwise the image's size in pixels.",
    ),
]
JobsOption = Annotated[
    int,
    typer.Option("--jobs", metavar="N", min=1, max=MAX_CONCURRENCY, help="How many uploads run at a time."),
]
ShrinkOption = Annotated[
    bool, typer.Option("--shrink", help="Recompress images that are too large for the service.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be uploaded, and send nothing.")
]
FormatOption = Annotated[OutputFormat, typer.Option("--format", help="The format of the output.")]
AllowEmptyOption = Annotated[
    bool, typer.Option("--allow-empty", help="Succeed if there are no screenshots, or a path does not exist.")
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
    jobs: JobsOption = DEFAULT_CONCURRENCY,
    shrink: ShrinkOption = False,
    dry_run: DryRunOption = False,
    output_format: FormatOption = OutputFormat.TABLE,
    allow_empty: AllowEmptyOption = False,
) -> None:
    """Upload screenshots to a pull request.

    Exit codes: 0 all uploaded, 1 none uploaded, 2 invalid arguments, 3 some uploaded.
    """
    if shrink:
        from prshots.client.shrinking import require_pillow

        require_pillow()
    found = _found(paths, base=base, name=name, viewport=viewport, allow_empty=allow_empty)
    for problem in found.problems:
        say(f"{printable(problem.path)}: {printable(problem.words)}")
    for shot in found.shots:
        if shot.warning:
            say(f"{printable(str(shot.path))}: {shot.warning}")
    if dry_run:
        report = _dry_run(found, pr, commit, shrink=shrink)
    elif found.shots:
        from prshots.client.uploading import upload_all

        job = current_job()
        number = pull_request(pr, job)
        sha = commit_of(commit, job, number)
        progress = Bar(len(found.shots)) if sys.stderr.isatty() else Lines(len(found.shots))
        with connected(url, token, project, progress.wait) as client, progress:
            outcomes = upload_all(
                client,
                found.shots,
                pr_number=number,
                commit_sha=sha,
                concurrency=jobs,
                shrink=shrink,
                on_done=progress.done,
            )
        report = UploadReport(number, sha, outcomes, found.problems)
        report.say_summary()
    else:
        say("No screenshots to upload.")
        report = UploadReport(pr, commit, [], found.problems)
    report.print(output_format)
    raise typer.Exit(report.exit_code)


def _found(paths: Sequence[str], *, base: str, name: str, viewport: str, allow_empty: bool) -> "Found":
    """Find the screenshots. Raises InvalidInputError if there are none."""
    from prshots.client.shots import Found, find_shots

    try:
        shots, problems = find_shots(paths, base=base, name=name, viewport=viewport)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    if allow_empty:
        problems = [problem for problem in problems if not problem.is_missing]
    elif not shots and all(problem.is_missing for problem in problems):
        searched = ", ".join(printable(path) or "''" for path in paths)
        raise InvalidInputError(
            f"no screenshots found: no PNG, JPEG or WebP at {searched} in {Path.cwd()}. "
            "If that is fine, use --allow-empty"
        )
    return Found(shots, problems)


def _dry_run(found: "Found", pr: int | None, commit: str, *, shrink: bool) -> UploadReport:
    """Report what would be sent. Outside CI, the pull request and the commit may be unknown."""
    from prshots.client.uploading import UploadOutcome

    job = current_job()
    number, sha = pr, commit
    try:
        number = pull_request(pr, job)
        sha = commit_of(commit, job, number)
    except InvalidInputError as error:
        say(f"A real upload needs more: {error}")
    outcomes = [UploadOutcome(shot, note=_dry_note(shot, shrink=shrink)) for shot in found.shots]
    target = f"pull request {number or '?'}, commit {sha[:7] or '?'}"
    say(f"Dry run: {len(outcomes)} would be uploaded to {target}. Nothing was sent.")
    return UploadReport(number, sha, outcomes, found.problems, is_dry=True)


def _dry_note(shot: "ShotFile", *, shrink: bool) -> str:
    """Return the note for a screenshot. Only the service knows its limit, so this assumes the default."""
    from prshots.client.shots import readable_size

    if shot.size < MAX_IMAGE_BYTES:
        return shot.note
    limit = readable_size(MAX_IMAGE_BYTES)
    if shrink:
        return f"is {readable_size(shot.size)}; would be shrunk below the service's limit (default {limit})"
    return f"warning: is {readable_size(shot.size)}, over the default limit of {limit}; --shrink makes it fit"
