"""Markdown that holds names, which are data: whatever they contain, they render as text."""

import re
from dataclasses import dataclass
from functools import lru_cache

from prshots.contract.comments import Marker
from prshots.server.domain.images.markdown import REMEMBERED_NAMES, one_line

# Most names are one of these. Deciding that is five times as fast as going through the rules below.
_PLAIN_IN_CODE = re.compile(r"[!-_a-~](?:[ -_a-~]*[!-_a-~])?")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_LEFT_TO_RIGHT_MARK = "\u200e"
_BACKTICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Style:
    """The markup that depends on the marker.

    Forges that show HTML as text also lack the backslash that breaks a line, so the picture becomes its own
    paragraph there. Everywhere else the backslash is needed: not every forge breaks lines at a newline.
    """

    after_marker: str
    before_picture: str
    folded: str


STYLES = {
    Marker.HTML: Style(
        after_marker="\n",
        before_picture="\\\n",
        folded="\n<details><summary>{summary}</summary>\n\n{lines}\n</details>\n",
    ),
    Marker.LINK: Style(
        after_marker="\n\n",
        before_picture="\n\n",
        folded="\n**{summary}**\n\n{lines}",
    ),
}


def room_for_pictures(room: int) -> int:
    """Return the part of the room that pictures keep, however many lines there are.

    Two thirds are a choice: people look at the pictures, and the dashboard has the lines that do not fit.
    """
    return room * 2 // 3


def size(text: str) -> int:
    return len(text.encode())


def screenshots(count: int) -> str:
    return "screenshot" if count == 1 else "screenshots"


@lru_cache(REMEMBERED_NAMES)
def name_as_code(name: str) -> str:
    """Return the name as a code span, which text can follow."""
    if _PLAIN_IN_CODE.fullmatch(name):
        return f"`{name}`"
    name = visible(name)
    # Without the mark, a browser draws the digits that follow into the name.
    mark = _LEFT_TO_RIGHT_MARK if _RIGHT_TO_LEFT.search(name) else ""
    return f"{code(name)}{mark}"


def visible(name: str) -> str:
    """Return the name without characters that would reorder the text after it."""
    return _BIDI_CONTROLS.sub("", one_line(name)) or " "


def code(text: str) -> str:
    """Return a code span that renders as exactly this text, which must not be empty."""
    # The shortest fence that equals no run of backticks in the text: 19 are enough for 200 characters.
    # One that is longer than every run would not do: GitHub and GitLab ignore a fence of more than 80.
    runs = set(_BACKTICKS.findall(text))
    fence = "`"
    while fence in runs:
        fence += "`"
    # If both ends are spaces, a renderer removes one from each, unless the text is all spaces.
    loses_spaces = text[0] == text[-1] == " " and text.strip(" ") != ""
    pad = " " if loses_spaces or text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"
