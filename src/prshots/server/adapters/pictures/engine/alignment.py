"""Find how far each word, icon and picture of a page moved.

Tokens with equal pixels vote for the distance between them, their offset. A token can have twins, such as the
same icon in each row of a list, so each one follows the offset that most tokens around it follow. Equal
content is paired one to one: of two equal rows, one is new.
"""

import heapq
from collections import Counter, defaultdict
from itertools import groupby
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.tokens import Tokens, describe

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int32]
Offset = tuple[int, int]
"""How many pixels content moved to the right, and down."""

_MOST_OFFSETS, _MOST_FOLLOWED = 128, 48
"""How many offsets to try, and how many content can follow."""
_MOST_CELLS = 8_000_000
"""The support of that many cells, at all offsets together, is counted: 32 MB."""
_MOST_TWINS = 24
"""A token with more twins than this doesn't vote: too many offsets would be possible."""

_NEAR_TWINS = 64
"""Of so many twins, only those at most this many pixels away are candidates, eight of them."""

NUDGES = (0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)
"""A place, and those a pixel aside."""
_LIKENESS, _BEST_WITHIN = 0.86, 0.03
"""How alike two tokens are at least, and how close to the best of each."""
_OTHER_SIDE = 2
"""By how many pixels the sides of two tokens that are alike differ at most."""
_MOST_COMPARED, _COMPARED_AT_ONCE, _MOST_NEAR = 12_000, 256, 3_000
"""How many tokens without an equal are compared by likeness, how many of similar widths at once, and with how
many: those at about the same height."""
_MOST_LOOKS = 4 * _MOST_TWINS
"""A token that looks like more than this isn't compared: nothing tells which of them it is."""
_UNLIKE_VOTE = 0.5
"""The vote of two tokens that are only alike."""

_LEAST_REST, _LEAST_CONTRAST = 3, 4.0
"""How much of a cut token is left at least, in pixels, and the deviation of its levels."""
_LEAST_PUSHING, _LEAST_SCROLLED = 4, 8
"""How many tokens follow an offset that pushes content off the page, and a scroll."""

CELL = 16
_AROUND = (((65, 3), 0.5), ((25, 3), 1.0), ((9, 9), 1.0), ((41, 41), 0.25))
"""Boxes around a token whose tokens support its offset: columns and rows in cells, and how much they count.
The first is its line: words beside each other nearly always move together."""

_OWN_SHARE = sum(share for _, share in _AROUND)

NEIGHBORS = [(across, down) for down in (-1, 0, 1) for across in (-1, 0, 1)]
"""A place, and the eight around it."""
_BESIDE_SHARE = np.float32(0.7)
"""Content that moved by a fraction of a pixel follows two offsets: rounded up, and down."""

_LEAST_SUPPORT = 22.0
"""A pair needs as much from tokens around it, in pixels: the root of an area of about one word."""
_LEAST_ALONE = 16.0
"""A token that alone moved somewhere, such as a button's label, is at least as large."""


class Alignment(NamedTuple):
    """`before` and `after` have the index of each token's offset, or -1 if it has none.

    `partners` has the indexes of the tokens that belong together.
    """

    offsets: list[Offset]
    """(0, 0) first, then those that most tokens follow."""
    before: Numbers
    after: Numbers
    partners: tuple[Numbers, Numbers]
    support: list[Floats]
    """For each offset, how much supports it in each cell of the after image."""


class _Pairs(NamedTuple):
    """Candidates: tokens that may be the same, a vote each."""

    before: Numbers
    after: Numbers
    offset: Numbers
    vote: Floats
    is_sole: npt.NDArray[np.bool_]
    """Whether neither of the two has a twin."""

    def choose(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> "_Pairs":
        return _Pairs(
            self.before[chosen],
            self.after[chosen],
            self.offset[chosen],
            self.vote[chosen],
            self.is_sole[chosen],
        )


def align(before: Tokens, after: Tokens, shape: tuple[int, ...]) -> Alignment:
    """`shape` is that of the after image."""
    equal = _pair_equal(before, after)
    alike = _pair_alike(before, after, equal)
    grid = [-(-side // CELL) for side in shape[:2]]
    offsets = _choose_offsets(equal + alike, min(_MOST_OFFSETS, _MOST_CELLS // (grid[0] * grid[1])))
    pairs = _to_pairs(equal + alike, offsets)
    cells = (after.boxes[:, :2] + after.boxes[:, 2:]) // (2 * CELL)
    heights = after.boxes[:, 3] - after.boxes[:, 1]
    chosen = pairs.choose(np.zeros(0, np.intp))
    for is_last in (False, True):
        grids = _support(chosen if is_last else pairs, cells, grid, offsets)
        if is_last:
            enough = _own_support(pairs, cells, heights, grids) - pairs.vote * _OWN_SHARE >= _LEAST_SUPPORT
            alone = pairs.is_sole & (np.sqrt(after.areas[pairs.after]) >= _LEAST_ALONE)
            pairs = pairs.choose(enough | alone)
        chosen = _pair_off(pairs, _own_support(pairs, cells, heights, grids))
    offsets, chosen = _keep_followed(offsets, chosen)
    ours, theirs = (np.full(len(tokens.boxes), -1, np.int32) for tokens in (before, after))
    ours[chosen.before] = chosen.offset
    theirs[chosen.after] = chosen.offset
    support = _support(chosen, cells, grid, offsets)
    return Alignment(offsets, ours, theirs, (chosen.before, chosen.after), support)


_Candidate = tuple[int, int, int, int, float, bool]


def _pair_equal(before: Tokens, after: Tokens) -> list[_Candidate]:
    places = defaultdict[int, list[int]](list)
    for index, key in enumerate(before.keys):
        places[key].append(index)
    counts = Counter(after.keys)
    many_twins = {key: twins for key, twins in places.items() if max(counts[key], len(twins)) > _MOST_TWINS}
    cells = _index_by_cell(before, many_twins)
    ours, theirs = before.boxes[:, :2].tolist(), after.boxes[:, :2].tolist()
    roots = np.sqrt(after.areas).tolist()
    found: list[_Candidate] = []
    for j, key in enumerate(after.keys):
        twins = places.get(key, ())
        many = max(len(twins), counts[key])
        x, y = theirs[j]
        if many > _MOST_TWINS:
            column, row = x // _NEAR_TWINS, y // _NEAR_TWINS
            around = [
                i for across, down in NEIGHBORS for i in cells.get((key, column + across, row + down), ())
            ]
            twins = [i for i in around if abs(ours[i][0] - x) + abs(ours[i][1] - y) <= _NEAR_TWINS][:8]
        found += [(i, j, x - ours[i][0], y - ours[i][1], roots[j] / many, many == 1) for i in twins]
    return found


def _index_by_cell(tokens: Tokens, twins: dict[int, list[int]]) -> dict[tuple[int, int, int], list[int]]:
    """Return the indexes of twins, by their key and the cell of `_NEAR_TWINS` that they are in."""
    found = defaultdict[tuple[int, int, int], list[int]](list)
    for key, indexes in twins.items():
        cells = tokens.boxes[indexes, :2] // _NEAR_TWINS
        for index, (column, row) in zip(indexes, cells.tolist(), strict=True):
            found[key, column, row].append(index)
    return found


def _pair_alike(before: Tokens, after: Tokens, equal: list[_Candidate]) -> list[_Candidate]:
    """Pair tokens that look alike, such as words on another ground or at another fraction of a pixel.

    Tokens with twins take part: the one that moved may be on another ground than one that didn't.
    """
    known = {pair[:2] for pair in equal}
    sole = _find_certain(after, equal)
    ours, theirs = (
        np.array([each for each in range(len(tokens.boxes)) if each not in taken][:_MOST_COMPARED], np.intp)
        for tokens, taken in ((before, {pair[0] for pair in sole}), (after, {pair[1] for pair in sole}))
    )
    if not len(ours) or not len(theirs):
        return []
    found: list[_Candidate] = []
    roots = np.sqrt(after.areas).tolist()
    for number, some in groupby(_compare_looks(before, ours, after, theirs), key=lambda look: look.theirs):
        j = int(theirs[number])
        twins = [look for look in some if (int(ours[look.ours]), j) not in known]
        if len(twins) > _MOST_TWINS:
            continue
        for look in twins:
            i, (across, down) = int(ours[look.ours]), look.nudge
            dx, dy = (after.boxes[j, :2] - before.boxes[i, :2] + [across, down]).tolist()
            found.append((i, j, dx, dy, roots[j] * _UNLIKE_VOTE / len(twins), len(twins) == 1))
    return found


def _find_certain(after: Tokens, equal: list[_Candidate]) -> list[_Candidate]:
    """Return the pairs without twins that moved as most of their line.

    Others can be equal by chance: a badge in another row of a table at the same fraction of a pixel.
    """
    lines: dict[int, dict[Offset, float]] = defaultdict(lambda: defaultdict(float))
    places = ((after.boxes[:, 1] + after.boxes[:, 3]) // (2 * CELL)).tolist()
    for _, j, dx, dy, vote, _ in equal:
        lines[places[j]][dx, dy] += vote
    usual = {line: max(votes, key=votes.__getitem__) for line, votes in lines.items()}
    return [pair for pair in equal if pair[5] and usual[places[pair[1]]] == pair[2:4]]


class _Look(NamedTuple):
    """Two tokens that look alike, by their places in the lists that were compared."""

    theirs: int
    ours: int
    likeness: float
    nudge: Offset


def _compare_looks(
    before: Tokens, ours: npt.NDArray[np.intp], after: Tokens, theirs: npt.NDArray[np.intp]
) -> list[_Look]:
    """Return tokens of about the same size of which each looks most like the other, or nearly."""
    rows = describe(before, ours)
    sides = [
        tokens.boxes[some, 2:] - tokens.boxes[some, :2] for tokens, some in ((before, ours), (after, theirs))
    ]
    best = np.zeros(len(ours), np.float32)
    looks: list[_Look] = []
    by_width = np.argsort(sides[1][:, 0], kind="stable")
    for start in range(0, len(theirs), _COMPARED_AT_ONCE):
        part = by_width[start : start + _COMPARED_AT_ONCE]
        widths = sides[1][part, 0]
        near = np.flatnonzero(
            (sides[0][:, 0] >= widths[0] - _OTHER_SIDE) & (sides[0][:, 0] <= widths[-1] + _OTHER_SIDE)
        )
        if not len(near):
            continue
        if len(near) > _MOST_NEAR:
            away = np.abs(before.boxes[ours[near], 1] - np.median(after.boxes[theirs[part], 1]))
            near = near[np.sort(np.argsort(away, kind="stable")[:_MOST_NEAR])]
        likeness = np.zeros((len(part), len(near)), np.float32)
        nudges = np.zeros(likeness.shape, np.uint8)
        for index, nudge in enumerate(NUDGES):
            found = np.abs(describe(after, theirs[part], nudge) @ rows[near].T)
            nudges[found > likeness] = index
            np.maximum(likeness, found, out=likeness)
        for side in (0, 1):
            likeness[np.abs(sides[1][part][:, None, side] - sides[0][near][None, :, side]) > _OTHER_SIDE] = 0
        best[near] = np.maximum(best[near], likeness.max(axis=0))
        good = (likeness >= _LIKENESS) & (likeness >= likeness.max(axis=1)[:, None] - _BEST_WITHIN)
        good[good.sum(axis=1) > _MOST_LOOKS] = False
        looks += [
            _Look(
                int(part[row]),
                int(near[column]),
                float(likeness[row, column]),
                NUDGES[nudges[row, column]],
            )
            for row, column in np.argwhere(good).tolist()
        ]
    return sorted(look for look in looks if look.likeness >= best[look.ours] - _BEST_WITHIN)


def _choose_offsets(pairs: list[_Candidate], most: int) -> list[Offset]:
    votes: dict[Offset, float] = defaultdict(float)
    for _, _, dx, dy, vote, _ in pairs:
        votes[dx, dy] += vote
    votes.pop((0, 0), None)
    return [(0, 0), *heapq.nlargest(most, votes, key=votes.__getitem__)]


def _to_pairs(candidates: list[_Candidate], offsets: list[Offset]) -> _Pairs:
    number = {offset: index for index, offset in enumerate(offsets)}
    kept = [
        (i, j, number[dx, dy], vote, is_sole)
        for i, j, dx, dy, vote, is_sole in candidates
        if (dx, dy) in number
    ]
    numbers = np.array([pair[:3] for pair in kept], np.int32).reshape(-1, 3).T
    votes = np.array([pair[3] for pair in kept], np.float32)
    return _Pairs(numbers[0], numbers[1], numbers[2], votes, np.array([pair[4] for pair in kept], np.bool_))


def _keep_followed(offsets: list[Offset], pairs: _Pairs) -> tuple[list[Offset], _Pairs]:
    """Return the offsets that tokens follow, (0, 0) first, and the pairs with their new numbers."""
    votes = np.bincount(pairs.offset, pairs.vote, minlength=len(offsets)).astype(np.float64)
    votes[0] = np.inf
    order = np.argsort(-votes, kind="stable")[:_MOST_FOLLOWED]
    order = order[votes[order] > 0]
    numbers = np.full(len(offsets), -1, np.int32)
    numbers[order] = np.arange(len(order))
    kept = pairs.choose(numbers[pairs.offset] >= 0)
    return [offsets[number] for number in order.tolist()], kept._replace(offset=numbers[kept.offset])


def _support(pairs: _Pairs, cells: Numbers, shape: list[int], offsets: list[Offset]) -> list[Floats]:
    """Return how much supports each offset in each cell. Offsets a pixel apart support each other."""
    votes = np.zeros((len(offsets), *shape), np.float32)
    columns, rows = cells[pairs.after].T
    np.add.at(votes, (pairs.offset, rows, columns), pairs.vote)
    grids = [
        sum(
            cv2.boxFilter(grid, -1, sides, normalize=False, borderType=cv2.BORDER_CONSTANT)
            * np.float32(share)
            for sides, share in _AROUND
        )
        for grid in votes
    ]
    numbers = {offset: number for number, offset in enumerate(offsets)}
    beside = {
        number: [
            numbers[near]
            for across, down in NEIGHBORS
            if (near := (dx + across, dy + down)) in numbers and near != (dx, dy)
        ]
        for (dx, dy), number in numbers.items()
    }
    return [
        grid + _BESIDE_SHARE * sum(grids[near] for near in beside[number])
        for number, grid in enumerate(grids)
    ]


def _own_support(pairs: _Pairs, cells: Numbers, heights: Numbers, grids: list[Floats]) -> Floats:
    """Return the support of each pair. A picture has several lines beside it: the best one counts."""
    columns, rows = cells[pairs.after].T
    reach = heights[pairs.after] // (3 * CELL)
    supports = np.zeros(len(pairs.vote), np.float32)
    for number in np.unique(pairs.offset).tolist():
        some = pairs.offset == number
        supports[some] = np.maximum.reduce(
            [grids[number][rows[some] + step * reach[some], columns[some]] for step in (-1, 0, 1)]
        )
    return supports


def _pair_off(pairs: _Pairs, supports: Floats) -> _Pairs:
    """Take the pairs by falling support, each token once."""
    taken: tuple[set[int], set[int]] = set(), set()
    chosen = []
    order = np.lexsort((pairs.offset, -supports))
    for index, i, j in zip(
        order.tolist(), pairs.before[order].tolist(), pairs.after[order].tolist(), strict=True
    ):
        if i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            chosen.append(index)
    return pairs.choose(np.array(chosen, np.intp))


def find_pushes(alignment: Alignment) -> set[Offset]:
    """Return the offsets of so much content that it can push other content off the page."""
    followed = np.bincount(alignment.after.clip(0), minlength=len(alignment.offsets))
    return {
        offset
        for offset, count in zip(alignment.offsets[1:], followed[1:], strict=True)
        if count >= _LEAST_PUSHING
    }


def find_scrolls(tokens: tuple[Tokens, Tokens], alignment: Alignment) -> set[Offset]:
    """Return the offsets of scrolled content: the top or the left edge of the image cuts through a token."""
    found = set()
    followed = np.bincount(alignment.after.clip(0), minlength=len(alignment.offsets))
    before, after = tokens
    for each, other, sign in ((before, after, 1), (after, before, -1)):
        for number, (dx, dy) in enumerate(alignment.offsets[1:], 1):
            if followed[number] >= _LEAST_SCROLLED and _is_cut(each, other, sign * dx, sign * dy):
                found.add((dx, dy))
    return found


def _is_cut(tokens: Tokens, other: Tokens, dx: int, dy: int) -> bool:
    """Return whether the other image has the rest of a token that moves off the top or the left."""
    for side, way in ((0, dx), (1, dy)):
        starts, ends = tokens.boxes[:, side] + way, tokens.boxes[:, side + 2] + way
        is_cut = (way < 0) & (starts < 0) & (ends > _LEAST_REST) & ~tokens.of_frames
        for left, top, right, bottom in tokens.boxes[is_cut].tolist():
            rest = max(left, -dx), max(top, -dy), right, bottom
            there = tuple(place + step for place, step in zip(rest, (dx, dy, dx, dy), strict=True))
            height, width = other.image.shape[:2]
            if there[2] > width or there[3] > height or rest[2] <= rest[0] or rest[3] <= rest[1]:
                continue
            one, two = tokens.gray(rest), other.gray(there)
            likeness = cv2.matchTemplate(one, two, cv2.TM_CCOEFF_NORMED)[0, 0]
            if min(one.std(), two.std()) >= _LEAST_CONTRAST and likeness >= _LIKENESS:
                return True
    return False
