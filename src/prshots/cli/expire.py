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
from prshots.cli.stated_options import stated_option
from prshots.client.ci import validate
from prshots.contract.limits import Policy
from prshots.contract.statements import message

if TYPE_CHECKING:
    from prshots.client.ci import Job
    from prshots.client.expire import Closed
    from prshots.contract.replies import Expired


def _check_full_commit(given: str) -> str:
    if given.strip() and not validate.full_commit(given):
        raise typer.BadParameter(f"got {given[:60]!r}: use all 40 hexadecimal characters of the commit")
    return validate.full_commit(given)


def expire(
    *,
    pr: PrOption = None,
    post: Annotated[bool, stated_option("expire-post")] = False,
    merged_as: Annotated[str, stated_option("merged-as", callback=_check_full_commit)] = "",
    branch: BranchOption = "",
    as_json: Annotated[bool, stated_option("json")] = False,
    quiet: QuietOption = False,
    url: UrlOption = "",
    token: TokenOption = "",
    project: ProjectOption = "",
    forge: ForgeOption = None,
    forge_url: ForgeUrlOption = "",
    repository: RepositoryOption = "",
    forge_token: ForgeTokenOption = "",
) -> None:
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


def _expired_json(expired: "Expired") -> dict[str, Any]:
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


def _expired_message(expired: "Expired") -> str:
    closed = _policy_message(expired)
    if not expired.baselines:
        return closed
    kept = pluralize(expired.baselines, "screenshot")
    return message("kept_as_baselines", screenshots=kept, closed=closed)


def _policy_message(expired: "Expired") -> str:
    number = expired.pr_number
    if expired.policy == Policy.PR_CLOSE:
        return message("deleted", screenshots=pluralize(expired.expired, "screenshot"), number=number)
    marked = pluralize(expired.marked, "screenshot")
    return message("marked_closed", screenshots=marked, number=number, policy=expired.policy)


def _comment_messages(closed: "Closed") -> list[str]:
    if closed.left:
        return [message("comment_still_shows", screenshots=pluralize(closed.left, "screenshot"))]
    messages = [message(_COMMENTED[closed.posted.outcome])]
    if closed.not_purged:
        messages.append(message("proxy_kept_copies", count=f"{closed.not_purged:,}"))
    return messages


_COMMENTED = {
    "updated": "comment_says_deleted",
    "unchanged": "comment_up_to_date",
    "none": "no_comment_to_update",
}
