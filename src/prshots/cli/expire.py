"""`prshots expire`: expire a closed pull request's screenshots."""

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from prshots.cli import service_options as options
from prshots.cli.common import QuietOption, print_json, say, stated_option
from prshots.contract import validate
from prshots.contract.limits import Policy
from prshots.contract.sizes import pluralize
from prshots.contract.statements import message

if TYPE_CHECKING:
    from prshots.client.ci import Job
    from prshots.client.expire import Closed
    from prshots.contract.replies import Expired


_check_full_commit = options.check_with(validate.full_commit, message("full_commit_rule"))


def expire(
    *,
    pr: options.Pr = None,
    post: Annotated[bool, stated_option("expire-post")] = False,
    merged_as: Annotated[str, stated_option("merged-as", callback=_check_full_commit)] = "",
    branch: options.Branch = "",
    as_json: Annotated[bool, stated_option("json")] = False,
    quiet: QuietOption = False,
    timeout: options.Timeout = options.TIMEOUT,
    url: options.Url = "",
    token: options.Token = "",
    project: options.Project = "",
    forge: options.Forge = None,
    forge_url: options.ForgeUrl = "",
    repository: options.Repository = "",
    forge_token: options.ForgeToken = "",
) -> None:
    from prshots.client.expire import close
    from prshots.client.job_forge import forge_of

    del quiet, timeout
    job = options.ask_forge(options.current_job(), pr)
    pr_number = options.pull_request(pr, job)
    merged = _find_merge(job, pr_number, merged_as, branch)
    closed: Closed | None = None
    if post:
        job = options.job_with(job, forge, forge_url, repository, forge_token)
        with closing(forge_of(job, say)) as place, options.connect(url, token, project) as service:
            closed = close(service, pr_number, place, job, **merged)
        expired = closed.expired
    else:
        with options.connect(url, token, project) as service:
            expired = service.expire(pr_number, **merged)
    if as_json:
        print_json(_expired_json(expired) | (_comment_json(closed) if closed else {}))
    for words in (_expired_message(expired), *(_comment_messages(closed) if closed else ())):
        say(words)


def _find_merge(job: "Job", pr_number: int, merged_as: str, branch: str) -> dict[str, str]:
    """Return the merge's commit and branch, if known."""
    from prshots.client.ci.checkout import default_branch

    is_jobs_own = pr_number == job.pr_number
    merged_as = merged_as or (job.merged_as if is_jobs_own else "")
    if not merged_as:
        return {}
    branch = branch or (job.target_branch if is_jobs_own else "") or default_branch(job)
    return {"merged_as": merged_as, "branch": branch}


def _expired_json(expired: "Expired") -> dict[str, Any]:
    reply = asdict(expired)
    if not expired.baselines:
        del reply["baselines"]
    return reply


def _comment_json(closed: "Closed") -> dict[str, Any]:
    return {
        "left": closed.left,
        "comment": closed.posted.outcome,
        "comment_url": closed.posted.url,
        "description": closed.replaced,
        "purged": closed.purged,
        "not_purged": closed.not_purged,
    }


def _expired_message(expired: "Expired") -> str:
    number = expired.pr_number
    if expired.policy == Policy.PR_CLOSE:
        closed = message("deleted", screenshots=pluralize(expired.expired, "screenshot"), number=number)
    else:
        marked = pluralize(expired.marked, "screenshot")
        closed = message("marked_closed", screenshots=marked, number=number, policy=expired.policy)
    if not expired.baselines:
        return closed
    kept = pluralize(expired.baselines, "screenshot")
    return message("kept_as_baselines", screenshots=kept, closed=closed)


def _comment_messages(closed: "Closed") -> list[str]:
    messages = []
    if closed.replaced:
        screenshots = pluralize(closed.replaced, "deleted screenshot")
        messages.append(message("description_cleaned", screenshots=screenshots))
    if closed.not_described:
        messages.append(message("description_not_changed", why=closed.not_described))
    if closed.left:
        return [*messages, message("comment_still_shows", screenshots=pluralize(closed.left, "screenshot"))]
    messages.append(message(_COMMENTED[closed.posted.outcome]))
    if closed.not_purged:
        messages.append(message("proxy_kept_copies", count=f"{closed.not_purged:,}"))
    return messages


_COMMENTED = {
    "updated": "comment_says_deleted",
    "unchanged": "comment_up_to_date",
    "kept": "comment_of_other_account",
    "none": "no_comment_to_update",
}
