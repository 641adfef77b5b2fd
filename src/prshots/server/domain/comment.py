"""The markdown we hand out: one image, and the comment that gathers all images of a pull request.

A name is data. Whatever it holds, an image's alternative text renders as that name, and in the comment
it is otherwise seen only as code, where no forge looks for links, mentions, emoji or HTML.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

# GitHub takes no longer comment. Counted in UTF-8 bytes, so that it holds in whichever unit a forge counts.
MAX_CHARACTERS = 65_536

# No comment lists more images than this: so many of the shortest possible lines would fill all of it.
MAX_LISTED = MAX_CHARACTERS // len("- `n` · 1x1 · `0123456`\n".encode())

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
    """What the comment says of one image."""

    name: str
    viewport: str
    commit_sha: str
    url: str


def image_markdown(name: str, url: str) -> str:
    return f"![{_alternative_text(name)}]({url})"


def comment(pr_number: int, total: int, newest: Sequence[Entry], dashboard_url: str) -> str:
    """Build the comment for a pull request with `total` images.

    `newest` are the newest `min(total, MAX_LISTED)` of them, in upload order. All are shown while there is
    room; after that the oldest are listed without their image, and what is older still is only counted.
    """
    head = f"<!-- svc:pr-{pr_number} -->\n### {total} {_screenshots(total)}\n"
    newest_first = newest[::-1]
    pictures = _fitting(map(_picture, newest_first), MAX_CHARACTERS - 1 - _size(head))
    if len(pictures) == total:
        return head + "".join(reversed(pictures))

    frame = head + _folded(total, "") + _left_out(total, dashboard_url)
    room = MAX_CHARACTERS - 1 - _size(frame)
    lines = _fitting(map(_line, newest_first), room)
    shown = _shown(pictures, lines, room)
    pictures = pictures[:shown]
    lines = _fitting(lines[shown:], room - sum(map(_size, pictures)))

    text = head
    if lines:
        text += _folded(len(lines), "".join(reversed(lines)))
    text += "".join(reversed(pictures))
    if left_out := total - len(pictures) - len(lines):
        text += _left_out(left_out, dashboard_url)
    return text


def _shown(pictures: Sequence[str], lines: Sequence[str], room: int) -> int:
    """How many pictures to show, given the newest that fit if all are pictures, or all are lines.

    As many as leave a line for each of the others. Where that would cost too many pictures, they keep two
    thirds of the room, and the oldest images go without a line.
    """
    spare = room - sum(map(_size, lines))
    costs = (_size(picture) - _size(line) for picture, line in zip(pictures, lines, strict=False))
    beside_all_lines = bisect_right(list(accumulate(costs)), spare)
    return max(beside_all_lines, len(_fitting(pictures, room * 2 // 3)))


def _fitting(texts: Iterable[str], room: int) -> list[str]:
    """Take texts, from the first on, while they fit into the room together."""
    taken = []
    for text in texts:
        room -= _size(text)
        if room < 0:
            break
        taken.append(text)
    return taken


def _size(text: str) -> int:
    return len(text.encode())


def _picture(entry: Entry) -> str:
    # The backslash breaks the line on every forge. A newline alone does so only on some.
    return f"\n{_caption(entry)}\\\n{image_markdown(entry.name, entry.url)}\n"


def _line(entry: Entry) -> str:
    return f"- {_caption(entry)}\n"


def _folded(count: int, lines: str) -> str:
    summary = f"{count} older {_screenshots(count)}, without pictures"
    return f"\n<details><summary>{summary}</summary>\n\n{lines}\n</details>\n"


def _left_out(count: int, dashboard_url: str) -> str:
    which = "The oldest screenshot is" if count == 1 else f"The oldest {count} screenshots are"
    return f"\n{which} only in the [dashboard]({dashboard_url}).\n"


def _screenshots(count: int) -> str:
    return "screenshot" if count == 1 else "screenshots"


def _caption(entry: Entry) -> str:
    name = _visible(entry.name)
    # Without the mark, the digits of the viewport would be drawn into the name.
    mark = _LEFT_TO_RIGHT_MARK if _RIGHT_TO_LEFT.search(name) else ""
    return f"{_code(name)}{mark} · {entry.viewport} · `{entry.commit_sha[:7]}`"


def _visible(name: str) -> str:
    """Return the name for the reader's eye: without what would reorder the text after it."""
    return _BIDI_CONTROLS.sub("", _one_line(name)) or " "


def _one_line(name: str) -> str:
    return name if name.isprintable() else _BREAKS_AND_CONTROLS.sub(" ", name)


def _code(text: str) -> str:
    """Write a code span that renders as exactly this text, which is not empty."""
    longest_run = max(map(len, _BACKTICKS.findall(text))) if "`" in text else 0
    fence = "`" * (longest_run + 1)
    # Where both ends are spaces a renderer takes one off each, unless there is nothing but spaces.
    loses_spaces = text[0] == text[-1] == " " and text.strip(" ") != ""
    pad = " " if loses_spaces or text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _alternative_text(name: str) -> str:
    """Escape what would not render as it is written, and nothing else."""
    name = _one_line(name)
    text = _MARKUP.sub(lambda match: f"\\{match[0]}", name)
    if _makes_emphasis(name):
        text = text.replace("_", r"\_")
    # Where dollars enclose math, a backslash does not reliably stop them.
    return text.replace("$", "&#36;")


def _makes_emphasis(name: str) -> bool:
    """Whether a run of underscores can open emphasis and a later one can close it.

    CommonMark's flanking rules come down to this for underscores: a run opens unless a letter stands before
    it or a space after it, and closes unless a letter stands after it or a space before it.
    """
    if not _UNDERSCORE_AFTER_NO_LETTER.search(name):
        return False  # the common case, quickly
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
