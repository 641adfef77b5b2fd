"""Move a branch's staged screenshots to its pull request as soon as it is known."""

from prshots.client.heads import Head
from prshots.client.service import Client
from prshots.contract.errors import PrshotsError


def move_staged(service: Client, head: Head) -> tuple[int, str]:
    """Move the staged screenshots of the head's branch. Return how many moved, and a message for the user.

    The message is empty if nothing was staged. A failure is only reported: the screenshots stay staged.
    """
    if head.job.pr_number is None or not head.branch:
        return 0, ""
    number = head.job.pr_number
    try:
        if head.unsure:
            count = len(service.staged(head.branch))
            why = f"pull request {number} may be of another branch, because {head.unsure}"
            return 0, f"{_counted(count)} of {head.branch} not moved: {why}" if count else ""
        done = service.move_staged(head.branch, number, repository=head.repository, from_fork=head.from_fork)
    except PrshotsError as error:
        return 0, f"staged screenshots of {head.branch} not moved: {error}"
    words = [f"{_counted(done.moved)} moved to pull request {number}"] if done.moved else []
    words += [f"{_counted(done.kept)} not moved: {done.reason}"] if done.kept else []
    return done.moved, "; ".join(words)


def _counted(count: int) -> str:
    return f"{count:,} staged screenshot{'' if count == 1 else 's'}"
