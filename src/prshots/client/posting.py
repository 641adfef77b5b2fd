"""The comment on its way from the service to the pull request."""

from dataclasses import dataclass, field

from prshots.client.ci import Job
from prshots.client.comment_text import count_of, shortened, size
from prshots.client.forges import Forge
from prshots.client.forges.forks import refused
from prshots.client.service import Client
from prshots.client.sticky_comment import Posted, keep_current
from prshots.client.templates import Template
from prshots.contract.errors import ForgeRefusedError


@dataclass(slots=True)
class Composer:
    """What the comment is to say, asked of the service whenever it is to be known."""

    service: Client
    pr_number: int
    job: Job
    template: Template | None = None
    notes: list[str] = field(default_factory=list)
    """What had to be left out, in words for people."""

    def markdown(self) -> str:
        """Return the comment with its template, however long that is."""
        return self._with_template(self.service.comment(self.pr_number))

    def text_for(self, forge: Forge) -> str:
        """Return the comment as the forge takes it, and no longer."""
        return self.fitted(self.service.comment(self.pr_number), forge)

    def fitted(self, markdown: str, forge: Forge) -> str:
        limit = forge.max_characters
        self.notes.clear()
        text = forge.written(self._with_template(markdown))
        if size(text) > limit and self.template is not None:
            self.notes.append(f"the template is left out: with it the comment is too long for {forge.label}")
            text = forge.written(markdown)
        if size(text) > limit:
            self.notes.append(f"the oldest screenshots are left out: {forge.label} takes no longer comment")
            text = forge.written(shortened(markdown, limit, lambda tried: size(forge.written(tried))))
        return text

    def _with_template(self, markdown: str) -> str:
        if self.template is None:
            return markdown
        of_the_job = {
            "pr_number": str(self.pr_number),
            "commit": self.job.commit_sha,
            "run_url": self.job.run_url,
        }
        return self.template.filled(markdown, of_the_job)


def post(forge: Forge, composer: Composer) -> Posted:
    """Bring the pull request's comment up to date. None is made to say that there are no screenshots.

    Raises ForgeError, NotFoundError, and what the service's calls raise.
    """
    creating = count_of(composer.service.comment(composer.pr_number)) > 0
    try:
        return keep_current(forge, composer.pr_number, lambda: composer.text_for(forge), creating=creating)
    except ForgeRefusedError as error:
        raise refused(error, composer.job) from error
