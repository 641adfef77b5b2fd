"""A fork's pull request: its job gets no secret, and a token that may only read. What to do about it."""

from prshots.client.ci import ForgeKind, Job
from prshots.contract.errors import ForgeError, ForgeRefusedError

_FROM_A_FORK = {
    ForgeKind.GITHUB: (
        "Post from a second workflow, `on: workflow_run`, that gets what this one keeps as an artifact; or "
        "with a bot's token in PRSHOTS_FORGE_TOKEN, where forks may have secrets. `on: pull_request_target` "
        "has a token that may write, but is dangerous: the fork's code, if the job runs any, has it too"
    ),
    ForgeKind.GITLAB: (
        "Have a member start the merge request's pipeline in this project, whose variables it then gets; "
        "they should look first at what it runs"
    ),
    ForgeKind.GITEA: (
        "Post with a bot's token in PRSHOTS_FORGE_TOKEN, from a job that runs nothing of the fork's: "
        "that would have the token too"
    ),
    ForgeKind.BITBUCKET: (
        "Start the pipeline by hand in this repository: the fork's own has none of its variables"
    ),
}


def refused(error: ForgeRefusedError, job: Job) -> ForgeError:
    """Return the error in words that say what to do, if the reason is that the pull request is a fork's."""
    if not (words := advice(job)):
        return error
    return ForgeError(f"{words} ({error})")


def advice(job: Job) -> str:
    """Return what to do; nothing, if the pull request is no fork's."""
    if not job.from_fork or job.forge is None:
        return ""
    return (
        "this pull request comes from a fork, whose job may only read. "
        f"{_FROM_A_FORK[job.forge]}. Without --post the markdown is printed, for the job's summary"
    )
