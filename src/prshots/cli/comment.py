"""`prshots comment`: print the pull request's comment, or post it."""

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from prshots.cli import service_options as options
from prshots.cli.common import QuietOption, say, say_failure, stated_option
from prshots.cli.output import say_dashboard
from prshots.contract.comments import View
from prshots.contract.errors import CallError, InvalidInputError
from prshots.contract.safe_text import printable, safe_markdown
from prshots.contract.statements import message

if TYPE_CHECKING:
    from prshots.client.ci import Job


def comment(
    *,
    pr: options.Pr = None,
    post: Annotated[bool, stated_option("post")] = False,
    template: Annotated[Path | None, stated_option("template")] = None,
    view: Annotated[View | None, stated_option("view")] = None,
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
    from prshots.client.ci import detect_job
    from prshots.client.ci.checkout import builds_baselines
    from prshots.client.compare import view_and_page
    from prshots.client.heads import current_head
    from prshots.client.job_forge import forge_of
    from prshots.client.lookup import with_head
    from prshots.client.move_staged import move_staged
    from prshots.client.post_comment import Composer
    from prshots.client.post_comment import post as bring_up_to_date
    from prshots.client.templates import Template

    del quiet, timeout
    around = Template.read(template) if template is not None else None
    job = detect_job(os.environ)
    if pr is None and builds_baselines(job, options.branch_setting()):
        say(message("nothing_to_comment_on", branch=job.branch))
        return

    def with_options(found: "Job") -> "Job":
        if found.ci and not post:  # without asking the forge
            return found
        return options.job_with(found, forge, forge_url, repository, forge_token)

    head = current_head(os.environ, pr, with_options, say)
    job, pr_number = head.job, head.pr_number
    job.refuse_closed(pr_number if post else None)
    if around is not None:
        # A template without the commit is better than no comment.
        with suppress(InvalidInputError, CallError):
            job = with_head(job, pr_number, say)
    with options.connect(url, token, project) as service:
        if words := move_staged(service, head)[1]:
            say(f"Note: {words}.")
        usual, dashboard_url = view_and_page(service, pr_number, job)
        composer = Composer(service, pr_number, job, around, view or usual, dashboard_url)
        if not post:
            print(safe_markdown(composer.markdown()), end="")
            say_dashboard(dashboard_url)
            return
        with closing(forge_of(job, say)) as place:
            posted = bring_up_to_date(place, composer)
    for note in composer.notes:
        say(f"Note: {note}.")
    if composer.warning:
        say_failure(f"Warning: {composer.warning}.")
    say(message(f"comment_{posted.outcome}", number=pr_number, forge=place.label))
    if posted.url:
        print(printable(posted.url))
    say_dashboard(dashboard_url)
