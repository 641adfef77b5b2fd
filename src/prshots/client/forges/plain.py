"""Defaults that most forges share: an HTML marker, and no image proxy."""

from contextlib import suppress
from typing import Any, ClassVar

from prshots.client.forges import Comment
from prshots.client.forges.calling import ForgeApi
from prshots.contract.comments import Marker
from prshots.contract.errors import ForgeError, NotFoundError


class PlainForge:
    """Base class of the forges. Subclasses add the calls of their API."""

    label: ClassVar[str]
    max_characters: ClassVar[int]
    marker_style: ClassVar[Marker] = Marker.HTML

    def __init__(self, api: ForgeApi) -> None:
        self._api = api

    def marker(self, pr_number: int) -> str:
        return self.marker_style.line(pr_number)

    def proxied_images(self, comment_id: str) -> list[str]:
        del comment_id
        return []

    def purge(self, url: str) -> bool:
        del url
        return False

    def close(self) -> None:
        self._api.close()

    def _remove(self, path: str) -> None:
        with suppress(NotFoundError):
            self._api.call("DELETE", path)

    def _checked(self, comment: Comment) -> Comment:
        """Return the comment. Raises ForgeError if the forge replied with something else."""
        if not comment.id:
            raise ForgeError(
                f"{self.label} answered with something other than a comment: is this {self.label}?"
            )
        return comment


def text_at(value: Any, *names: str) -> str:  # noqa: ANN401 - anything JSON can say
    """Return the text or number at this path of names; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None or isinstance(value, (dict, list)) else str(value)
