"""What a comparison found in two images as compact JSON, for the database and between processes."""

from collections.abc import Sequence
from typing import Any, Protocol

from prshots.contract.replies import Move
from prshots.server.domain.comparison.models import ColorChange, Piece, PieceKind, Shape

_LETTERS: dict[PieceKind, str] = {"changed": "~", "came": "+", "gone": "-", "recolored": "#"}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


class Difference(Protocol):
    """The part of a result that is encoded."""

    @property
    def pieces(self) -> Sequence[Piece]: ...
    @property
    def moves(self) -> Sequence[Move]: ...
    @property
    def colors(self) -> Sequence[ColorChange]: ...
    @property
    def is_redrawn(self) -> bool: ...


def encode_difference(found: Difference) -> dict[str, Any]:
    """Return what JSON can hold. Leaves out what is empty."""
    facts = {
        "pieces": [[_LETTERS[kind], *box, shapes] for box, kind, shapes in found.pieces],
        "moves": found.moves,
        "colors": found.colors,
        "is_redrawn": found.is_redrawn,
    }
    return {name: value for name, value in facts.items() if value}


def decode_difference(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that `encode_difference` encoded."""
    return {
        "pieces": tuple(_decode_piece(*piece) for piece in facts.get("pieces", ())),
        "moves": tuple(tuple(move) for move in facts.get("moves", ())),
        "colors": tuple(ColorChange(*color) for color in facts.get("colors", ())),
        "is_redrawn": facts.get("is_redrawn", False),
    }


def _decode_piece(letter: str, *rest: Any) -> Piece:  # noqa: ANN401 - JSON
    *box, shapes = rest
    return Piece(tuple(box), _KINDS[letter], tuple(Shape(*shape) for shape in shapes))
