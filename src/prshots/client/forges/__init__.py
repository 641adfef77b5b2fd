"""The forges: where pull requests are discussed, and how a comment is found, written and changed there."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from prshots.client.ci import ForgeKind, Job
from prshots.client.sending import OnWait, ignore_wait
from prshots.contract.comments import Marker
from prshots.contract.errors import InvalidInputError

_KINDS = {
    ForgeKind.GITHUB: ("github", "GitHub"),
    ForgeKind.GITLAB: ("gitlab", "GitLab"),
    ForgeKind.GITEA: ("gitea", "Gitea"),
    ForgeKind.BITBUCKET: ("bitbucket", "Bitbucket"),
}
"""The module and the class of each; only the one that is used is imported."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as the forge has it. `author` is what `Forge.me` would say of whoever wrote it."""

    id: str
    body: str
    author: str
    url: str = ""


class Forge(Protocol):
    """One repository at one forge. Every method raises ForgeError, UnreachableError, RateLimitedError."""

    @property
    def label(self) -> str:
        """What people call it, such as GitHub."""

    @property
    def max_characters(self) -> int:
        """The longest comment that the forge accepts."""

    @property
    def marker_style(self) -> Marker:
        """How our comment is marked here: invisibly, so it depends on the forge's markdown."""

    def marker(self, pr_number: int) -> str:
        """Return the first line of our comment."""

    def me(self) -> str | None:
        """Return who we are by our token; empty when the forge does not say.

        None where it is not said but can be found out by trying: where only its author may change a comment,
        and `update` raises NotFoundError for another's.
        """

    def comments(self, pr_number: int) -> Iterator[Comment]:
        """Return all comments on a pull request, the oldest first, a page at a time as they are asked for."""

    def create(self, pr_number: int, body: str) -> Comment: ...

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        """Change a comment's text. Raises NotFoundError when it has gone."""

    def delete(self, pr_number: int, comment_id: str) -> None:
        """Remove a comment; one that has gone already is no error."""

    def proxied_images(self, comment_id: str) -> list[str]:
        """Return the addresses under which the forge's own image proxy shows the comment's images."""

    def purge(self, url: str) -> bool:
        """Ask the image proxy to drop its copy; False when it did not."""

    def close(self) -> None: ...


def forge_of(job: Job, on_wait: OnWait = ignore_wait) -> Forge:
    """Return the repository that the job works on. Raises InvalidInputError when something is not known."""
    if job.forge is None:
        raise InvalidInputError(f"which forge? Give --forge, one of {', '.join(ForgeKind)}")
    module, name = _KINDS[job.forge]
    if not job.repository:
        raise InvalidInputError(f"which repository of {name}? Give --repository, such as owner/name")
    if not job.forge_api.startswith(("http://", "https://")):
        raise InvalidInputError(f"where is {name}? Give the root of its API: --forge-url")
    if not job.forge_token:
        from prshots.client.forges.forks import advice

        missing = f"no token to comment on {name} with: give --forge-token, or set PRSHOTS_FORGE_TOKEN"
        raise InvalidInputError(
            f"{missing}; {words}" if (words := advice(job)) else missing + _HOW_TO_PASS_IT.get(job.forge, "")
        )
    kind = getattr(import_module(f"{__name__}.{module}"), name)
    made = kind(api_url=job.forge_api, repository=job.repository, token=job.forge_token, on_wait=on_wait)
    return cast("Forge", made)


_HOW_TO_PASS_IT = {
    ForgeKind.GITHUB: "; in GitHub Actions, env: GITHUB_TOKEN: ${{ github.token }} in the step",
    ForgeKind.GITEA: "; in Gitea Actions, env: GITHUB_TOKEN: ${{ github.token }} in the step",
}
