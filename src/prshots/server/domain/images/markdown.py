"""The markdown of one image. The alternative text renders as the name, regardless of its characters."""

import re
import unicodedata
from functools import lru_cache

REMEMBERED_NAMES = 1024
"""A pull request repeats the same few names with every commit."""

# Most names match this. The check is five times as fast as applying the rules below.
_PLAIN_IN_IMAGE = re.compile(r"[A-Za-z0-9 !\"#%'()+,./:;=?@{}-]*")
_BREAKS_AND_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MARKUP = re.compile(r"[\\\[\]`*~|<]|&(?=#?[0-9A-Za-z]+;)")
_UNDERSCORES = re.compile("_+")
_UNDERSCORE_AFTER_NO_LETTER = re.compile(r"_(?<!\w_)")


def one_line(name: str) -> str:
    return name if name.isprintable() else _BREAKS_AND_CONTROLS.sub(" ", name)


@lru_cache(REMEMBERED_NAMES)
def alternative_text(name: str) -> str:
    """Return the name as alternative text. Escapes only characters that wouldn't render as written."""
    if _PLAIN_IN_IMAGE.fullmatch(name):
        return name
    name = one_line(name)
    text = _MARKUP.sub(lambda match: f"\\{match[0]}", name)
    if _makes_emphasis(name):
        text = text.replace("_", r"\_")
    if text.startswith("^"):  # a footnote on GitHub and GitLab
        text = f"\\{text}"
    # Some forges render $…$ as math, and a backslash doesn't reliably prevent that.
    return text.replace("$", "&#36;")


def _makes_emphasis(name: str) -> bool:
    """Return whether one run of underscores can open emphasis and a later one can close it.

    This follows CommonMark's flanking rule for underscores. A run opens emphasis unless a letter precedes it
    or a space follows it. A run closes emphasis unless a letter follows it or a space precedes it.
    """
    if not _UNDERSCORE_AFTER_NO_LETTER.search(name):
        return False  # fast path for most names
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


def image_markdown(name: str, url: str) -> str:
    return f"![{alternative_text(name)}]({url})"
