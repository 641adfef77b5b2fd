"""The comment as the service writes it, taken apart: to put a template around it, or to make it shorter.

It begins with a marker and a heading. Then come what is only listed, what is shown, and a line that counts
what is in neither. A name never holds a line break, so every line begins as it does for one reason only.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

_COUNT = re.compile(r"^#+ .*?(\d+)", re.MULTILINE)
_COUNT_OF_OURS = re.compile(r"^### (\d+) screenshots?\b", re.MULTILINE)
_DASHBOARD = re.compile(r"^The oldest .* only in the (\[dashboard\]\(\S+\))\.$")


def size(text: str) -> int:
    """Return how long a forge may find it: in bytes, so that it holds in whichever unit a forge counts."""
    return len(text.encode())


@dataclass(frozen=True, slots=True)
class CommentText:
    marker: str
    heading: str
    listed: tuple[str, ...]
    pictures: tuple[str, ...]
    dashboard: str

    @classmethod
    def of(cls, markdown: str) -> "CommentText":
        marker, _, rest = markdown.partition("\n")
        heading, _, rest = rest.partition("\n")
        lines = rest.split("\n")
        dashboards = [found[1] for line in lines if (found := _DASHBOARD.match(line))]
        return cls(
            marker=marker,
            heading=heading,
            listed=tuple(line for line in lines if line.startswith("- ")),
            pictures=tuple(
                f"{before}\n{line}"
                for before, line in pairwise(lines)
                if line.startswith("![") and before.endswith("\\")
            ),
            dashboard=dashboards[0] if dashboards else "",
        )

    @property
    def count(self) -> int:
        """Return how many screenshots there are, whether or not they are all shown."""
        found = _COUNT.search(self.heading)
        return int(found[1]) if found else len(self.listed) + len(self.pictures)

    def without(self, oldest: int) -> "CommentText":
        """Return it without so many entries. What is only listed is older than what is shown."""
        unshown = max(oldest - len(self.listed), 0)
        return replace(self, listed=self.listed[oldest:], pictures=self.pictures[unshown:])

    def __str__(self) -> str:
        text = f"{self.marker}\n{self.heading}\n"
        if self.listed:
            words = f"{len(self.listed)} older {_screenshots(len(self.listed))}, without pictures"
            text += f"\n<details><summary>{words}</summary>\n\n" + "".join(
                f"{line}\n" for line in self.listed
            )
            text += "\n</details>\n"
        text += "".join(f"\n{picture}\n" for picture in self.pictures)
        if left_out := self.count - len(self.listed) - len(self.pictures):
            which = "The oldest screenshot is" if left_out == 1 else f"The oldest {left_out} screenshots are"
            where = (
                f"only in the {self.dashboard}"
                if self.dashboard
                else "not shown: the comment would be too long"
            )
            text += f"\n{which} {where}.\n"
        return text


def count_of(markdown: str) -> int:
    return CommentText.of(markdown).count


def shortened(markdown: str, limit: int, measured: Callable[[str], int] = size) -> str:
    """Return the comment without its oldest entries: without as many as keeps it within the limit."""
    if measured(markdown) <= limit:
        return markdown
    comment = CommentText.of(markdown)
    enough = bisect_left(
        range(len(comment.listed) + len(comment.pictures)),
        1,
        key=lambda left_out: measured(str(comment.without(left_out))) <= limit,
    )
    return str(comment.without(enough))


def gone(marker: str, count: int, *, because_closed: bool) -> str:
    """Return what the comment says when the screenshots it showed have been deleted."""
    pronoun, were = ("It", "was") if count == 1 else ("They", "were")
    when = (
        "when the pull request was closed" if because_closed else "after the time that the project keeps them"
    )
    return f"{marker}\n### {count} {_screenshots(count)}, deleted\n\n{pronoun} {were} deleted {when}.\n"


def count_in(body: str) -> int:
    """Return how many screenshots a posted comment speaks of, also one with a template around them."""
    if found := _COUNT_OF_OURS.search(body):
        return int(found[1])
    return len(re.findall(r"^!\[", body, re.MULTILINE))


def _screenshots(count: int) -> str:
    return "screenshot" if count == 1 else "screenshots"
