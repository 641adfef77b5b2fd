"""Say which content stands elsewhere."""

from collections.abc import Sequence

from prshots.contract.replies import Move
from prshots.server.adapters.pictures.engine.alignment import Alignment
from prshots.server.adapters.pictures.engine.pieces import Obstacles, join
from prshots.server.adapters.pictures.engine.regions import Box
from prshots.server.adapters.pictures.engine.side import Side

_MOST = 64
_BESIDE, _BELOW = 400, 120
"""How far apart words that moved by the same offset can be one move."""


def find_moves(side: Side, alignment: Alignment, regions: Sequence[Box]) -> list[Move]:
    """Return boxes of the after image whose content moved, and how far; the largest first."""
    owned = [
        (box, own)
        for box, own in zip(side.boxes, side.own, strict=True)
        if not any(box.overlaps(region) for region in regions)
    ]
    found: list[Move] = []
    for number in sorted({own for _, own in owned if own > 0}):
        moved = [box for box, own in owned if own == number]
        others = [box for box, own in zip(side.boxes, side.own, strict=True) if own not in {-1, number}]
        joined = join(moved, Obstacles(side.left.shape, [*others, *regions]), _BESIDE, _BELOW)
        found += [(*box.region, *alignment.offsets[number]) for box in joined]
    return sorted(found, key=lambda move: -move[2] * move[3])[:_MOST]
