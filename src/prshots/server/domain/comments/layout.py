"""Image widths. The images in a row have about the same height, and the row fits into a comment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from prshots.contract.limits import VIEWPORT
from prshots.contract.natural_order import shot_key
from prshots.contract.replies import Region
from prshots.server.domain.comparison.models import CLOSEUP_HALF, CLOSEUP_ROWS_AROUND

Column = tuple[str, str]
"""A viewport and a theme."""

_ROW = 720
"""The text of a comment is about 780 pixels wide on GitHub, and wider on GitLab and Gitea."""
_CELL = 27
"""The padding and border that a cell adds to its image."""
_LOWEST = 120
_TALLEST = 320
_TALLEST_IN_PAIRS = 220
_TALLEST_CLOSE_UP = 240
_NARROWEST = 60
_ASPECTS = 0.5, 3.0
"""Keeps a full page from becoming a ribbon, and a banner from becoming a hairline."""
_USUAL = 1280, 800


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a name, in groups that fit next to each other, and the width of their images."""

    groups: Sequence[Sequence[Column]]
    widths: Mapping[Column, int]


@lru_cache(maxsize=256)
def lay_out_columns(columns: frozenset[Column]) -> Layout:
    """Return the layout of a name that has one image in each of these columns. Never enlarges an image."""
    groups = _groups(sorted(columns, key=lambda column: shot_key("", *column)))
    widths: dict[Column, int] = {}
    for group in groups:
        height = min(_TALLEST, _height(group))
        widths |= {column: min(_pixels(column)[0], int(_aspect(column) * height)) for column in group}
    return Layout(groups, widths)


def picture_width(column: Column, regions: Sequence[Region] = ()) -> int:
    """Return the width of an image that stands next to another one of the same size.

    The regions that changed show how tall a full page is.
    """
    width, height = _pixels(column)
    width = max([width, *(left + wide for left, _, wide, _ in regions)])
    height = max([height, *(top + high for _, top, _, high in regions)])
    return max(_NARROWEST, min(width, _ROW // 2, _TALLEST_IN_PAIRS * width // height))


def close_up_height(region: Region) -> int:
    """Return the height of a close-up that would be too tall at full size. 0: its own height is fine."""
    _, _, wide, high = region
    rows = high * min(1, CLOSEUP_HALF / wide) + 2 * CLOSEUP_ROWS_AROUND
    return _TALLEST_CLOSE_UP if rows > _TALLEST_CLOSE_UP else 0


def _groups(columns: Sequence[Column]) -> list[list[Column]]:
    """Split the columns between viewports. Each group fits into a row and stays readable."""
    groups: list[list[Column]] = []
    for _, themes in groupby(columns, lambda column: column[0]):
        viewport = list(themes)
        if groups and _height(groups[-1] + viewport) >= _LOWEST:
            groups[-1] += viewport
        else:
            groups.append(viewport)
    return groups


def _height(group: Sequence[Column]) -> float:
    return (_ROW - _CELL * len(group)) / sum(map(_aspect, group))


def _aspect(column: Column) -> float:
    width, height = _pixels(column)
    least, most = _ASPECTS
    return max(least, min(most, width / height))


def _pixels(column: Column) -> tuple[int, int]:
    if not VIEWPORT.fullmatch(column[0]):
        return _USUAL
    width, _, height = column[0].partition("x")
    return int(width), int(height)
