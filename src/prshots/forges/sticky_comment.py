"""The sticky comment: one comment per pull request, always current, even if several jobs write at once.

The update works in rounds. Each round lists all comments, requests the text, and makes one change. The first
round with nothing to change is the last. A job that wrote therefore checks again: another job may have
created a second comment, or the text may be outdated. The last job to write always leaves the current text.

Forges notify people of a new comment, not of an edit. So a text with a higher notice than our comment's
becomes a new comment, and the next round deletes the older one. The text is requested after the list, so its
notice is never lower than that of a listed comment.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from prshots.contract.errors import ForgeError, NotFoundError
from prshots.contract.statements import message
from prshots.forges import Comment, Forge

ROUNDS = 10

_BLANK = "\ufeff \t\r\n"
_NOTICE = re.compile(r".*\n(?:<!-- |\[//\]: # \()svc:notice-(\d{1,15})\b")


class PostOutcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Posted:
    outcome: PostOutcome
    url: str = ""


def keep_current(
    forge: Forge, pr_number: int, render: Callable[[], str], *, creating: Callable[[], bool] = lambda: True
) -> Posted:
    """Make our comment equal to the result of `render`, which is called again after every change.

    If `creating`, called after `render`, returns false, this only changes an existing comment. Raises
    ForgeError, UnreachableError, RateLimitedError.
    """
    ours = OurComments(forge, pr_number)
    posted = Posted(PostOutcome.UNCHANGED)
    written: tuple[str, str] | None = None
    for _ in range(ROUNDS):
        kept = ours.keep_one()
        text = render()
        if (kept is None or notice_in(text) > notice_in(kept.body)) and creating():
            kept = ours.create(text)
            posted = Posted(PostOutcome.CREATED, kept.url)
        elif kept is None:
            return Posted(PostOutcome.NONE)
        elif _is_same_text(kept.body, text) or (kept.id, text) == written:
            return Posted(posted.outcome, kept.url)
        elif ours.update(kept, text) and posted.outcome is PostOutcome.UNCHANGED:
            posted = Posted(PostOutcome.UPDATED, kept.url)
        written = kept.id, text
    if posted.outcome is PostOutcome.UNCHANGED:
        raise ForgeError(message("listed_but_gone", forge=forge.label))
    return posted  # the text keeps changing: every job that uploads also posts


@dataclass(slots=True)
class OurComments:
    """The comments on a pull request that start with our marker and that we wrote."""

    forge: Forge
    pr_number: int
    _me: str | None = None
    _made: Comment | None = None
    _gone: set[str] = field(default_factory=set)

    def all(self) -> list[Comment]:
        """Return the comments, oldest first."""
        marker = self.forge.marker(self.pr_number)
        found = [
            comment
            for comment in self.forge.comments(self.pr_number)
            if comment.body.lstrip(_BLANK).startswith(marker)
        ]
        if found and not self._me:
            self._me = self.forge.me()
        listed = {comment.id for comment in found}
        if self._made is not None and self._made.id not in listed:
            found.append(self._made)  # the list may lag behind
        return [comment for comment in found if comment.id not in self._gone and self._is_ours(comment)]

    def keep_one(self) -> Comment | None:
        """Return the comment with the highest notice, the oldest of equals, and delete the others.

        New notices, concurrent jobs and lost replies create them.
        """
        found = self.all()
        kept = max(found, key=lambda comment: notice_in(comment.body), default=None)
        if self._me:  # otherwise they may not be ours: only an attempt to change them tells
            for comment in found:
                if comment is not kept:
                    self.forge.delete(self.pr_number, comment.id)
                    self._gone.add(comment.id)
        return kept

    def create(self, text: str) -> Comment:
        self._made = self.forge.create(self.pr_number, text)
        self._me = self._made.author or self._me
        return self._made

    def update(self, comment: Comment, text: str) -> bool:
        """Change the comment. Return False if it no longer exists or isn't ours."""
        try:
            self.forge.update(self.pr_number, comment.id, text)
        except NotFoundError:
            self._gone.add(comment.id)
            return False
        return True

    def _is_ours(self, comment: Comment) -> bool:
        is_made = self._made is not None and comment.id == self._made.id
        return self._me is None or is_made or (self._me != "" and comment.author == self._me)


def notice_in(text: str) -> int:
    """Return the number in the line after the marker, or 0 if there is none."""
    found = _NOTICE.match(text.lstrip(_BLANK))
    return int(found[1]) if found else 0


def _is_same_text(body: str, text: str) -> bool:
    """Return whether the texts are equal, apart from line endings and outer whitespace."""
    return body.replace("\r\n", "\n").strip() == text.replace("\r\n", "\n").strip()
