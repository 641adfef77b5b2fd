"""Advice for pull requests from forks: their jobs get no secrets and only a read-only token."""

from prshots.client.ci import Job
from prshots.contract.errors import ForgeError, ForgeRefusedError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.statements import message

_FROM_A_FORK = {
    ForgeKind.GITHUB: (
        "Post from a second workflow, `on: workflow_run`, with this workflow's screenshots as an artifact. "
        "If your forks get secrets, use a bot's token in PRSHOTS_FORGE_TOKEN. `on: pull_request_target` has "
        "a token that may write, but is dangerous: if the job runs the fork's code, that code has the token"
    ),
    ForgeKind.GITLAB: (
        "A member can run the merge request's pipeline in this project, where it gets the variables. "
        "Review the code first"
    ),
    ForgeKind.GITEA: (
        "Post with a bot's token in PRSHOTS_FORGE_TOKEN, from a job that does not run the fork's code: "
        "that code would have the token too"
    ),
    ForgeKind.BITBUCKET: (
        "Run the pipeline manually in this repository: the fork's pipeline has none of its variables"
    ),
}


def with_fork_advice(error: ForgeRefusedError, job: Job) -> ForgeError:
    """Return the error, with advice if the pull request comes from a fork."""
    if not (words := fork_advice(job)):
        return error
    return ForgeError(f"{words} ({error})")


def fork_advice(job: Job) -> str:
    """Return advice, or "" if the pull request doesn't come from a fork."""
    if not job.from_fork or job.forge is None:
        return ""
    markdown = "Without --post, `prshots comment` prints the markdown, for the job summary"
    return message("from_a_fork", advice=f"{_FROM_A_FORK[job.forge]}. {markdown}")
