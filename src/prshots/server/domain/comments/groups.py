"""The compared shots, and the same change once: a line for each group of shots, a picture of its first.

An approved group has a line, but no picture: what is open comes first.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from prshots.contract.limits import VIEWPORT
from prshots.contract.natural_order import shot_key
from prshots.contract.replies import (
    CloseUp,
    ComparedShot,
    Comparison,
    GroupKind,
    Region,
    ReviewState,
    ShotGroup,
    ShotPart,
    Verdict,
)
from prshots.contract.sizes import pluralize
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.layout import Column, close_up_height, picture_width
from prshots.server.domain.comments.markup import code, link, name_as_code, size, visible
from prshots.server.domain.comments.tables import FOLDED_ABOVE, TABLES, CommentImage, CommentShot, Tables
from prshots.server.domain.comparison.models import CLOSEUP_HALF, CLOSEUP_ROWS_AROUND
from prshots.server.domain.images.markdown import alternative_text

MAX_PICTURES = 12
"""Groups after these get only lines. More pictures would take too long to scroll past."""

_LIST_SHARE = 3
"""The list of groups takes at most this part of the room below the heading, even in the shortest comment."""

_OUTLINED = 12
"""How many columns of each half of a close-up are for the outline and the line in the middle."""
_TALLEST_SHAPE = 2
"""The most rows of a picture for each of its columns."""

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
    """Return the decided groups. One rejected part rejects its group, and one open part leaves it open."""
    parts: dict[str, list[ShotPart]] = {}
    for shot in comparison.shots:
        for part in shot.parts:
            if part.review in _DECISIVE:
                parts.setdefault(part.group, []).append(part)
    found = {}
    for group, members in parts.items():
        states = {part.review for part in members}
        state = next(state for state in _DECISIVE if state in states)
        if state is not ReviewState.OPEN:
            decided = [part for part in members if part.review is state]
            people = dict.fromkeys(person for part in decided for person in part.by)
            share = f"{len(decided)} of {len(members)} " if len(decided) < len(members) else ""
            found[group] = state, f"{share}{state} by {', '.join(map(name_as_code, people))}"
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
    """Return the shots in order of importance: those with a picture of their group, then the others.

    A shot is in the list of each of its groups, and counts once. Approved groups have no pictures. Their
    shots come before the unchanged ones.
    """
    recolored = {group.id for group in comparison.groups if group.kind is GroupKind.RECOLORED}
    tables = TABLES[frame.marker]
    members: dict[str, list[ComparedShot]] = {}
    others = []
    for compared in sort_by_importance(comparison.shots):
        left = [group for group in compared.groups if not _is_approved(group, decided)]
        if compared.groups and not left:
            settled = show_compared(compared, tables)
            others.append(replace(settled, images=(), settled=ReviewState.APPROVED))
        elif not left or compared.verdict not in WITH_IMAGES:
            others.append(replace(show_compared(compared, tables), images=()))
        else:
            for group in left:
                members.setdefault(group, []).append(compared)
    # Stable: the service's order, with new shots last.
    order = [group.id for group in comparison.groups if group.id in members]
    order.sort(key=lambda group: members[group][0].verdict is Verdict.NEW)
    changes, seen = list[list[CommentShot]](), set[_Place]()
    for group in order:
        lead = choose_lead(members[group], group)
        first = _show_lead(lead, group, tables, is_recolored=group in recolored)
        rest = [show_compared(shot, tables) for shot in members[group] if shot is not lead]
        changes.append([replace(shot, repeats=_place(shot) in seen) for shot in (first, *rest)])
        seen.update(map(_place, changes[-1]))
    changes += [list(shots) for _, shots in groupby(without_base, attrgetter("name"))]
    firsts, rest = [], []
    for number, (first, *more) in enumerate(changes):
        firsts.append(replace(first, images=first.images if number < MAX_PICTURES else (), group=number))
        rest += [replace(shot, images=(), group=number) for shot in more]
    return firsts + rest + sorted(others, key=_settled_last)


_Place = tuple[str, Column]


def _place(shot: CommentShot) -> _Place:
    return shot.name, shot.column


def choose_lead(shots: Sequence[ComparedShot], group: str) -> ComparedShot:
    """Return the shot whose close-up shows a group best."""
    return min(shots, key=lambda shot: _rank_lead(shot, group))


def _rank_lead(shot: ComparedShot, group: str) -> tuple[object, ...]:
    """Light before dark, then the widest viewport at which the part has its full size and isn't too tall."""
    closeup = closeup_of(shot, group)
    region = closeup.region if closeup else (0, 0, 0, 0)
    is_scaled = region[2] > CLOSEUP_HALF - _OUTLINED
    width = int(shot.viewport.partition("x")[0] or 0) if VIEWPORT.fullmatch(shot.viewport) else 0
    others = len(_regions_inside(shot, region)) - len(_regions_shown(shot, group, region))
    return closeup is None, shot.theme == "dark", is_scaled, _is_tall(region), others, -width


def _is_tall(region: Region) -> bool:
    _, _, width, height = region
    return height + 2 * CLOSEUP_ROWS_AROUND > _TALLEST_SHAPE * 2 * min(
        width + 2 * CLOSEUP_ROWS_AROUND, CLOSEUP_HALF
    )


def part_of(shot: ComparedShot, group: str) -> ShotPart | None:
    return next((part for part in shot.parts if part.group == group), None)


def closeup_of(shot: ComparedShot, group: str) -> CloseUp | None:
    """Return the close-up that shows a group's part of a shot, if there is one."""
    part = part_of(shot, group)
    return shot.closeups[part.closeup] if part and part.closeup is not None else None


def _regions_inside(shot: ComparedShot, shown: Region) -> list[Region]:
    return [region for region in shot.regions if _is_inside(region, shown)]


def _regions_shown(shot: ComparedShot, group: str, shown: Region) -> list[Region]:
    part = part_of(shot, group)
    regions = [shot.regions[number] for number in part.regions] if part else []
    return [region for region in regions if _is_inside(region, shown)]


def _show_lead(lead: ComparedShot, group: str, tables: Tables, *, is_recolored: bool) -> CommentShot:
    shot = show_compared(lead, tables)
    images = [image for image in shot.images if image]
    caption = _write_caption(images, lead, group, is_recolored=is_recolored)
    return replace(shot, images=_choose_pictures(images, lead, group), caption=caption)


def _settled_last(shot: CommentShot) -> tuple[bool, bool]:
    return shot.verdict is Verdict.UNCHANGED, shot.settled is not None


def _write_caption(
    images: Sequence[CommentImage], shot: ComparedShot, group: str, *, is_recolored: bool
) -> str:
    # Nearly every pixel of a recolored shot differs, so their number says nothing.
    details = ["recolored"] if is_recolored else [image.details for image in images if image.details]
    closeup, part = closeup_of(shot, group), part_of(shot, group)
    if closeup and part and not is_recolored:
        shown = len(_regions_shown(shot, group, closeup.region))
        if shown < len(part.regions):
            details.append(f"{shown} of {len(part.regions)} shown")
    return " · ".join([" and ".join(image.words for image in images), *details])


def _is_inside(region: Region, shown: Region) -> bool:
    (x, y, w, h), (left, top, width, height) = region, shown
    return left <= x and top <= y and x + w <= left + width and y + h <= top + height


def _choose_pictures(pair: Sequence[CommentImage], shot: ComparedShot, group: str) -> list[CommentImage]:
    """Return the close-up of a shot's part or, if it has none, its pair."""
    if close_up := closeup_of(shot, group):
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
