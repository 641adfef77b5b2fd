"""Find pieces that another piece or a move of the same screenshot caused.

- Text wraps at other places, so words leave the end of one line and come in at the start of the next.
- A row that comes in pushes the last one out of view. A row that goes reveals another one.
- A frame that moved by a fraction of a pixel leaves slivers at its edges.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from prshots.contract.replies import Move, Region
from prshots.server.domain.comparison.models import Piece, PlannedShot

_LINE = 40
"""The most rows of a line of text, and the most between it and the next one."""
_LEAST_LINE, _LINE_HEIGHT = 8, 3
"""How far apart two lines of text are: at least in rows, and at most in heights of a word."""
_DISTANCES = 5
"""By how many distances words move aside if a page's text wraps. Beside a wider button, there are fewer."""
_WRAPPED_FAR = 100
"""How far a word goes aside at least, if it wraps at another place."""
_PLACES_APART = 100
"""The least distance between the first and last changes if text wraps on a page, not in one paragraph."""
_OTHER_DISTANCE = 4
"""How many columns differ between two distances."""

_SLIVER = 4
"""The most rows or columns of a sliver."""
_BLANK = 400
"""The most pixels of a piece without shapes that says nothing: the rounded corner of a frame."""

_EDGE = 8
"""How far a piece can reach over the edge of what moved."""
_LEAST_PUSH = 4


def is_sliver(piece: Piece) -> bool:
    _, _, width, height = piece.box
    return min(width, height) <= _SLIVER or (not piece.shapes and width * height <= _BLANK)


# Text that wraps at other places


def _is_next_line(dx: int, dy: int, height: int) -> bool:
    """Return whether a word went from the end of a line to the start of the next one, or back."""
    is_near = _LEAST_LINE <= abs(dy) <= _LINE_HEIGHT * height
    return is_near and abs(dx) >= _WRAPPED_FAR and (dx < 0) == (dy > 0)


def has_wrapped_lines(shot: PlannedShot) -> bool:
    """Return whether words of the same text are on another line, or many moved by different distances."""
    lines = _find_lines_aside(shot)
    distances = sorted(move[4] for move in lines)
    different = sum(other - one > _OTHER_DISTANCE for one, other in pairwise(distances))
    is_far = bool(lines) and distances[-1] - distances[0] >= _WRAPPED_FAR
    return (is_far and different >= _DISTANCES) or any(
        _is_next_line(dx, dy, high) for *_, high, dx, dy in lines
    )


def _find_lines_aside(shot: PlannedShot) -> list[Move]:
    """Return the moves of words to another place of their line, or to another line."""
    main = next((move[4] for move in shot.result.moves if move[3] > _LINE), 0)
    return [move for move in shot.result.moves if move[3] <= _LINE and abs(move[4] - main) > _OTHER_DISTANCE]


def find_wrapped(shot: PlannedShot) -> list[int]:
    """Return the numbers of the pieces where the text of a page wraps at other places.

    They are in the columns of the lines that moved aside.
    """
    if not has_wrapped_lines(shot):
        return []
    lines = _find_lines_aside(shot)
    sides = [x for left, _, wide, _, dx, _ in lines for x in (left, left + wide, left - dx, left - dx + wide)]
    column, rows = (min(sides), max(sides)), [(top, top + high) for _, top, _, high, _, _ in lines]
    boxes = {number: place_of(shot, piece) for number, piece in enumerate(shot.result.pieces)}
    words = {number: box for number, box in boxes.items() if _is_in_column(box, column)}
    kinds = {number: shot.result.pieces[number].kind for number in words}
    found = {number for number in words if kinds[number] in {"came", "gone"}}
    rows += [(words[number][1], words[number][1] + words[number][3]) for number in found]
    found |= {
        number for number, box in words.items() if kinds[number] == "changed" and _is_at_rows(box, rows)
    }
    tops = [words[number][1] for number in found]
    return sorted(found) if found and max(tops) - min(tops) >= _PLACES_APART else []


def _is_in_column(box: Region, column: tuple[int, int]) -> bool:
    """Return whether a box can be words of a column. A row of a table takes more of it."""
    x, _, width, height = box
    left, right = column
    is_inside = x + width >= left - _LINE and x <= right + _LINE
    return is_inside and height <= _LINE and width <= (right - left) / 2


def _is_at_rows(box: Region, rows: Iterable[tuple[int, int]]) -> bool:
    return any(box[1] <= bottom + _LINE and box[1] + box[3] >= top - _LINE for top, bottom in rows)


def is_beside_moved_words(shot: PlannedShot, piece: Piece) -> bool:
    """Return whether a word came in or went on a line whose other words moved aside."""
    _, y, _, height = place_of(shot, piece)
    if piece.kind not in {"came", "gone"} or height > _LINE:
        return False
    return any(
        high <= _LINE and abs(dx) > _OTHER_DISTANCE and min(y + height, top + high) - max(y, top) > height / 2
        for _, top, _, high, dx, _ in shot.result.moves
    )


# Rows pushed out of view, or revealed


def find_pushed(shot: PlannedShot) -> Iterator[tuple[int, int]]:
    """Yield what came in or went above moved content, with what it pushed out or revealed below.

    And with what else is in the rows that the content made room for.
    """
    pieces = [*enumerate(shot.result.pieces)]
    for x, top, right, bottom, dy in _join_moves(shot.result.moves):
        beside = [
            (number, piece)
            for number, piece in pieces
            if piece.kind != "recolored" and piece.box[0] < right and piece.box[0] + piece.box[2] > x
        ]
        start, end, start_kinds, end_kinds = (
            (top, bottom, {"came"}, {"gone", "changed"})
            if dy > 0
            else (top - dy, bottom, {"gone"}, {"came", "changed"})
        )
        causes = [
            number
            for number, piece in beside
            if piece.kind in start_kinds and _is_within(piece, start - abs(dy), start)
        ]
        for number, piece in beside:
            if piece.kind == "changed" and dy > 0 and _is_within(piece, start - dy, start):
                for cause in causes:
                    yield cause, number
            edge = end - dy if piece.kind == "gone" else end
            if piece.kind in end_kinds and edge - _EDGE <= piece.box[1] <= edge + abs(dy):
                for cause in causes:
                    yield cause, number


def _is_within(piece: Piece, top: int, bottom: int) -> bool:
    _, y, _, height = piece.box
    return top - _EDGE <= y and y + height <= bottom + _EDGE


def _join_moves(moves: Sequence[Move]) -> list[tuple[int, int, int, int, int]]:
    """Return left, top, right and bottom of what moved as far down, for each column of it."""
    joined: list[tuple[int, int, int, int, int]] = []
    for x, y, width, height, dx, dy in moves:
        if abs(dy) < _LEAST_PUSH or abs(dx) > 1:
            continue
        for index, (left, top, right, bottom, other) in enumerate(joined):
            if abs(dy - other) <= 1 and x < right and x + width > left:
                both = min(x, left), min(y, top), max(x + width, right), max(y + height, bottom), other
                joined[index] = both
                break
        else:
            joined.append((x, y, x + width, y + height, dy))
    return joined


_NEAR_MOVED = 24
"""How far what is gone can be from what moved, if it would have moved with it."""


def place_of(shot: PlannedShot, piece: Piece) -> Region:
    """Return where a piece is in the after image. What is gone would have moved with what was near it."""
    if piece.kind != "gone":
        return piece.box
    x, y, width, height = piece.box
    for left, top, wide, high, dx, dy in shot.result.moves:
        across = max(x, left - dx) - min(x + width, left - dx + wide)
        down = max(y, top - dy) - min(y + height, top - dy + high)
        if across <= _NEAR_MOVED and down <= _NEAR_MOVED:
            return x + dx, y + dy, width, height
    return piece.box
