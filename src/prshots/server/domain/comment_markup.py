"""Markdown that holds names, which are data: whatever they contain, they render as text."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from prshots.contract.comments import Marker

REMEMBERED_NAMES = 1024
"""A pull request has the same few names again with every commit."""

# Most names are one of these. Deciding that is five times as fast as going through the rules below.
_PLAIN_IN_CODE = re.compile(r"[!-_a-~](?:[ -_a-~]*[!-_a-~])?")
_PLAIN_IN_IMAGE = re.compile(r"[A-Za-z0-9 !\"#%'()+,./:;=?@{}-]*")
_BREAKS_AND_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_LEFT_TO_RIGHT_MARK = "\u200e"
_MARKUP = re.compile(r"[\\\[\]`*~|<]|&(?=#?[0-9A-Za-z]+;)")
_BACKTICKS = re.compile("`+")
_UNDERSCORES = re.compile("_+")
_UNDERSCORE_AFTER_NO_LETTER = re.compile(r"_(?<!\w_)")


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


def one_line(name: str) -> str:
    return name if name.isprintable() else _BREAKS_AND_CONTROLS.sub(" ", name)


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


@lru_cache(REMEMBERED_NAMES)
def alternative_text(name: str) -> str:
    """Escape only what would not render as written."""
    if _PLAIN_IN_IMAGE.fullmatch(name):
        return name
    name = one_line(name)
    text = _MARKUP.sub(lambda match: f"\\{match[0]}", name)
    if _makes_emphasis(name):
        text = text.replace("_", r"\_")
    if text.startswith("^"):  # a footnote to GitHub and GitLab
        text = f"\\{text}"
    # Some forges render $…$ as math, and a backslash does not reliably prevent it.
    return text.replace("$", "&#36;")


def _makes_emphasis(name: str) -> bool:
    """Return whether one run of underscores can open emphasis and a later one can close it.

    This is CommonMark's flanking rule for underscores. A run opens unless a letter precedes it or a space
    follows it. It closes unless a letter follows it or a space precedes it.
    """
    if not _UNDERSCORE_AFTER_NO_LETTER.search(name):
        return False  # the common case, decided quickly
    opened = False
    for run in _UNDERSCORES.finditer(name):
        before = _kind(name[run.start() - 1 : run.start()])
        after = _kind(name[run.end() : run.end() + 1])
        if opened and after != "letter" and before != "space":
            return True
        opened = opened or (before != "letter" and after != "space")
    return False


def _kind(char: str) -> str:
    if not char:
        return "punctuation"  # the bracket around the name
    match unicodedata.category(char)[0]:
        case "Z":
            return "space"
        case "P" | "S":  # newer renderers count symbols as punctuation
            return "punctuation"
        case _:
            return "letter"
