"""The markdown of one image, and of the comment on a pull request.

A name is data. Whatever it contains, an image's alternative text renders as that name. Elsewhere in the
comment the name is code, where no forge looks for links, mentions, emoji or HTML.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from prshots.contract.comments import MAX_COMMENT_BYTES, Marker
from prshots.contract.limits import Policy
from prshots.contract.replies import SizedComment
from prshots.server.domain.models import Project

DEFAULT_LIMIT = MAX_COMMENT_BYTES - 1

# No comment lists more images than this: the shortest possible lines would fill all of it.
MAX_LISTED = MAX_COMMENT_BYTES // len("- `n` · 1x1 · `0123456`\n".encode())

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
class Entry:
    """What the comment says about one image."""

    name: str
    viewport: str
    commit_sha: str
    url: str


@dataclass(frozen=True, slots=True)
class _Style:
    """The markup that depends on the marker.

    Forges that show HTML as text also lack the backslash that breaks a line, so the picture becomes its own
    paragraph there. Everywhere else the backslash is needed: not every forge breaks lines at a newline.
    """

    after_marker: str
    before_picture: str
    folded: str


_STYLES = {
    Marker.HTML: _Style(
        after_marker="\n",
        before_picture="\\\n",
        folded="\n<details><summary>{summary}</summary>\n\n{lines}\n</details>\n",
    ),
    Marker.LINK: _Style(
        after_marker="\n\n",
        before_picture="\n\n",
        folded="\n**{summary}**\n\n{lines}",
    ),
}


def image_markdown(name: str, url: str) -> str:
    return f"![{_alternative_text(name)}]({url})"


def comment(
    pr_number: int,
    total: int,
    newest: Sequence[Entry],
    dashboard_url: str,
    *,
    limit: int = DEFAULT_LIMIT,
    marker: Marker = Marker.HTML,
) -> SizedComment:
    """Build the comment for a pull request with `total` images, in at most `limit` bytes.

    `newest` are the newest `min(total, MAX_LISTED)` of them, in upload order. While there is room, all are
    shown. After that the oldest are listed without their picture, and the oldest of those are only counted.
    """
    style = _STYLES[marker]
    heading = f"### {total} {_screenshots(total)}"
    head = f"{marker.line(pr_number)}{style.after_marker}{heading}\n"
    if len(dashboard_url) > limit // 2:  # without the link, the rest always fits
        dashboard_url = ""
    newest_first = newest[::-1]
    pictures = _fitting((_picture(entry, style) for entry in newest_first), limit - _size(head))
    lines: list[str] = []
    if len(pictures) < total:
        frame = head + _folded(total, "", style) + _left_out(total, dashboard_url)
        pictures, lines = _divided(pictures, map(_line, newest_first), limit - _size(frame))
    text = head
    if lines:
        text += _folded(len(lines), "".join(reversed(lines)), style)
    text += "".join(reversed(pictures))
    if omitted := total - len(pictures) - len(lines):
        text += _left_out(omitted, dashboard_url)
    return SizedComment(pr_number, text, heading, total, len(pictures), len(lines), omitted)


def deleted_comment(pr_number: int, project: Project, marker: Marker) -> SizedComment:
    """Build the comment for a closed pull request that has no images left."""
    heading = "### Screenshots deleted"
    text = f"{marker.line(pr_number)}{_STYLES[marker].after_marker}{heading}\n\n{_why_deleted(project)}\n"
    return SizedComment(pr_number, text, heading, count=0, shown=0, listed=0, omitted=0)


def _why_deleted(project: Project) -> str:
    """Return the project's policy in words. What deleted each image is not recorded."""
    if project.policy is Policy.PR_CLOSE:
        return "This project deletes screenshots when the pull request closes."
    if project.retain_days is not None:
        days = "1 day" if project.retain_days == 1 else f"{project.retain_days} days"
        return f"This project deletes screenshots {days} after they are uploaded."
    return "This project keeps screenshots until someone deletes them."


def _divided(pictures: Sequence[str], lines: Iterable[str], room: int) -> tuple[list[str], list[str]]:
    """Divide the room between pictures and lines, both given newest first. An image has one or neither."""
    fitting_lines = _fitting(lines, room)
    shown = _shown(pictures, fitting_lines, room)
    left = room - sum(map(_size, pictures[:shown]))
    return list(pictures[:shown]), _fitting(fitting_lines[shown:], left)


def _shown(pictures: Sequence[str], lines: Sequence[str], room: int) -> int:
    """Return how many pictures to show, given what fits if all are pictures, and if all are lines.

    Show as many as leave a line for every other image. If that costs too many pictures, they keep two thirds
    of the room, and the oldest images get no line.
    """
    spare = room - sum(map(_size, lines))
    costs = (_size(picture) - _size(line) for picture, line in zip(pictures, lines, strict=False))
    beside_all_lines = bisect_right(list(accumulate(costs)), spare)
    return max(beside_all_lines, len(_fitting(pictures, room * 2 // 3)))


def _fitting(texts: Iterable[str], room: int) -> list[str]:
    """Return the first texts, as many as fit into the room together."""
    taken = []
    for text in texts:
        room -= _size(text)
        if room < 0:
            break
        taken.append(text)
    return taken


def _size(text: str) -> int:
    return len(text.encode())


def _picture(entry: Entry, style: _Style) -> str:
    return f"\n{_caption(entry)}{style.before_picture}{image_markdown(entry.name, entry.url)}\n"


def _line(entry: Entry) -> str:
    return f"- {_caption(entry)}\n"


def _folded(count: int, lines: str, style: _Style) -> str:
    summary = f"{count} older {_screenshots(count)}, without pictures"
    return style.folded.format(summary=summary, lines=lines)


def _left_out(count: int, dashboard_url: str) -> str:
    which = "The oldest screenshot is" if count == 1 else f"The oldest {count} screenshots are"
    where = f"only in the [dashboard]({dashboard_url})" if dashboard_url else "only in the dashboard"
    return f"\n{which} {where}.\n"


def _screenshots(count: int) -> str:
    return "screenshot" if count == 1 else "screenshots"


def _caption(entry: Entry) -> str:
    name = _visible(entry.name)
    # Without the mark, a browser draws the viewport's digits into the name.
    mark = _LEFT_TO_RIGHT_MARK if _RIGHT_TO_LEFT.search(name) else ""
    return f"{_code(name)}{mark} · {entry.viewport} · `{entry.commit_sha[:7]}`"


def _visible(name: str) -> str:
    """Return the name without characters that would reorder the text after it."""
    return _BIDI_CONTROLS.sub("", _one_line(name)) or " "


def _one_line(name: str) -> str:
    return name if name.isprintable() else _BREAKS_AND_CONTROLS.sub(" ", name)


def _code(text: str) -> str:
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


def _alternative_text(name: str) -> str:
    """Escape only what would not render as written."""
    name = _one_line(name)
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
