"""Move a branch's staged screenshots to its pull request as soon as it is known."""

from prshots.client.heads import Head
from prshots.client.service import Client
from prshots.contract.errors import PrshotsError, UnreachableError
from prshots.contract.sizes import pluralize
from prshots.contract.statements import message


def move_staged(service: Client, head: Head) -> tuple[int, str]:
    """Move the staged screenshots of the head's branch. Return how many moved, and a message for the user.

    The message is empty if nothing was staged. Nothing moves to a closed pull request. A failure is only
    reported: the screenshots stay staged. Raises UnreachableError, because no other call would succeed.
    """
    if head.job.pr_number is None or not head.branch or head.job.is_closed:
        return 0, ""
    number = head.job.pr_number
    try:
        if head.unsure:
            count = len(service.staged(head.branch))
            why = f"pull request {number} may be of another branch, because {head.unsure}"
            staged = f"{_counted(count)} of {head.branch}"
            return 0, message("staged_not_moved", screenshots=staged, why=why) if count else ""
        done = service.move_staged(head.branch, number, repository=head.repository, from_fork=head.from_fork)
    except UnreachableError:
        raise
    except PrshotsError as error:
        return 0, message("staged_of_branch_not_moved", branch=head.branch, why=error)
    words: list[str] = []
    if done.moved:
        words.append(message("staged_moved", screenshots=_counted(done.moved), number=number))
    if done.kept:
        words.append(message("staged_not_moved", screenshots=_counted(done.kept), why=done.reason))
    return done.moved, "; ".join(words)


def _counted(count: int) -> str:
    return pluralize(count, "staged screenshot")
