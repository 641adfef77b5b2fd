"""The compared shots, and the same change once: a line for each group of shots, a picture of its first.

An approved group has a line, but no picture: what is open comes first.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import (
    ComparedShot,
    Comparison,
    GroupKind,
    Region,
    Review,
    ReviewState,
    ShotGroup,
    Verdict,
)
from prshots.contract.sizes import pluralize
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.layout import close_up_height, picture_width
from prshots.server.domain.comments.markup import code, link, name_as_code, size, visible
from prshots.server.domain.comments.tables import FOLDED_ABOVE, TABLES, CommentImage, CommentShot, Tables
from prshots.server.domain.images.markdown import alternative_text

MAX_PICTURES = 12
"""Groups after these get only lines. More pictures would take too long to scroll past."""

_LIST_SHARE = 3
"""The list of groups takes at most this part of the room below the heading, even in the shortest comment."""

_LONGEST_REASON = 200
_SHORT_SHA = 7

WITH_IMAGES = (Verdict.CHANGED, Verdict.MOVED, Verdict.NEW)
"""The verdicts whose shots have images in the view of changes."""

_BY_IMPORTANCE = (Verdict.FAILED, *WITH_IMAGES, Verdict.REMOVED, Verdict.UNCHANGED)
_RANKS = {verdict: rank for rank, verdict in enumerate(_BY_IMPORTANCE)}

_COLOR = re.compile("#[0-9a-f]{6}")

_DECISIVE = (ReviewState.REJECTED, ReviewState.OPEN, ReviewState.APPROVED)

Decided = Mapping[str, tuple[ReviewState, str]]
"""Rejected and approved groups, by id, each with words that name the people who decided, as markdown."""


def find_decided(comparison: Comparison) -> Decided:
    """Return the decided groups. One rejected shot rejects its group, and one open shot leaves it open."""
    reviews: dict[str, list[Review]] = {}
    for shot in comparison.shots:
        if shot.group and shot.review.state in _DECISIVE:
            reviews.setdefault(shot.group, []).append(shot.review)
    found = {}
    for group, members in reviews.items():
        states = {review.state for review in members}
        state = next(state for state in _DECISIVE if state in states)
        if state is not ReviewState.OPEN:
            people = [review.by for review in members if review.state is state]
            part = f"{len(people)} of {len(members)} " if len(people) < len(members) else ""
            found[group] = state, f"{part}{state} by {', '.join(map(name_as_code, dict.fromkeys(people)))}"
    return found


def list_groups(frame: Frame, groups: Sequence[ShotGroup], decided: Decided, room: int) -> str:
    """Return a list with a line for each group, as many as fit, and a count of the others."""
    text = ""
    for number, group in enumerate(sorted(groups, key=lambda group: _is_approved(group.id, decided))):
        line = f"\n- {_write_title(group, frame.href({'group': group.id}))}"
        if group.id in decided:
            line += f" · {decided[group.id][1]}"
        more = f"\n- {len(groups) - number} more in the {frame.dashboard}"
        if number == FOLDED_ABOVE or size(text + line + more) > room // _LIST_SHARE:
            return f"\n{text}{more}" if text else ""
        text += line
    return f"\n{text}"


def _is_approved(group: str, decided: Decided) -> bool:
    return group in decided and decided[group][0] is ReviewState.APPROVED


def _write_title(group: ShotGroup, href: str) -> str:
    """Return the title with a link. Names are code, and so are colors: forges show a sample beside them."""
    words, names = group.title, []
    for name in group.names:
        if not words.startswith(name):
            break
        names.append(name_as_code(name))
        words = words.removeprefix(name)
        if not words.startswith(", "):
            break
        words = words.removeprefix(", ")
    subject = ", ".join(names)
    if not names:
        subject, colon, words = words.partition(": ")
        subject, words = alternative_text(subject), colon + words
    return f"**{link(subject, href)}**" + _COLOR.sub(r"`\g<0>`", alternative_text(words))


def show_groups(
    frame: Frame, comparison: Comparison, decided: Decided, without_base: Sequence[CommentShot]
) -> list[CommentShot]:
    """Return the shots in order of importance, the first of each group with its pictures.

    Approved groups have no pictures. Their shots come before the unchanged ones.
    """
    places = {group.id: place for place, group in enumerate(comparison.groups)}
    recolored = {group.id for group in comparison.groups if group.kind is GroupKind.RECOLORED}
    changes: dict[str, list[CommentShot]] = {}
    others = []
    for compared in sort_by_importance(comparison.shots):
        shot = show_compared(compared, TABLES[frame.marker])
        if _is_approved(compared.group, decided):
            others.append(replace(shot, images=(), settled=ReviewState.APPROVED))
        elif compared.verdict not in WITH_IMAGES:
            others.append(shot)
        elif compared.group in changes:
            changes[compared.group].append(shot)
        else:
            images = [image for image in shot.images if image]
            caption = _write_caption(images, compared, is_recolored=compared.group in recolored)
            first = replace(shot, images=_choose_pictures(images, compared), caption=caption)
            changes[compared.group] = [first]
    order = sorted(changes, key=lambda group: (changes[group][0].verdict is Verdict.NEW, places[group]))
    groups = [changes[group] for group in order]
    groups += [list(shots) for _, shots in groupby(without_base, attrgetter("name"))]
    firsts, rest = [], []
    for number, (first, *more) in enumerate(groups):
        firsts.append(replace(first, images=first.images if number < MAX_PICTURES else (), group=number))
        rest += [replace(shot, images=(), group=number) for shot in more]
    return firsts + rest + sorted(others, key=_settled_last)


def _settled_last(shot: CommentShot) -> tuple[bool, bool]:
    return shot.verdict is Verdict.UNCHANGED, shot.settled is not None


def _write_caption(images: Sequence[CommentImage], shot: ComparedShot, *, is_recolored: bool) -> str:
    # Nearly every pixel of a recolored shot differs, so their number says nothing.
    details = ["recolored"] if is_recolored else [image.details for image in images if image.details]
    shown = sum(
        _is_inside(region, closeup.region) for closeup in shot.closeups[:1] for region in shot.regions
    )
    if shot.closeups and shown < len(shot.regions) and not is_recolored:
        details.append(f"{shown} shown")
    return " · ".join([" and ".join(image.words for image in images), *details])


def _is_inside(region: Region, shown: Region) -> bool:
    (x, y, w, h), (left, top, width, height) = region, shown
    return left <= x and top <= y and x + w <= left + width and y + h <= top + height


def _choose_pictures(pair: Sequence[CommentImage], shot: ComparedShot) -> list[CommentImage]:
    """Return the close-up of a shot or, if it has none, its pair."""
    if shot.closeups:
        close_up = shot.closeups[0]
        return [CommentImage(close_up.url, shot.name, height=close_up_height(close_up.region))]
    width = picture_width((shot.viewport, shot.theme), shot.regions)
    return [replace(image, width=width) for image in pair]


def sort_by_importance(shots: Iterable[ComparedShot]) -> list[ComparedShot]:
    return sorted(
        shots, key=lambda shot: (_RANKS[shot.verdict], shot_key(shot.name, shot.viewport, shot.theme))
    )


def show_compared(shot: ComparedShot, tables: Tables) -> CommentShot:
    column = shot.viewport, shot.theme
    notes = [shot.verdict.value] if shot.verdict in WITH_IMAGES else []
    if shot.reason:
        notes.append(code(visible(shot.reason[:_LONGEST_REASON])))
    if shot.pair:
        notes.append("before and after uploaded together")
    if not shot.ancestor:
        notes.append(_newest_base(commit_as_code(shot.base_commit)))
    images = _make_images(shot, tables) if shot.verdict in WITH_IMAGES else ()
    return CommentShot(shot.name, column, shot.verdict, ", ".join(notes), images)


def _make_images(shot: ComparedShot, tables: Tables) -> Sequence[CommentImage]:
    after_url = shot.view_url or ""
    if not shot.before_url:
        return [CommentImage(after_url, shot.name, "new")]
    if shot.pair:
        note = "uploaded together"
    else:
        note = "" if shot.ancestor else _newest_base(tables.code(short_sha(shot.base_commit)))
    return [
        CommentImage(shot.before_url, f"{shot.name} (before)", "before", note),
        CommentImage(after_url, shot.name, "after", _difference(shot, tables)),
    ]


def _difference(shot: ComparedShot, tables: Tables) -> str:
    words = []
    if shot.pixels:
        words.append(f"{shot.pixels:,} px in {pluralize(len(shot.regions), 'region')}")
    if shot.shift:
        words.append(f"moved {abs(shot.shift):,} px {'down' if shot.shift > 0 else 'up'}")
    if shot.commit_sha:
        words.append(f"at {tables.code(short_sha(shot.commit_sha))}")
    return ", ".join(words)


def _newest_base(commit: str) -> str:
    return f"base {commit} is the newest of its branch"


def commit_as_code(commit_sha: str | None) -> str:
    return code(visible(short_sha(commit_sha)))


def short_sha(commit_sha: str | None) -> str:
    return (commit_sha or "")[:_SHORT_SHA]
