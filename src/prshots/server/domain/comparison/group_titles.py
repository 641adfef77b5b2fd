"""Say in one line what a group of shots shows, and where."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from prshots.contract.limits import VIEWPORT
from prshots.contract.replies import GroupKind, Region
from prshots.server.domain.comparison.causes import find_pushed, is_sliver
from prshots.server.domain.comparison.models import Piece, PlannedShot, Shape

Member = tuple[PlannedShot, Sequence[int]]
"""A shot, and the numbers of its pieces that belong to the group."""

_SAMPLE = 100
"""How many shots to look at. The words describe most of them."""
_LISTED = 3
"""How many names or colors a title lists."""

_ICON = 12, 40
"""The sides of an icon."""
_ICON_ASPECT = 1.4
_BUTTON = 240, 56
"""The most columns and rows of a button."""
_FRAME_END, _FRAME_SHARE = 12, 0.75
"""The most columns of a button's rounded end, and the least share of its rows."""
_LINE = 32
"""The most rows of a line of text."""
_WIDE = 0.8
"""The least share of the width that a banner takes."""
_ACROSS = 0.3
"""The least share of the width that a row of the content takes."""
_TOP = 0.25
"""The share of the page that is its top, and the share that is its bottom."""
_USUAL = 1280, 800

_ROW, _COLUMN = 120, 3
"""The most rows of a row of a list, and how many times taller than wide a column is."""
_PICTURE, _PICTURE_SHARE = 48, 0.6
"""The least side of a picture, and the least share of its box."""
_SPREAD = 8
"""How many pixels the distances of moved content differ at most, if they are worth a number."""

NEARLY_ALL = 0.9
"""The share of pieces that came in, or went. Others are what browsers round."""

_VERBS = {
    "changed": "changed",
    "came": "was added",
    "gone": "was removed",
    "recolored": "has another color",
}


class _What(NamedTuple):
    noun: str
    verb: str
    where: str


def write_title(kind: GroupKind, members: Sequence[Member], colors: Sequence[str] = ()) -> str:
    shots = [shot for shot, _ in members]
    names = list(dict.fromkeys(shot.shot.name for shot in shots))
    screenshots = count([len(shots)], "screenshot")
    match kind:
        case GroupKind.REMOVED:
            return f"{_list(names)}: {screenshots} removed"
        case GroupKind.NEW:
            return f"{_list(names)}: {count([len(shots)], 'new screenshot')}"
        case GroupKind.RECOLORED:
            themes = {shot.shot.theme for shot in shots}
            noun = f"{themes.pop() if len(themes) == 1 else ''} screenshot".lstrip()
            return f"{count([len(shots)], noun)} recolored: {_list(colors)}"
        case GroupKind.REDRAWN:
            return _describe_redrawn(shots, screenshots)
        case GroupKind.MOVED:
            return f"content {_describe_offset(shots) or 'moved'} in {screenshots}"
    subject = f"{_list(names)}: " if len(names) <= _LISTED else ""
    scope = f"{screenshots}{_most_at(shots)}"
    return f"{subject}{_describe_change(kind, members)} in {scope}"


def _describe_redrawn(shots: Sequence[PlannedShot], screenshots: str) -> str:
    if any(shot.result.is_redrawn for shot in shots):
        return f"nearly all text drawn differently in {screenshots}: another font, size or language"
    return f"text wraps at other places in {screenshots}"


def _describe_change(kind: GroupKind, members: Sequence[Member]) -> str:
    with_pieces = [(shot, find_main_pieces(shot, numbers)) for shot, numbers in members[:_SAMPLE] if numbers]
    if not with_pieces:
        return "changed"
    pushed = [
        (shot.result.shift, pieces)
        for shot, pieces in with_pieces
        if shot.result.shift and any(_is_across(shot, piece) for piece in pieces)
    ]
    if 2 * len(pushed) > len(with_pieces):
        kinds = Counter(piece.kind for _, pieces in pushed for piece in pieces)
        rows = [abs(shift) for shift, _ in pushed]
        nearly_all = NEARLY_ALL * kinds.total()
        if kinds["came"] >= nearly_all and min(shift for shift, _ in pushed) > 0:
            return f"{_range(rows)} px came in {_describe_height(with_pieces)}"
        if kinds["gone"] >= nearly_all and max(shift for shift, _ in pushed) < 0:
            return f"{_range(rows)} px went {_describe_height(with_pieces)}"
    described = Counter(_describe(shot, pieces) for shot, pieces in with_pieces)
    what = described.most_common(1)[0][0]
    article = "the same" if kind is not GroupKind.SINGLE else "an" if what.noun[0] in "aeiou" else "a"
    return f"{article} {what.noun} {what.verb} {what.where}".rstrip()


def find_main_pieces(shot: PlannedShot, numbers: Collection[int]) -> list[Piece]:
    """Return the pieces without what they pushed out or revealed, and without slivers, if any are left."""
    pushed = {effect for cause, effect in find_pushed(shot) if {cause, effect} <= {*numbers}}
    pieces = {number: shot.result.pieces[number] for number in numbers}
    main = [piece for number, piece in pieces.items() if number not in pushed and not is_sliver(piece)]
    return main or [*pieces.values()]


def _is_across(shot: PlannedShot, piece: Piece) -> bool:
    """Return whether a piece is a row of the content, and not a button or an item of the navigation."""
    return piece.box[2] >= _ACROSS * size_of(shot)[0]


def _describe(shot: PlannedShot, pieces: Sequence[Piece]) -> _What:
    kinds = {piece.kind for piece in pieces}
    verb = _VERBS[next(iter(kinds))] if len(kinds) == 1 else _VERBS["changed"]
    largest = max(pieces, key=lambda piece: piece.box[2] * piece.box[3])
    return _What(_name(shot, largest), verb, _describe_place(shot, largest))


def _name(shot: PlannedShot, piece: Piece) -> str:
    _, _, width, height = piece.box
    least, most = _ICON
    sides = sorted((width, height))
    if least <= sides[0] and sides[1] <= most and sides[1] <= _ICON_ASPECT * sides[0]:
        return "icon"
    if piece.shapes and (noun := _name_by_shapes(piece)):
        return noun
    if width >= _WIDE * size_of(shot)[0]:
        return "row across the page" if height <= _ROW else "section"
    return "part"


def _name_by_shapes(piece: Piece) -> str:
    _, _, width, height = piece.box
    if height <= _LINE:
        return "word" if len(piece.shapes) == 1 else "line of text"
    if width <= _BUTTON[0] and height <= _BUTTON[1] and any(_is_frame(one, height) for one in piece.shapes):
        return "button"
    if any(_is_picture(shape, piece.box) for shape in piece.shapes):
        return "picture"
    if len(piece.shapes) > 1 and all(shape.height <= _LINE for shape in piece.shapes):
        return "column of text" if height >= _COLUMN * width else "block of text"
    return ""


def _is_frame(shape: Shape, height: int) -> bool:
    """Return whether a shape is the left or right end of a frame."""
    return shape.width <= _FRAME_END and shape.height >= _FRAME_SHARE * height


def _is_picture(shape: Shape, box: Region) -> bool:
    _, _, width, height = box
    is_large = min(shape.width, shape.height) >= _PICTURE
    return is_large and shape.width * shape.height >= _PICTURE_SHARE * width * height


def _describe_place(shot: PlannedShot, piece: Piece) -> str:
    x, y, wide, high = piece.box
    width, height = size_of(shot)
    rows = "at the top" if y + high <= height * _TOP else ""
    if not rows and y >= height * (1 - _TOP):
        rows = "at the bottom" if y < height else f"{y:,} px down"
    side = "left" if x + wide <= width / 3 else "right" if x >= width * 2 / 3 else ""
    if rows and side:
        return f"{rows} {side}" if rows.startswith("at") else f"{rows} on the {side}"
    return rows or (f"on the {side}" if side else "in the middle" if wide < width / 2 else "")


def _describe_height(members: Iterable[tuple[PlannedShot, Sequence[Piece]]]) -> str:
    """Say whether something came in or went above or inside the content."""
    is_above = Counter(
        min(piece.box[1] for piece in pieces) <= size_of(shot)[1] * _TOP for shot, pieces in members
    )
    return "above the content" if is_above[True] >= is_above[False] else "inside the content"


def size_of(shot: PlannedShot) -> tuple[int, int]:
    if not VIEWPORT.fullmatch(shot.shot.viewport):
        return _USUAL
    width, _, height = shot.shot.viewport.partition("x")
    return int(width), int(height)


def _most_at(shots: Sequence[PlannedShot]) -> str:
    """Name the viewport that most of the shots have, if there are several."""
    widths = Counter(shot.shot.viewport.partition("x")[0] for shot in shots)
    width, most = widths.most_common(1)[0]
    if len(widths) == 1 or 2 * most <= len(shots) or not width.isdigit():
        return ""
    return f"; {most} of them at {width} px"


def _describe_offset(shots: Sequence[PlannedShot]) -> str:
    aside = [shot.result.moves[0][4] for shot in shots if shot.result.moves[0][4]]
    down = [shot.result.moves[0][5] for shot in shots if shot.result.moves[0][5]]
    words = [_describe_distance(aside, "right", "left"), _describe_distance(down, "down", "up")]
    return " and ".join(filter(None, words))


def _describe_distance(offsets: Sequence[int], positive: str, negative: str) -> str:
    if not offsets or max(offsets) - min(offsets) > _SPREAD:
        return ""
    directions = [positive] if max(offsets) > 0 else []
    directions += [negative] if min(offsets) < 0 else []
    return f"{_range([abs(offset) for offset in offsets])} px {' or '.join(directions)}"


def _list(items: Sequence[str]) -> str:
    if len(items) <= _LISTED:
        return ", ".join(items)
    return f"{', '.join(items[: _LISTED - 1])} and {len(items) - _LISTED + 1} more"


def _range(numbers: Collection[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def count(numbers: Collection[int], noun: str) -> str:
    return f"{_range(numbers)} {noun}{'' if max(numbers) == 1 else 's'}"
