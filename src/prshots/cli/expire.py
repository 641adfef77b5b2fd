"""`prshots expire`: close a pull request's screenshots."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prshots.cli.common import counted, print_json, say
from prshots.cli.service_options import (
    ForgeOption,
    ForgeTokenOption,
    ForgeUrlOption,
    ProjectOption,
    PrOption,
    RepositoryOption,
    TokenOption,
    UrlOption,
    connected,
    current_job,
    job_with,
    pull_request,
    say_wait,
)
from prshots.contract.limits import Policy

if TYPE_CHECKING:
    from prshots.client.closing import Closed
    from prshots.contract.replies import Expired


def expire(
    *,
    pr: PrOption = None,
    post: Annotated[
        bool, typer.Option("--post", help="Also update the comment, so that it shows no broken images.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    url: UrlOption = "",
    token: TokenOption = "",
    project: ProjectOption = "",
    forge: ForgeOption = None,
    forge_url: ForgeUrlOption = "",
    repository: RepositoryOption = "",
    forge_token: ForgeTokenOption = "",
) -> None:
    """Expire a closed pull request's screenshots.

    The project's policy decides whether they are deleted. With --post, the comment then says that they were
    deleted, and GitHub's image proxy drops its copies.
    """
    from prshots.client.closing import close
    from prshots.client.forges import forge_of

    job = current_job()
    pr_number = pull_request(pr, job)
    if post:
        job = job_with(job, forge, forge_url, repository, forge_token)
        with closing(forge_of(job, say_wait)) as place, connected(url, token, project) as service:
            closed = close(service, pr_number, place, job)
        told, said = (
            _told(closed.expired) | _told_of_comment(closed),
            [_done(closed.expired), *_of_comment(closed)],
        )
    else:
        with connected(url, token, project) as service:
            expired = service.expire(pr_number)
        told, said = _told(expired), [_done(expired)]
    if as_json:
        print_json(told)
    for words in said:
        say(words)


def _told(expired: "Expired") -> dict[str, Any]:
    return {
        "pr_number": expired.pr_number,
        "policy": expired.policy,
        "marked": expired.marked,
        "expired": expired.expired,
    }


def _told_of_comment(closed: "Closed") -> dict[str, Any]:
    return {
        "left": closed.left,
        "comment": closed.posted.outcome,
        "comment_url": closed.posted.url,
        "purged": closed.purged,
        "not_purged": closed.not_purged,
    }


def _done(expired: "Expired") -> str:
    if expired.policy == Policy.PR_CLOSE:
        return f"Deleted {counted(expired.expired, 'screenshot')} of pull request {expired.pr_number}."
    return (
        f"Marked {counted(expired.marked, 'screenshot')} of pull request {expired.pr_number} as closed. "
        f"The project's policy, {expired.policy}, keeps them for now."
    )


def _of_comment(closed: "Closed") -> list[str]:
    if closed.left:
        return [f"Did not change the comment: it still shows {counted(closed.left, 'screenshot')}."]
    words = [_COMMENTED[closed.posted.outcome]]
    if closed.not_purged:
        words.append(
            f"Warning: the image proxy kept {closed.not_purged:,} of its copies. They expire on their own."
        )
    return words


_COMMENTED = {
    "updated": "Updated the comment: it says that the screenshots were deleted.",
    "unchanged": "The comment was already up to date.",
    "none": "There is no comment to update.",
}
