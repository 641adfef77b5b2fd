"""The gate of a pull request, and the commit statuses to post."""

from collections.abc import Callable
from contextlib import closing

from prshots.client.ci import Job
from prshots.client.job_forge import forge_of
from prshots.contract import validate
from prshots.contract.gates import STATUS_NAME, CommitStatus, describe_gate
from prshots.contract.replies import NOT_COMPARED, CommitState, GateState, GateStatus, PullGate
from prshots.contract.statements import message
from prshots.forges.sender import OnWait

ROUNDS = 10


def skip_commit(commit_sha: str, reason: str) -> PullGate:
    """Return the gate of a commit without a pull request, whose run takes no screenshots."""
    status = GateStatus(STATUS_NAME, CommitState.SUCCESS, message("skipped", reason=reason))
    return PullGate(GateState.PASSED, 0, "", [status], commit_sha)


def is_about(gate: PullGate, commit_sha: str) -> bool:
    """Return whether the gate is the commit's. The gate doesn't name a newest commit that isn't compared."""
    is_unknown = gate.reason == NOT_COMPARED.reason
    return is_unknown or validate.is_same_commit(gate.commit_sha, commit_sha)


def describe(gate: PullGate) -> list[str]:
    """Return the gate as a line for people, and a line for each status if there are several."""
    if len(gate.statuses) == 1:
        return [message("gate_line", state=gate.state, words=gate.statuses[0].description)]
    return [
        message("gate_line", state=gate.state, words=describe_gate(gate)),
        *(
            message("status_line", name=each.context, state=each.state, words=each.description)
            for each in gate.statuses
        ),
    ]


def set_statuses(
    job: Job, commit_sha: str, gate: PullGate, ask: Callable[[], PullGate], say: OnWait
) -> tuple[PullGate, bool]:
    """Set the commit's statuses. Return the newest gate, and whether statuses were set.

    Asks again after every change, because somebody may decide in the meantime, or another project may post.
    A gate of another commit changes nothing. Raises InvalidInputError if the forge or its token is missing,
    and the errors of the forge and of `ask`.
    """
    written: dict[str, GateStatus] = {}
    with closing(forge_of(job, say)) as forge:
        for _ in range(ROUNDS):
            changed = [each for each in gate.statuses if each != written.get(each.context)]
            if not changed or not is_about(gate, commit_sha):
                break
            url = gate.dashboard_url or job.run_url
            for each in changed:
                forge.set_status(commit_sha, CommitStatus(each.state, each.description, url, each.context))
                written[each.context] = each
            gate = ask()
    for each in written.values():
        about = {"name": each.context, "commit": commit_sha[:7], "forge": forge.label}
        say(message("status_set", **about, state=each.state))
    return gate, bool(written)
