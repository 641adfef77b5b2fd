"""The gate of a pull request, and the commit status that follows from it."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from prshots.client.ci import Job
from prshots.client.job_forge import forge_of
from prshots.client.replies import ComparisonReply
from prshots.client.service import Client
from prshots.contract import validate
from prshots.contract.errors import CallError
from prshots.contract.gates import STATUS_NAME, CommitStatus, status_of
from prshots.contract.replies import NOT_COMPARED, CommitState, ComparisonState, Gate, GateState
from prshots.contract.statements import message
from prshots.forges.sender import OnWait

ROUNDS = 10


@dataclass(frozen=True, slots=True)
class GateReport:
    """A gate, its commit status, and the compared commit, if any. A run without screenshots has no gate."""

    status: CommitStatus
    gate: Gate | None = None
    commit_sha: str = ""

    @property
    def words(self) -> str:
        words = self.status.description
        return message("gate_line", state=self.gate.state, words=words) if self.gate else words

    @property
    def dashboard_url(self) -> str:
        return self.status.url if self.gate else ""

    def is_about(self, commit_sha: str) -> bool:
        """Return whether the status is the commit's."""
        if self.gate and self.gate.reason == NOT_COMPARED.reason:
            return True  # the service doesn't name the newest commit
        return validate.is_same_commit(self.commit_sha, commit_sha)


def report_skip(reason: str, job: Job) -> GateReport:
    """Return the report of a run that takes no screenshots, for this reason."""
    words = message("skipped", reason=reason)
    return GateReport(CommitStatus(CommitState.SUCCESS, words, job.run_url))


def find_reviewed(service: Client, pr_number: int) -> ComparisonReply | None:
    """Return the newest comparison, or None. Raises CallError if the service is too old to report a gate."""
    found = service.comparison(pr_number)
    if found and "gate" not in found.json:
        raise CallError(message("service_without_gate", url=service.url))
    return found


def report_gate(service: Client, pr_number: int, *, needs_baseline: bool) -> GateReport:
    """Return the gate of the newest comparison, which is blocked without one.

    Without `needs_baseline`, a gate passes if only the baselines are missing. Raises the errors of the
    service's client and of `find_reviewed`.
    """
    found = find_reviewed(service, pr_number)
    if found is None:
        return GateReport(status_of(NOT_COMPARED, ""), NOT_COMPARED)
    gate = found.gate
    if gate.reason == ComparisonState.NO_BASELINE and not needs_baseline:
        gate = replace(gate, state=GateState.PASSED)
    return GateReport(status_of(gate, found.dashboard_url), gate, found.commit_sha)


def set_status(
    job: Job, commit_sha: str, report: GateReport, ask: Callable[[], GateReport], say: OnWait
) -> tuple[GateReport, bool]:
    """Set the commit's status, and return the newest report and whether the status was set.

    Asks for a new report after every change, because somebody may decide in the meantime. A report about
    another commit changes nothing. Raises InvalidInputError if the forge or its token is missing, and the
    errors of the forge and of `ask`.
    """
    written: CommitStatus | None = None
    with closing(forge_of(job, say)) as forge:
        for _ in range(ROUNDS):
            if report.status == written or not report.is_about(commit_sha):
                break
            forge.set_status(commit_sha, report.status)
            written, report = report.status, ask()
    if written:
        about = {"name": STATUS_NAME, "commit": commit_sha[:7], "forge": forge.label}
        say(message("status_set", **about, state=written.state))
    return report, written is not None
