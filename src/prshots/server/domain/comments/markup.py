"""Markdown for names. A name is data and renders as text, regardless of the characters in it."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from prshots.contract.comments import Marker
from prshots.server.domain.images.markdown import REMEMBERED_NAMES, one_line

# Most names match this. The check is five times as fast as applying the rules below.
_PLAIN_IN_CODE = re.compile(r"[!-_a-~](?:[ -_a-~]*[!-_a-~])?")
_ORDINARY = re.compile(r"(?!.*www\.)[A-Za-z0-9]+(?:(?:_|[ .,/()-]+)[A-Za-z0-9]+)*\)?")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_LEFT_TO_RIGHT_MARK = "\u200e"
_BACKTICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Style:
    """The markup that depends on the marker.

    Forges that show HTML as text also don't support the backslash line break, so the image gets its own
    paragraph there. Other forges need the backslash, because not all of them break lines at a newline.
    """

    after_marker: str
    after_caption: str
    folded: str


STYLES = {
    Marker.HTML: Style(
        after_marker="\n",
        after_caption="\\\n",
        folded="\n<details><summary>{summary}</summary>\n\n{lines}\n</details>\n",
    ),
    Marker.LINK: Style(
        after_marker="\n\n",
        after_caption="\n\n",
        folded="\n**{summary}**\n\n{lines}",
    ),
}


def room_for_images(room: int) -> int:
    """Return the part of the room that is reserved for images, regardless of the number of lines.

    Two thirds is a choice: people look at the images, and the dashboard has the lines that don't fit.
    """
    return room * 2 // 3


def size(text: str) -> int:
    return len(text.encode())


class Pile:
    """As many of these texts as fit into the room. `sizes[n]` is the size of the first `n` in bytes."""

    def __init__(self, texts: Iterable[str], room: int) -> None:
        self.texts: list[str] = []
        self.sizes = [0]
        for text in texts:
            taken = self.sizes[-1] + size(text)
            if taken > room:
                break
            self.texts.append(text)
            self.sizes.append(taken)

    def count_fitting(self, room: int, after: int = 0) -> int:
        """Return how many of the texts after the first `after` fit into the room."""
        if after >= len(self.sizes):
            return 0
        return bisect_right(self.sizes, self.sizes[after] + room, lo=after + 1) - 1 - after

    def oldest_first(self, start: int, end: int) -> str:
        return "".join(reversed(self.texts[start:end]))


def link(text: str, href: str) -> str:
    """Return this markdown as a link, if there is a URL for it."""
    return f"[{text}]({href})" if href else text


def screenshots(count: int) -> str:
    return "screenshot" if count == 1 else "screenshots"


@lru_cache(REMEMBERED_NAMES)
def name_as_code(name: str) -> str:
    """Return the name as a code span that is safe to put text after."""
    if _PLAIN_IN_CODE.fullmatch(name):
        return f"`{name}`"
    name = visible(name)
    # Without the mark, a browser draws the digits after a right-to-left name inside it.
    mark = _LEFT_TO_RIGHT_MARK if _RIGHT_TO_LEFT.search(name) else ""
    return f"{code(name)}{mark}"


def plain_or_code(name: str) -> str:
    """Return an ordinary name as it is. Return others as code, so they can't be mentions, links or markup."""
    return name if _ORDINARY.fullmatch(name) else name_as_code(name)


def visible(name: str) -> str:
    """Return the name without characters that would reorder the text after it."""
    return _BIDI_CONTROLS.sub("", one_line(name)) or " "


def code(text: str) -> str:
    """Return a code span that renders as exactly this text. The text must not be empty."""
    # Use the shortest fence that differs from every run of backticks in the text. For 200 characters, 19
    # backticks are always enough. A fence longer than every run wouldn't work: GitHub and GitLab ignore
    # fences of more than 80.
    runs = set(_BACKTICKS.findall(text))
    fence = "`"
    while fence in runs:
        fence += "`"
    # If both ends are spaces, a renderer strips one from each, unless the text is all spaces.
    loses_spaces = text[0] == text[-1] == " " and text.strip(" ") != ""
    pad = " " if loses_spaces or text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"
