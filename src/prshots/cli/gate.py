"""`prshots gate`: print whether a pull request's screenshots are reviewed, and set its commit status."""

import os
from contextlib import ExitStack
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
from prshots.contract.replies import GateState
from prshots.contract.safe_text import printable
from prshots.contract.statements import exit_code, message

if TYPE_CHECKING:
    from collections.abc import Callable

    from prshots.client.ci import Job
    from prshots.contract.replies import PullGate


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
    from prshots.client.gate import skip_commit
    from prshots.client.heads import current_head
    from prshots.client.lookup import with_head

    del quiet, timeout

    def with_options(found: "Job") -> "Job":
        return options.job_with(found, forge, forge_url, repository, forge_token)

    job, reason, number = detect_job(os.environ), validate.words(skip), pr
    if not reason and pr is None and builds_baselines(job, options.branch_setting()):
        say(message("nothing_to_gate", branch=job.branch))
        if as_json:
            print_json(None)
        return
    if reason and job.ci:  # a run on a push has no pull request, and sets its status nevertheless
        job = options.ask_forge(with_options(job), pr, needs_commit=not commit)
        number = pr or job.pr_number
    else:
        head = current_head(os.environ, pr, with_options, say)
        number = head.pr_number
        job = head.job if commit else with_head(head.job, number, say)
    if reason:
        commit = options.commit(commit, job)
    else:
        job.refuse_closed(number)
    sets_status = bool(job.ci or forge_token.strip())
    with ExitStack() as opened:
        ask = partial(skip_commit, commit, reason)
        if number is not None:
            service = opened.enter_context(options.connect(url, token, project))
            ask = partial(service.gate, number, no_baseline=no_baseline)
            ask = partial(service.skip, number, commit, reason) if reason else ask
        has_passed = _report(job, commit, ask, sets_status=sets_status, as_json=as_json)
    raise typer.Exit(exit_code("gated") if fail and not has_passed else 0)


def _report(
    job: "Job", commit: str, ask: "Callable[[], PullGate]", *, sets_status: bool, as_json: bool
) -> bool:
    """Print the gate, and set the commit's statuses. Return whether the project's own gate has passed."""
    from prshots.client.ci.checkout import full_commit
    from prshots.client.gate import describe, is_about, set_statuses
    from prshots.client.job_forge import with_fork_advice

    gate, is_set = ask(), False
    commit = options.commit(commit or ("" if job.ci else gate.commit_sha), job)
    if not is_about(gate, commit):
        say(message("gate_of_other_commit", other=gate.commit_sha[:7], commit=commit[:7]))
    elif sets_status:
        try:
            gate, is_set = set_statuses(job, full_commit(commit) or commit, gate, ask, say)
        except (ForgeRefusedError, InvalidInputError) as error:
            why = with_fork_advice(error, job) if isinstance(error, ForgeRefusedError) else error
            say_failure(message("status_not_set", why=why))
    if as_json:
        found = asdict(gate)
        about = {"commit_sha": found.pop("commit_sha") or commit}
        about |= {"dashboard_url": found.pop("dashboard_url") or None}
        print_json({"gate": found, **about, "status": is_set})
    else:
        print("\n".join(map(printable, describe(gate))))
    say_dashboard(gate.dashboard_url)
    return is_about(gate, commit) and gate.state is GateState.PASSED
