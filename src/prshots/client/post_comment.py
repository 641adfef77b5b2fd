"""Compose the pull request's comment and post it."""

import re
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from prshots.client.ci import Job
from prshots.client.job_forge import with_fork_advice
from prshots.client.service import Client
from prshots.client.templates import Template
from prshots.contract.addresses import is_public
from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, View
from prshots.contract.errors import ForgeRefusedError
from prshots.contract.statements import message
from prshots.forges import Forge
from prshots.forges.forge_addresses import kind_of_public_api
from prshots.forges.sticky_comment import Posted, PostOutcome, keep_current

_IMAGE = re.compile(
    r"""^!\[.*\]\((https?://[^\s)]+)\)$  # on its own line
      | \[!\[[^\]\n]*\]\((https?://[^\s)]+)\)\]\(  # linked
      | <a\ href="[^"]*"><img\ [^>]*src="(https?://[^"]+)"
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(slots=True)
class Composer:
    """Composes the comment. Every call asks the service again, so the text is always current."""

    service: Client
    pr_number: int
    job: Job
    template: Template | None = None
    view: View = View.ALL
    dashboard_url: str = ""
    count: int = 0
    """How many screenshots the last text is about."""

    siblings: int = 0
    """How many other projects take part in the pull request."""

    notes: list[str] = field(default_factory=list)
    """Sentences for the user about the parts that the last text leaves out."""

    warning: str = ""
    """Why readers may not see the images in the last text, or empty if nothing prevents it."""

    def markdown(self) -> str:
        """Return the comment with its template, in markdown for any forge."""
        comment = self.service.comment(self.pr_number, view=self.view)
        return self.template.fill(comment, self._job_values()) if self.template else comment.markdown

    def text_for(self, forge: Forge) -> str:
        """Return the comment in the markdown of this forge, no longer than the forge allows."""
        self.notes.clear()
        template, limit = self.template, forge.max_characters
        if template is not None:
            limit = template.room(forge.max_characters, forge.marker(self.pr_number), self._job_values())
            if limit < MIN_COMMENT_BYTES:
                self.notes.append(message("template_left_out", forge=forge.label))
                template, limit = None, forge.max_characters
        limit = min(limit, MAX_COMMENT_BYTES)
        comment = self.service.comment(self.pr_number, limit=limit, marker=forge.marker_style, view=self.view)
        self.count, self.siblings = comment.count, comment.siblings
        # Among the changes, only unchanged shots are merely listed.
        listed = 0 if self.view is View.CHANGES else comment.listed
        if without_picture := listed + comment.omitted:
            self.notes.append(
                message("without_image", count=without_picture, total=comment.count, limit=f"{limit:,}")
            )
        self.warning = unreachable_images(comment.markdown, self.job.forge_api, forge.label)
        return template.fill(comment, self._job_values()) if template else comment.markdown

    def _job_values(self) -> dict[str, str]:
        return {
            "pr_number": str(self.pr_number),
            "commit": self.job.commit_sha,
            "run_url": self.job.run_url,
            "dashboard_url": self.dashboard_url,
        }


def unreachable_images(markdown: str, forge_api: str, label: str) -> str:
    """Return a warning if the forge is on the internet but the images aren't, else ""."""
    found = _IMAGE.search(markdown)
    address = urlsplit(found[found.lastindex or 0]) if found else None
    if address is None or not kind_of_public_api(forge_api) or is_public(address.hostname or ""):
        return ""
    return message("unreachable_images", forge=label, address=f"{address.scheme}://{address.netloc}")


def post(forge: Forge, composer: Composer, *, creates: bool = True) -> Posted:
    """Update the project's comment on the pull request. Without screenshots, don't create one.

    Raises ForgeError, NotFoundError, and the errors of the service's client.
    """
    try:
        posted = keep_current(
            forge,
            composer.pr_number,
            partial(composer.text_for, forge),
            creating=lambda: creates and composer.count > 0,
            is_alone=lambda: not composer.siblings,
        )
    except ForgeRefusedError as error:
        raise with_fork_advice(error, composer.job) from error
    if posted.outcome is PostOutcome.KEPT:  # the notes are about a text that wasn't posted
        composer.notes = [message("comment_is_older" if posted.is_older else "comment_kept_current")]
    return posted
