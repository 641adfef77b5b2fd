"""`prshots compare`: compare a pull request's screenshots with its base."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli import service_options as options
from prshots.cli.common import MAX_ROWS, QuietOption, pluralize, print_json, say, say_failure, stated_option
from prshots.cli.output import github_outputs, print_shots, printable, say_dashboard
from prshots.cli.target import target_of
from prshots.contract.errors import CallError
from prshots.contract.replies import ComparisonState, Verdict
from prshots.contract.statements import exit_code, message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prshots.contract.replies import ComparedShot

GATES = [verdict for verdict in Verdict if verdict is not Verdict.UNCHANGED]


class CompareFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    GITHUB_OUTPUT = "github-output"


def _check_verdicts(given: str) -> str:
    names = [name.strip() for name in given.split(",")] if given.strip() else []
    if unknown := [name for name in names if name not in GATES]:
        rule = message("verdicts_rule", verdicts=", ".join(GATES))
        raise typer.BadParameter(f"got {unknown[0][:60]!r}: use {rule}")
    return ",".join(names)


def compare(
    *,
    pr: options.Pr = None,
    commit: options.Commit = "",
    branch: options.Branch = "",
    complete: Annotated[bool, stated_option("complete")] = False,
    fail_on: Annotated[str, stated_option("fail-on", callback=_check_verdicts)] = "",
    output_format: Annotated[CompareFormat | None, stated_option("compare-format")] = None,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
) -> None:
    del timeout
    from prshots.client.compare import compare_with_base, summary

    job = options.ask_forge(options.current_job(), pr, needs_commit=not commit)
    target = target_of(job, pr=pr, commit=commit, branch=branch)
    complete = complete and not job.has_failed
    with options.connect(url, token, project) as service:
        if target.pr_number is None:
            if complete:
                service.complete_baselines(target.baseline_of, target.commit_sha)
            name = "baselines_complete" if complete else "nothing_to_compare"
            say(message(name, target=target.words, commit=target.commit_sha[:7]))
            return
        found = compare_with_base(
            service, job, target.pr_number, target.commit_sha, branch, complete=complete, say=say
        )
    for shot in found.shots:
        if shot.verdict is Verdict.FAILED:
            say_failure(_failure(shot))
    match output_format or (None if quiet else CompareFormat.TABLE):
        case CompareFormat.TABLE:
            _print_shots(found.shots)
        case CompareFormat.JSON:
            print_json(found.json)
        case CompareFormat.GITHUB_OUTPUT:
            print("\n".join(github_outputs(found.dashboard_url, found)))
    if found.state is ComparisonState.FAILED:
        raise CallError(summary(found))
    say(summary(found))
    # A base that may come from other work doesn't count.
    gated = [shot for shot in found.shots if shot.verdict in fail_on.split(",") and shot.ancestor]
    if gated:
        say_failure(message("gated", shots=pluralize(len(gated), "shot"), verdicts=fail_on))
    say_dashboard(found.dashboard_url)
    raise typer.Exit(exit_code("gated") if gated else 0)


def _print_shots(shots: "Sequence[ComparedShot]") -> None:
    """Print the verdicts, except failures, which already have their own lines.

    If there are many shots, print only changes.
    """
    compared = [shot for shot in shots if shot.verdict is not Verdict.FAILED]
    changes = [shot for shot in compared if shot.verdict is not Verdict.UNCHANGED]
    shown = compared if len(compared) <= MAX_ROWS else changes
    print_shots(["VERDICT", "PIXELS"], [(shot, [_verdict(shot), _pixels(shot)]) for shot in shown])


def _verdict(shot: "ComparedShot") -> str:
    if shot.pair:
        return message("verdict_of_pair", verdict=shot.verdict)
    return shot.verdict if shot.ancestor else message("verdict_since_newest", verdict=shot.verdict)


def _pixels(shot: "ComparedShot") -> str:
    match shot.verdict:
        case Verdict.CHANGED:
            return f"{shot.pixels:,}"
        case Verdict.MOVED:
            name = "rows_removed" if shot.shift < 0 else "rows_inserted"
            return message(name, rows=f"{abs(shot.shift):,}")
    return "-"


def _failure(shot: "ComparedShot") -> str:
    which = " ".join(filter(None, (shot.name, shot.viewport, shot.theme)))
    reason = f": {shot.reason}" if shot.reason else ""
    return printable(message("shot_not_compared", shot=which, reason=reason))
