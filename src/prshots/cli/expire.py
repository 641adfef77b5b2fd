"""`prshots expire`: close a pull request's screenshots."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prshots.cli.common import QuietOption, pluralize, print_json, say
from prshots.cli.service_options import (
    BranchOption,
    ForgeOption,
    ForgeTokenOption,
    ForgeUrlOption,
    ProjectOption,
    PrOption,
    RepositoryOption,
    TokenOption,
    UrlOption,
    connect,
    current_job,
    job_with,
    pull_request,
    say_wait,
)
from prshots.client.ci import validate
from prshots.contract.limits import Policy

if TYPE_CHECKING:
    from prshots.client.ci import Job
    from prshots.client.expire import Closed
    from prshots.client.replies import ExpiredReply


def _check_full_commit(given: str) -> str:
    if given.strip() and not validate.full_commit(given):
        raise typer.BadParameter(f"got {given[:60]!r}: use all 40 hexadecimal characters of the commit")
    return validate.full_commit(given)


def expire(
    *,
    pr: PrOption = None,
    post: Annotated[
        bool, typer.Option("--post", help="Also update the comment, so that it shows no broken images.")
    ] = False,
    merged_as: Annotated[
        str,
        typer.Option(
            "--merged-as",
            metavar="SHA",
            callback=_check_full_commit,
            help="The commit that the pull request was merged as. Default: from the event of the job.",
        ),
    ] = "",
    branch: BranchOption = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: QuietOption = False,
    url: UrlOption = "",
    token: TokenOption = "",
    project: ProjectOption = "",
    forge: ForgeOption = None,
    forge_url: ForgeUrlOption = "",
    repository: RepositoryOption = "",
    forge_token: ForgeTokenOption = "",
) -> None:
    """Expire a closed pull request's screenshots. If it was merged, its changes become baselines first.

    The project's policy decides whether they are deleted. With --post, the comment then says that they were
    deleted, and GitHub's image proxy drops its copies.
    """
    from prshots.client.expire import close
    from prshots.client.forges import forge_of

    del quiet
    job = current_job()
    pr_number = pull_request(pr, job)
    merged = _find_merge(job, pr_number, merged_as, branch)
    if post:
        job = job_with(job, forge, forge_url, repository, forge_token)
        with closing(forge_of(job, say_wait)) as place, connect(url, token, project) as service:
            closed = close(service, pr_number, place, job, **merged)
        told, said = (
            _expired_json(closed.expired) | _comment_json(closed),
            [_expired_message(closed.expired), *_comment_messages(closed)],
        )
    else:
        with connect(url, token, project) as service:
            expired = service.expire(pr_number, **merged)
        told, said = _expired_json(expired), [_expired_message(expired)]
    if as_json:
        print_json(told)
    for words in said:
        say(words)


def _find_merge(job: "Job", pr_number: int, merged_as: str, branch: str) -> dict[str, str]:
    """Return as which commit of which branch the pull request was merged, if that is known."""
    from prshots.client.ci.checkout import default_branch

    is_jobs_own = pr_number == job.pr_number
    merged_as = merged_as or (job.merged_as if is_jobs_own else "")
    if not merged_as:
        return {}
    branch = branch or (job.target_branch if is_jobs_own else "") or default_branch(job)
    return {"merged_as": merged_as, "branch": branch}


def _expired_json(expired: "ExpiredReply") -> dict[str, Any]:
    return {
        "pr_number": expired.pr_number,
        "policy": expired.policy,
        "marked": expired.marked,
        "expired": expired.expired,
        **({"baselines": expired.baselines} if expired.baselines else {}),
    }


def _comment_json(closed: "Closed") -> dict[str, Any]:
    return {
        "left": closed.left,
        "comment": closed.posted.outcome,
        "comment_url": closed.posted.url,
        "purged": closed.purged,
        "not_purged": closed.not_purged,
    }


def _expired_message(expired: "ExpiredReply") -> str:
    if expired.baselines:
        kept = pluralize(expired.baselines, "screenshot")
        return f"Kept {kept} of the merged pull request as baselines. {_policy_message(expired)}"
    return _policy_message(expired)


def _policy_message(expired: "ExpiredReply") -> str:
    if expired.policy == Policy.PR_CLOSE:
        return f"Deleted {pluralize(expired.expired, 'screenshot')} of pull request {expired.pr_number}."
    return (
        f"Marked {pluralize(expired.marked, 'screenshot')} of pull request {expired.pr_number} as closed. "
        f"The project's policy, {expired.policy}, keeps them for now."
    )


def _comment_messages(closed: "Closed") -> list[str]:
    if closed.left:
        return [f"Did not change the comment: it still shows {pluralize(closed.left, 'screenshot')}."]
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
