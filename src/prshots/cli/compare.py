"""`prshots compare`: compare a pull request's screenshots with its base."""

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli import service_options as options
from prshots.cli.common import MAX_ROWS, QuietOption, print_json, say, say_failure, stated_option
from prshots.cli.output import github_outputs, print_shots, say_dashboard
from prshots.cli.target import Target, target_of
from prshots.contract.replies import ComparisonState, ReviewState, Verdict
from prshots.contract.sizes import pluralize
from prshots.contract.statements import exit_code, message

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from prshots.client.ci import Job
    from prshots.client.replies import ComparisonReply
    from prshots.client.service import Client
    from prshots.contract.replies import ComparedShot

_DECIDED = (ReviewState.APPROVED, ReviewState.QUARANTINED, ReviewState.SEEN_BEFORE)
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
    approved_pass: Annotated[bool, stated_option("approved-pass")] = False,
    as_json: Annotated[bool, stated_option("json")] = False,
    output_format: Annotated[CompareFormat | None, stated_option("compare-format")] = None,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
) -> None:
    del timeout
    from prshots.client.compare import compare_with_base, summary

    shown_as = CompareFormat.JSON if as_json else output_format or (None if quiet else CompareFormat.TABLE)
    with options.connect(url, token, project) as service:
        job, target = _find_target(service, pr=pr, commit=commit, branch=branch)
        complete = complete and not job.has_failed
        if target.pr_number is None:
            if complete:
                service.complete_baselines(target.baseline_of, target.commit_sha)
            name = "baselines_complete" if complete else "nothing_to_compare"
            say(message(name, target=target.words, commit=target.commit_sha[:7]))
            _print_comparison(None, shown_as)
            return
        found = compare_with_base(
            service, job, target.pr_number, target.commit_sha, branch, complete=complete, say=say
        )
    for shot in found.shots:
        if shot.verdict is Verdict.FAILED:
            say_failure(_failure(shot))
    _print_comparison(found, shown_as)
    if found.state is ComparisonState.FAILED:  # the output for scripts already says so
        say_failure(f"prshots: {summary(found)}")
        raise typer.Exit(exit_code("failed"))
    say(summary(found))
    code = _gate(found, fail_on, _DECIDED if approved_pass else ()) if fail_on else 0
    say_dashboard(found.dashboard_url)
    raise typer.Exit(code)


def _gate(found: "ComparisonReply", verdicts: str, passing: "Collection[ReviewState]") -> int:
    """Say which shots match --fail-on, except those with a passing review. Return the exit code.

    A commit without images can't pass.
    """
    candidates = [shot for shot in found.shots if shot.review.state not in passing]
    gated = [shot for shot in candidates if shot.verdict in verdicts.split(",")]
    if gated:
        say_failure(message("gated", shots=pluralize(len(gated), "shot"), verdicts=verdicts))
        return exit_code("gated")
    if found.state is not ComparisonState.NO_BASELINE and all(
        shot.verdict is Verdict.REMOVED for shot in found.shots
    ):
        words = message("nothing_gated", verdicts=verdicts, commit=found.commit_sha[:7])
        say_failure(f"prshots: {words}")  # the output for scripts is already complete
        return exit_code("failed")
    return 0


def _find_target(service: "Client", *, pr: int | None, commit: str, branch: str) -> "tuple[Job, Target]":
    """Return the job and its target. On your machine, git and the forge name the pull request."""
    from prshots.client.ci import detect_job
    from prshots.client.ci.overrides import with_forge_variables
    from prshots.client.compare import find_newest_commit
    from prshots.client.heads import current_head

    if (job := detect_job(os.environ)).ci:
        job = options.ask_forge(job, pr, needs_commit=not commit)
        return job, target_of(job, pr=pr, commit=commit, branch=branch)
    head = current_head(os.environ, pr, lambda found: with_forge_variables(found, os.environ), say)
    head.job.refuse_closed(head.pr_number)
    return head.job, Target(commit or find_newest_commit(service, head, say), head.pr_number)


def _print_comparison(found: "ComparisonReply | None", shown_as: CompareFormat | None) -> None:
    """Print the comparison. A job on the branch with the baselines has none."""
    match shown_as:
        case CompareFormat.JSON:
            print_json(found and found.json)
        case CompareFormat.TABLE if found:
            _print_shots(found.shots)
        case CompareFormat.GITHUB_OUTPUT if found:
            print("\n".join(github_outputs(found.dashboard_url, found)))


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
        case Verdict.MOVED if shot.shift:
            name = "rows_removed" if shot.shift < 0 else "rows_inserted"
            return message(name, rows=f"{abs(shot.shift):,}")
    return "-"


def _failure(shot: "ComparedShot") -> str:
    which = " ".join(filter(None, (shot.name, shot.viewport, shot.theme)))
    reason = f": {shot.reason}" if shot.reason else ""
    return message("shot_not_compared", shot=which, reason=reason)
