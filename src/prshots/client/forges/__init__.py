"""The forges: where pull requests are discussed, and how a comment is found, written and changed there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


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
        """How long a comment may be."""

    def marker(self, pr_number: int) -> str:
        """Return how our comment begins here; as the service writes it, wherever that is invisible."""

    def written(self, markdown: str) -> str:
        """Return the comment, as the service writes it, in the markdown of this forge."""

    def me(self) -> str | None:
        """Return who we are by our token; None when the forge does not say."""

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
