"""The sticky comment: one comment per project, always current, even if several jobs write at once.

The update works in rounds. Each round lists all comments, requests the text, and makes one change. The first
round with nothing to change is the last. A job that wrote therefore checks again: another job may have
created a second comment, or the text may be outdated. The last job to write always leaves the current text.

Forges notify people of a new comment, not of an edit. So a text with a higher notice than our comment's
becomes a new comment, and the next round deletes the older one. The text is requested after the list, so its
notice is never lower than that of a listed comment.

The text's second line names its project. If another account has written a comment with this line, we write
none. If both have, the comment with the highest notice stays, the oldest of equals. Each account chooses the
same one and deletes only its own others, so one is always left.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum

from prshots.contract.errors import ForgeError, NotFoundError
from prshots.contract.statements import message
from prshots.forges import Comment, Forge

ROUNDS = 10

_BLANK = "\ufeff \t\r\n"
_PROJECT = re.compile(r".*\n((?:<!-- |\[//\]: # \()prshots:\S+)")
_NOTICE = re.compile(
    r".*\n(?:(?:<!-- |\[//\]: # \()prshots:.*\n)?(?:<!-- |\[//\]: # \()svc:notice-(\d{1,15})\b"
)
_INVISIBLE = re.compile(r"(?:(?:<!-- |\[//\]: # \().*\s*)+")
_URL = re.compile(r"https?://[^\s()<>\"]+")


class PostOutcome(StrEnum):
    """What was done. `KEPT`: another account keeps the comment current, so nothing was written."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Posted:
    outcome: PostOutcome
    url: str = ""
    is_older: bool = False
    """Whether a kept comment shows something else than the text."""


def keep_current(
    forge: Forge,
    pr_number: int,
    render: Callable[[], str],
    *,
    creating: Callable[[], bool] = lambda: True,
    is_alone: Callable[[], bool] = lambda: True,
) -> Posted:
    """Make our comment equal to the result of `render`, which is called again after every change.

    If `creating`, called after `render`, returns false, this only changes an existing comment. A comment
    without a project's line counts only if `is_alone`, called after `render`, returns true: no other project
    takes part in the pull request. Raises ForgeError, UnreachableError, RateLimitedError.
    """
    ours = _OurComments(forge, pr_number)
    posted = Posted(PostOutcome.UNCHANGED)
    written: tuple[str, str] | None = None
    for _ in range(ROUNDS):
        found = ours.find()
        text = render()
        kept, is_ours = ours.keep_one(found, text, is_alone=is_alone())
        if kept and not is_ours:
            return Posted(PostOutcome.KEPT, kept.url, is_older=_is_older(kept.body, text))
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


def has_marker(comment: Comment, marker: str) -> bool:
    """Return whether a prshots client wrote the comment, with any account and for any project."""
    return comment.body.lstrip(_BLANK).startswith(marker)


def is_of_project(comment: Comment, text: str, *, is_alone: bool) -> bool:
    """Return whether the comment is about the text's project. If `is_alone`, it doesn't need to say so.

    The text itself names none only in the specification's view, if there is no other project.
    """
    found, own = _project_in(comment.body), _project_in(text)
    return found == own or not own or (is_alone and not found)


@dataclass(slots=True)
class _OurComments:
    """The comments on a pull request that start with our marker."""

    forge: Forge
    pr_number: int
    _me: str | None = None
    _made: Comment | None = None
    _gone: set[str] = field(default_factory=set)

    def find(self) -> list[Comment]:
        """Return the comments with our marker, oldest first, whoever wrote them."""
        marker = self.forge.marker(self.pr_number)
        found = [each for each in self.forge.comments(self.pr_number) if has_marker(each, marker)]
        if found and not self._me:
            self._me = self.forge.me()
        listed = {comment.id for comment in found}
        if self._made is not None and self._made.id not in listed:
            found.append(self._made)  # the list may lag behind
        return found

    def keep_one(
        self, found: Collection[Comment], text: str, *, is_alone: bool
    ) -> tuple[Comment | None, bool]:
        """Return the project's comment, and whether it is ours. Delete our other ones.

        New notices, concurrent jobs and lost replies create them.
        """
        found = [each for each in found if is_of_project(each, text, is_alone=is_alone)]
        ours = [each for each in found if self._is_ours(each)]
        theirs = [each for each in found if _project_in(each.body) and self._is_theirs(each)]
        if self._me is None and ours:
            theirs = []  # only an attempt to change ours tells who we are
        either = [each for each in found if each in ours or each in theirs]
        kept = max(either, key=lambda comment: notice_in(comment.body), default=None)
        if self._me:  # otherwise they may not be ours: only an attempt to change them tells
            for comment in ours:
                if comment is not kept:
                    self.forge.delete(self.pr_number, comment.id)
                    self._gone.add(comment.id)
        return kept, kept not in theirs

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
        is_by_us = self._me is None or is_made or (self._me != "" and comment.author == self._me)
        return is_by_us and comment.id not in self._gone

    def _is_theirs(self, comment: Comment) -> bool:
        """Return whether another account keeps it current. A deleted account or a stranger doesn't."""
        if self._me is None:
            return comment.id in self._gone  # the forge refused our change
        return self._me not in {"", comment.author} and comment.author != "" and not comment.by_stranger


def notice_in(text: str) -> int:
    """Return the number in the line below the marker and the project, or 0 if there is none."""
    found = _NOTICE.match(text.lstrip(_BLANK))
    return int(found[1]) if found else 0


def _project_in(text: str) -> str:
    """Return the beginning of the line after the marker if it names a project, else ""."""
    found = _PROJECT.match(text.lstrip(_BLANK))
    return found[1] if found else ""


def _is_same_text(body: str, text: str) -> bool:
    """Return whether the texts are equal, apart from line endings and outer whitespace."""
    return body.replace("\r\n", "\n").strip() == text.replace("\r\n", "\n").strip()


def _is_older(body: str, text: str) -> bool:
    """Return whether the comment lacks the text. Signed addresses may differ, and a template surrounds it."""
    shown, current = (_URL.sub("", each.replace("\r\n", "\n")) for each in (body, text))
    return _INVISIBLE.sub("", current, count=1).strip() not in shown
