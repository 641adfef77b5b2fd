"""`prshots upload`: upload screenshots to a pull request and compare them, or upload them as baselines."""

import functools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from prshots.cli import service_options as options
from prshots.cli.common import MAX_ROWS, QuietOption, say, say_failure, stated_argument, stated_option
from prshots.cli.output import OutputFormat, UploadReport, say_dashboard
from prshots.cli.target import Target, target_of
from prshots.contract.errors import InvalidInputError, NoScreenshotsError, PrshotsError
from prshots.contract.limits import MAX_IMAGE_BYTES
from prshots.contract.safe_text import printable
from prshots.contract.sizes import readable_size
from prshots.contract.statements import message, statements

if TYPE_CHECKING:
    from prshots.client.ci import Job
    from prshots.client.replies import ComparisonReply
    from prshots.client.service import Client
    from prshots.client.shots import Found, ShotFile
    from prshots.client.upload import UploadOutcome

WARNING = "warning: "
TELL_SECONDS = 10.0
"""How often a log gets a progress line."""
_JOBS = statements()["options"]["jobs"]


def upload(
    paths: Annotated[list[str], stated_argument("upload")],
    *,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
    pr: options.Pr = None,
    commit: options.Commit = "",
    name: options.Name = "",
    base: Annotated[str, stated_option("base")] = "",
    viewport: options.Viewport = "",
    theme: options.Theme = "",
    branch: options.Branch = "",
    baseline: Annotated[bool, stated_option("baseline")] = False,
    no_compare: Annotated[bool, stated_option("no-compare")] = False,
    partial: Annotated[bool, stated_option("partial")] = False,
    jobs: Annotated[int, stated_option("jobs", min=1, max=_JOBS["largest"])] = _JOBS["default"],
    shrink: Annotated[bool, stated_option("shrink")] = False,
    dry_run: Annotated[bool, stated_option("dry-run")] = False,
    as_json: Annotated[bool, stated_option("json")] = False,
    output_format: Annotated[OutputFormat | None, stated_option("upload-format")] = None,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    allow_empty: Annotated[bool, stated_option("allow-empty")] = False,
) -> None:
    del timeout
    if shrink:
        from prshots.client.shrink import require_pillow

        require_pillow()
    job = options.current_job()
    job.refuse_closed(pr or job.pr_number)
    found = _find_shots(paths, base=base, name=name, viewport=viewport, theme=theme, allow_empty=allow_empty)
    for problem in found.problems:
        say_failure(f"{problem.path}: {problem.words}")
    for shot in found.shots:
        if shot.warning:
            say(f"{shot.path}: {shot.warning}")
    if dry_run:
        target = _target_if_known(job, pr=pr, commit=commit, branch=branch, baseline=baseline)
        report = _dry_run(found, target, shrink=shrink)
    elif found.shots:
        job = options.ask_forge(job, pr, needs_commit=not commit)
        target = target_of(job, pr=pr, commit=commit, branch=branch, baseline=baseline)
        progress = (ProgressBar if sys.stderr.isatty() and not quiet else ProgressLines)(len(found.shots))
        with options.connect(url, token, project, progress.say) as client:
            report = _upload(client, target, found, progress, jobs=jobs, shrink=shrink)
            report.say_summary()
            is_complete = report.exit_code == 0 and not (partial or job.is_parallel or job.has_failed)
            if job.is_parallel and not partial:
                say(message("complete_after_parallel_jobs"))
            if target.baseline_of and is_complete:
                client.complete_baselines(target.baseline_of, target.commit_sha)
            elif target.pr_number is not None and report.count:
                report = _compare(
                    client, report, job, branch, compare=not no_compare, is_complete=is_complete
                )
    else:
        say(message("nothing_to_upload"))
        report = UploadReport(Target(commit, pr_number=pr), [], found.problems)
    usual = None if quiet else OutputFormat.TABLE
    report.print(OutputFormat.JSON if as_json else output_format or usual)
    say_dashboard(report.dashboard_url)
    raise typer.Exit(report.exit_code)


def _upload(
    client: "Client", target: Target, found: "Found", progress: "ProgressLines", *, jobs: int, shrink: bool
) -> UploadReport:
    from prshots.client.upload import upload_all, upload_baselines

    with progress:
        if target.pr_number is None:
            upload_them = functools.partial(upload_baselines, branch=target.baseline_of)
        else:
            upload_them = functools.partial(upload_all, pr_number=target.pr_number)
        outcomes = upload_them(
            client,
            found.shots,
            commit_sha=target.commit_sha,
            concurrency=jobs,
            shrink=shrink,
            on_done=progress.done,
        )
    return UploadReport(target, outcomes, found.problems)


def _compare(
    client: "Client", report: UploadReport, job: "Job", branch: str, *, compare: bool, is_complete: bool
) -> UploadReport:
    """Return the report with the comparison. The screenshots are uploaded, so a failure is only a warning."""
    from prshots.client.compare import compare_with_base, describe, summary

    number, sha = report.target.pr_number or 0, report.target.commit_sha
    comparison: ComparisonReply | None = None
    dashboard_url = ""
    try:
        dashboard_url = describe(client, number, job)
        if compare:
            comparison = compare_with_base(client, job, number, sha, branch, complete=is_complete, say=say)
            say(summary(comparison))
    except PrshotsError as error:
        say_failure(message("not_compared", problem=error))
    return replace(report, comparison=comparison, dashboard_url=dashboard_url)


def _find_shots(
    paths: Sequence[str], *, base: str, name: str, viewport: str, theme: str, allow_empty: bool
) -> "Found":
    """Find the screenshots. Raises NoScreenshotsError if there are none."""
    from prshots.client.shots import Found, find_shots

    try:
        shots, problems = find_shots(paths, base=base, name=name, viewport=viewport, theme=theme)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    if allow_empty:
        problems = [problem for problem in problems if not problem.is_missing]
    elif not shots and all(problem.is_missing for problem in problems):
        searched = ", ".join(path or "''" for path in paths)
        raise NoScreenshotsError(message("no_screenshots_found", searched=searched, folder=Path.cwd()))
    return Found(shots, problems)


def _dry_run(found: "Found", target: Target, *, shrink: bool) -> UploadReport:
    """Report the screenshots that an upload would send."""
    from prshots.client.upload import UploadOutcome

    outcomes = [UploadOutcome(shot, note=_dry_note(shot, shrink=shrink)) for shot in found.shots]
    listed = ""
    if len(outcomes) > MAX_ROWS:  # there is no table with the notes
        listed = message("list_with_json")
        for outcome in outcomes:
            if outcome.note.startswith(WARNING):
                say(f"{outcome.shot.path}: {outcome.note}")
    commit = target.commit_sha[:7] or "?"
    say(message("dry_run", count=len(outcomes), target=target.words, commit=commit, listed=listed))
    return UploadReport(target, outcomes, found.problems, is_dry=True)


def _target_if_known(job: "Job", *, pr: int | None, commit: str, branch: str, baseline: bool) -> Target:
    """Return the target of a dry run. Outside CI, the pull request and the commit may be unknown."""
    try:
        job = options.ask_forge(job, pr, needs_commit=not commit)
        return target_of(job, pr=pr, commit=commit, branch=branch, baseline=baseline)
    except InvalidInputError as error:
        say(message("real_upload_needs", problem=error))
        return Target(commit, pr_number=pr)


def _dry_note(shot: "ShotFile", *, shrink: bool) -> str:
    """Return the note for a screenshot. Only the service knows its limit, so this assumes the default."""
    if shot.size < MAX_IMAGE_BYTES:
        return shot.note
    limit = readable_size(MAX_IMAGE_BYTES)
    if shrink:
        return message("would_shrink", size=readable_size(shot.size), limit=limit)
    return message("over_default_limit", size=readable_size(shot.size), limit=limit)


class ProgressLines:
    """Prints a line per failure, and the progress of a long upload."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._clock = clock
        self._told_at = clock()
        self._failures: set[str] = set()
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is KeyboardInterrupt:
            self.fail(message("interrupted", count=self.count, total=self._total))

    def done(self, outcome: "UploadOutcome") -> None:
        self.count += 1
        if outcome.error:
            self._tell_failure(outcome)
        self.advance()

    def advance(self) -> None:
        now = self._clock()
        if now - self._told_at >= TELL_SECONDS and self.count < self._total:
            self._told_at = now
            self.say(message("uploading", count=f"{self.count:,}", total=f"{self._total:,}"))

    def say(self, words: str) -> None:
        say(words)

    def fail(self, words: str) -> None:
        say_failure(words)

    def _tell_failure(self, outcome: "UploadOutcome") -> None:
        """Print each failure once. A failure that stops all uploads names no file. Skips files not tried."""
        from prshots.client.upload import NOT_TRIED

        words = outcome.error if outcome.is_fatal else f"{outcome.shot.path}: {outcome.error}"
        if outcome.error != NOT_TRIED and words not in self._failures:
            self._failures.add(words)
            self.fail(words)


class ProgressBar(ProgressLines):
    """Shows a progress bar, with errors and pauses above it."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(total)
        self._bar = Progress(
            TextColumn("Uploading"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._bar.stop()
        super().__exit__(kind, *error)

    def say(self, words: str) -> None:
        self._bar.console.print(printable(words), markup=False, highlight=False, soft_wrap=True)

    def fail(self, words: str) -> None:
        self.say(words)

    def advance(self) -> None:
        self._bar.update(self._task, completed=self.count)
