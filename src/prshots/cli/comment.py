"""`prshots comment`: print the pull request's comment, or post it."""

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from prshots.cli.common import QuietOption, say, say_failure
from prshots.cli.output import say_dashboard
from prshots.cli.service_options import (
    ForgeOption,
    ForgeTokenOption,
    ForgeUrlOption,
    ProjectOption,
    PrOption,
    RepositoryOption,
    TokenOption,
    UrlOption,
    branch_setting,
    connect,
    current_job,
    job_with,
    pull_request,
    say_wait,
)
from prshots.cli.stated_options import stated_option
from prshots.contract.comments import View
from prshots.contract.errors import CallError, InvalidInputError
from prshots.contract.statements import message

if TYPE_CHECKING:
    from collections.abc import Callable

    from prshots.client.ci import Job
    from prshots.client.heads import Head


def comment(
    *,
    pr: PrOption = None,
    post: Annotated[bool, stated_option("post")] = False,
    template: Annotated[Path | None, stated_option("template")] = None,
    view: Annotated[View | None, stated_option("view")] = None,
    quiet: QuietOption = False,
    url: UrlOption = "",
    token: TokenOption = "",
    project: ProjectOption = "",
    forge: ForgeOption = None,
    forge_url: ForgeUrlOption = "",
    repository: RepositoryOption = "",
    forge_token: ForgeTokenOption = "",
) -> None:
    from prshots.client.ci.checkout import builds_baselines
    from prshots.client.compare import view_and_page
    from prshots.client.forges import forge_of
    from prshots.client.lookup import with_head
    from prshots.client.move_staged import move_staged
    from prshots.client.post_comment import Composer
    from prshots.client.post_comment import post as bring_up_to_date
    from prshots.client.templates import Template

    del quiet
    around = Template.read(template) if template is not None else None
    job = current_job()
    if pr is None and builds_baselines(job, branch_setting()):
        say(message("nothing_to_comment_on", branch=job.branch))
        return
    options = (forge, forge_url, repository, forge_token) if post or not job.ci else None
    head = _head(job, pr, lambda found: job_with(found, *options) if options else found)
    job, pr_number = head.job, head.job.pr_number or 0
    if around is not None and job.lookup is not None:
        with suppress(
            InvalidInputError, CallError
        ):  # a template without the commit is better than no comment
            job = with_head(job, pr_number, say_wait)
    with connect(url, token, project) as service:
        if words := move_staged(service, head)[1]:
            say(f"Note: {words}.")
        usual, dashboard_url = view_and_page(service, pr_number, job)
        composer = Composer(service, pr_number, job, around, view or usual, dashboard_url)
        if not post:
            print(composer.markdown(), end="")
            say_dashboard(dashboard_url)
            return
        with closing(forge_of(job, say_wait)) as place:
            posted = bring_up_to_date(place, composer)
    for note in composer.notes:
        say(f"Note: {note}.")
    if composer.warning:
        say_failure(f"Warning: {composer.warning}.")
    say(message(f"comment_{posted.outcome}", number=pr_number, forge=place.label))
    if posted.url:
        print(posted.url)
    say_dashboard(dashboard_url)


def _head(job: "Job", pr: int | None, with_options: "Callable[[Job], Job]") -> "Head":
    """Return the pull request and its branch: from CI, or on your machine from git and the forge."""
    from prshots.client.heads import current_head, head_in_ci

    if job.ci:
        return head_in_ci(with_options(job), pull_request(pr, job), say_wait)
    head = current_head(os.environ, pr, with_options, say_wait)
    if head.job.pr_number is None:
        raise InvalidInputError(f"no pull request: {head.unknown}. Use --pr N")
    return head
