"""The one comment: found again, kept current, and never a second one, however many jobs write at once.

It goes in rounds. Each asks for the text, looks at all comments, and does what is still to be done; the first
that finds nothing to do is the last. So whoever wrote looks once more: whether another job has written a
comment too, and whether there is something new to say. The last to write always leaves the current text.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from prshots.client.forges import Comment, Forge
from prshots.contract.errors import ForgeError, NotFoundError

ROUNDS = 10


class PostOutcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Posted:
    outcome: PostOutcome
    url: str = ""


def keep_current(forge: Forge, pr_number: int, render: Callable[[], str], *, creating: bool = True) -> Posted:
    """Have our comment say what `render` returns, which is asked again after everything that was written.

    Without `creating`, a comment is changed where there is one. Raises ForgeError, UnreachableError,
    RateLimitedError.
    """
    ours = OurComments(forge, pr_number)
    posted = Posted(PostOutcome.UNCHANGED)
    written: tuple[str, str] | None = None
    for _ in range(ROUNDS):
        text = render()
        kept = ours.oldest_alone()
        if kept is None:
            if not creating:
                return Posted(PostOutcome.NONE)
            kept = ours.created(text)
            posted = Posted(PostOutcome.CREATED, kept.url)
        elif _same(kept.body, text) or (kept.id, text) == written:
            return Posted(posted.outcome, kept.url)
        elif ours.updated(kept, text) and posted.outcome is PostOutcome.UNCHANGED:
            posted = Posted(PostOutcome.UPDATED, kept.url)
        written = kept.id, text
    if posted.outcome is PostOutcome.UNCHANGED:
        raise ForgeError(
            f"{forge.label} lists our comment, and says that it has gone when it is to be changed"
        )
    return posted  # there is something new to say each time; whoever uploads it, posts it too


@dataclass(slots=True)
class OurComments:
    """The comments on a pull request that begin with our marker, and that we wrote ourselves."""

    forge: Forge
    pr_number: int
    _me: str | None = None
    _made: Comment | None = None
    _gone: set[str] = field(default_factory=set)

    def all(self) -> list[Comment]:
        """Return them, the oldest first."""
        marker = self.forge.marker(self.pr_number)
        found = [
            comment for comment in self.forge.comments(self.pr_number) if _begins_with(comment.body, marker)
        ]
        if found and not self._me:
            self._me = self.forge.me()
        listed = {comment.id for comment in found}
        if self._made is not None and self._made.id not in listed:
            found.append(self._made)  # a list may be a moment behind
        return [comment for comment in found if comment.id not in self._gone and self._is_ours(comment)]

    def oldest_alone(self) -> Comment | None:
        """Return the oldest, having removed the others: of jobs at once, or of a reply that got lost."""
        found = self.all()
        if self._me:  # else they are ours only until an attempt to change them tells otherwise
            for comment in found[1:]:
                self.forge.delete(self.pr_number, comment.id)
                self._gone.add(comment.id)
        return found[0] if found else None

    def created(self, text: str) -> Comment:
        self._made = self.forge.create(self.pr_number, text)
        self._me = self._made.author or self._me
        return self._made

    def updated(self, comment: Comment, text: str) -> bool:
        """Change it; False when it has gone meanwhile, or is not ours after all."""
        try:
            self.forge.update(self.pr_number, comment.id, text)
        except NotFoundError:
            self._gone.add(comment.id)
            return False
        return True

    def _is_ours(self, comment: Comment) -> bool:
        is_made = self._made is not None and comment.id == self._made.id
        return self._me is None or is_made or (self._me != "" and comment.author == self._me)


def _begins_with(body: str, marker: str) -> bool:
    return body.lstrip("\ufeff \t\r\n").startswith(marker)


def _same(body: str, text: str) -> bool:
    """Whether the body is what a forge makes of the text: some end lines differently, or not the last one."""
    return body.replace("\r\n", "\n").strip() == text.replace("\r\n", "\n").strip()
