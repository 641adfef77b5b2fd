"""The markdown of one image, and of the comment on a pull request.

A name is data. Whatever it contains, an image's alternative text renders as that name. Elsewhere in the
comment the name is code, where no forge looks for links, mentions, emoji or HTML.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from prshots.contract.comments import MAX_COMMENT_BYTES, Marker
from prshots.contract.limits import Policy
from prshots.contract.replies import SizedComment
from prshots.server.domain.comment_markup import (
    STYLES,
    Style,
    alternative_text,
    name_as_code,
    screenshots,
    size,
)
from prshots.server.domain.models import Project

DEFAULT_LIMIT = MAX_COMMENT_BYTES - 1

# No comment lists more images than this: the shortest possible lines would fill all of it.
MAX_LISTED = MAX_COMMENT_BYTES // len("- `n` · 1x1 · `0123456`\n".encode())


@dataclass(frozen=True, slots=True)
class Entry:
    """What the comment says about one image."""

    name: str
    viewport: str
    commit_sha: str
    url: str


def image_markdown(name: str, url: str) -> str:
    return f"![{alternative_text(name)}]({url})"


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
    style = STYLES[marker]
    heading = f"### {total} {screenshots(total)}"
    head = f"{marker.line(pr_number)}{style.after_marker}{heading}\n"
    if len(dashboard_url) > limit // 2:  # without the link, the rest always fits
        dashboard_url = ""
    newest_first = newest[::-1]
    pictures = _fitting((_picture(entry, style) for entry in newest_first), limit - size(head))
    lines: list[str] = []
    if len(pictures) < total:
        frame = head + _folded(total, "", style) + _left_out(total, dashboard_url)
        pictures, lines = _divided(pictures, map(_line, newest_first), limit - size(frame))
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
    text = f"{marker.line(pr_number)}{STYLES[marker].after_marker}{heading}\n\n{_why_deleted(project)}\n"
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
    left = room - sum(map(size, pictures[:shown]))
    return list(pictures[:shown]), _fitting(fitting_lines[shown:], left)


def _shown(pictures: Sequence[str], lines: Sequence[str], room: int) -> int:
    """Return how many pictures to show, given what fits if all are pictures, and if all are lines.

    Show as many as leave a line for every other image. If that costs too many pictures, they keep two thirds
    of the room, and the oldest images get no line.
    """
    spare = room - sum(map(size, lines))
    costs = (size(picture) - size(line) for picture, line in zip(pictures, lines, strict=False))
    beside_all_lines = bisect_right(list(accumulate(costs)), spare)
    return max(beside_all_lines, len(_fitting(pictures, room * 2 // 3)))


def _fitting(texts: Iterable[str], room: int) -> list[str]:
    """Return the first texts, as many as fit into the room together."""
    taken = []
    for text in texts:
        room -= size(text)
        if room < 0:
            break
        taken.append(text)
    return taken


def _picture(entry: Entry, style: Style) -> str:
    return f"\n{_caption(entry)}{style.before_picture}{image_markdown(entry.name, entry.url)}\n"


def _line(entry: Entry) -> str:
    return f"- {_caption(entry)}\n"


def _folded(count: int, lines: str, style: Style) -> str:
    summary = f"{count} older {screenshots(count)}, without pictures"
    return style.folded.format(summary=summary, lines=lines)


def _left_out(count: int, dashboard_url: str) -> str:
    which = "The oldest screenshot is" if count == 1 else f"The oldest {count} screenshots are"
    where = f"only in the [dashboard]({dashboard_url})" if dashboard_url else "only in the dashboard"
    return f"\n{which} {where}.\n"


def _caption(entry: Entry) -> str:
    return f"{name_as_code(entry.name)} · {entry.viewport} · `{entry.commit_sha[:7]}`"
