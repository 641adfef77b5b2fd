"""`prshots gate`: print whether a pull request's screenshots are reviewed, and set its commit status."""

import os
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli import service_options as options
from prshots.cli.common import QuietOption, print_json, say, say_failure, stated_option
from prshots.cli.output import say_dashboard
from prshots.contract import validate
from prshots.contract.errors import ForgeRefusedError, InvalidInputError
from prshots.contract.gates import NoBaseline
from prshots.contract.replies import CommitState
from prshots.contract.safe_text import printable
from prshots.contract.statements import exit_code, message

if TYPE_CHECKING:
    from collections.abc import Callable

    from prshots.client.ci import Job
    from prshots.client.gate import GateReport


def gate(
    *,
    pr: options.Pr = None,
    commit: options.Commit = "",
    fail: Annotated[bool, stated_option("fail")] = False,
    skip: Annotated[str, stated_option("skip")] = "",
    no_baseline: Annotated[NoBaseline, stated_option("no-baseline", show_default=False)] = NoBaseline.BLOCK,
    as_json: Annotated[bool, stated_option("json")] = False,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
    forge: options.Forge = None,
    forge_url: options.ForgeUrl = "",
    repository: options.Repository = "",
    forge_token: options.ForgeToken = "",
) -> None:
    from prshots.client.ci import detect_job
    from prshots.client.ci.checkout import builds_baselines
    from prshots.client.gate import report_gate, report_skip
    from prshots.client.heads import current_head
    from prshots.client.lookup import with_head

    del quiet, timeout

    def with_options(found: "Job") -> "Job":
        return options.job_with(found, forge, forge_url, repository, forge_token)

    job, has_passed = detect_job(os.environ), True
    sets_status = bool(job.ci or forge_token.strip())
    if reason := validate.words(skip):
        job = with_options(options.current_job())
        job = job if commit else with_head(job, job.pr_number or 0, say)
        skipped = report_skip(reason, job)
        _report(job, commit, lambda: skipped, sets_status=sets_status, as_json=as_json)
    elif pr is None and builds_baselines(job, options.branch_setting()):
        say(message("nothing_to_gate", branch=job.branch))
        if as_json:
            print_json(None)
    else:
        head = current_head(os.environ, pr, with_options, say)
        head.job.refuse_closed(head.pr_number)
        job = head.job if commit else with_head(head.job, head.pr_number, say)
        needs_baseline = no_baseline is NoBaseline.BLOCK
        with options.connect(url, token, project) as service:
            ask = partial(report_gate, service, head.pr_number, needs_baseline=needs_baseline)
            has_passed = _report(job, commit, ask, sets_status=sets_status, as_json=as_json)
    raise typer.Exit(exit_code("gated") if fail and not has_passed else 0)


def _report(
    job: "Job", commit: str, ask: "Callable[[], GateReport]", *, sets_status: bool, as_json: bool
) -> bool:
    """Print the report, and set the commit's status. Return whether the gate has passed."""
    from prshots.client.ci.checkout import full_commit
    from prshots.client.forks import with_fork_advice
    from prshots.client.gate import set_status

    report, is_set = ask(), False
    commit = options.commit(commit or ("" if job.ci else report.commit_sha), job)
    if not report.is_about(commit):
        say(message("gate_of_other_commit", other=report.commit_sha[:7], commit=commit[:7]))
    elif sets_status:
        try:
            report, is_set = set_status(job, full_commit(commit) or commit, report, ask, say)
        except (ForgeRefusedError, InvalidInputError) as error:
            why = with_fork_advice(error, job) if isinstance(error, ForgeRefusedError) else error
            say_failure(message("status_not_set", why=why))
    if as_json:
        about = {"gate": report.gate and asdict(report.gate), "commit_sha": report.commit_sha or commit}
        print_json(about | {"dashboard_url": report.dashboard_url or None, "status": is_set})
    else:
        print(printable(report.words))
    say_dashboard(report.dashboard_url)
    return report.is_about(commit) and report.status.state is CommitState.SUCCESS
