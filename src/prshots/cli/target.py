"""The target of a job's screenshots: a pull request, or a branch for baselines."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prshots.cli import service_options as options
from prshots.cli.common import say
from prshots.contract.errors import InvalidInputError
from prshots.contract.statements import message

if TYPE_CHECKING:
    from prshots.client.ci import Job


@dataclass(frozen=True, slots=True)
class Target:
    """A pull request, or a branch if `baseline_of` is set. In a dry run, either may be unknown."""

    commit_sha: str = ""
    pr_number: int | None = None
    baseline_of: str = ""

    @property
    def words(self) -> str:
        if self.baseline_of:
            return message("baselines_of", branch=self.baseline_of)
        return message("pull_request", number=self.pr_number or "?")


def target_of(job: "Job", *, pr: int | None, commit: str, branch: str, baseline: bool = False) -> Target:
    """Return the target of a job that asks the forge for nothing more (`options.ask_forge`).

    A job on the branch with the baselines uploads baselines. A pull request's job never does. Raises
    InvalidInputError if the options and CI leave it unclear, and ClosedPullRequestError.
    """
    from prshots.client.ci.checkout import branch_for_baselines, builds_baselines

    if job.has_failed:
        say(message("run_has_failed"))
    if not baseline and (pr is not None or not builds_baselines(job, branch)):
        number = options.pull_request(pr, job)
        job.refuse_closed(number)
        return Target(options.commit(commit, job), pr_number=number)
    if pr is not None or job.pr_number is not None or job.lookup is not None or job.from_fork:
        raise InvalidInputError(message("baseline_in_pull_request"))
    if not (name := branch or branch_for_baselines(job)):
        raise InvalidInputError(message("no_baseline_branch"))
    return Target(_full_commit(commit, job), baseline_of=name)


def _full_commit(given: str, job: "Job") -> str:
    from prshots.client.ci.checkout import commit_of, full_commit

    sha = commit_of(job, given)
    if found := full_commit(sha):
        return found
    why = message("unknown_commit", sha=sha) if sha else message("no_commit_named")
    raise InvalidInputError(message("no_baseline_commit", why=why))
