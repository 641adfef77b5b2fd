"""Turns what a page says about itself before and after an edit into the truth of a pair."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Any

Read = dict[str, Any]
"""An element as truth.js describes it."""
Element = dict[str, Any]

_A_PIXEL = 0.95
"""The smallest distance that counts as moved: a pixel, less what rounding takes away."""


def compare_pages(before: list[Read], after: list[Read]) -> list[Element]:
    """Return the visible elements and what became of each. Neither pixels nor pictures are involved."""
    sides = [
        {key: [*group] for key, group in groupby(side, lambda one: (one["id"], one["kind"]))}
        for side in (before, after)
    ]
    known = [{number for number, _ in side} for side in sides]
    elements = []
    for number, kind in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get((number, kind), []) for side in sides)
        for place, pair in enumerate(_match_words(old, new)):
            state = _state_of(*pair, known)
            if state:
                boxes = [
                    [round(side, 1) for side in one["visible"]] if one and one["visible"] else None
                    for one in pair
                ]
                name = f"{kind[0]}{number}" + (f".{place}" if kind == "text" else "")
                elements.append(
                    {"id": name, "what": kind, "state": state, "before": boxes[0], "after": boxes[1]}
                )
    return [element for element in _settle_frames(elements) if element["before"] or element["after"]]


def find_revealed(before: list[Read], after: list[Read]) -> dict[str, list[list[float]]]:
    """Return the boxes that came into view, or went, at the end of a pane. Whether a box there is right is open."""
    sides = [
        {(one["id"], one["kind"], place): one for place, one in _number(side)} for side in (before, after)
    ]
    revealed: dict[str, list[list[float]]] = {"before": [], "after": []}
    for key in sides[0].keys() & sides[1].keys():
        old, new = (side[key] for side in sides)
        if new["inPane"] and new["kind"] != "box" and _area_seen(old) != _area_seen(new):
            for side, one in (("before", old), ("after", new)):
                revealed[side] += [one["visible"]] if one["visible"] else []
    return revealed


def _number(side: list[Read]) -> Iterator[tuple[int, Read]]:
    """Count the words of each text."""
    for _, words in groupby(side, lambda one: (one["id"], one["kind"])):
        yield from enumerate(words)


def _area_seen(one: Read) -> int:
    return round(_area(one["visible"])) if one["visible"] else 0


def verdict_of(elements: list[Element]) -> str:
    states = {element["state"] for element in elements}
    if states & {"changed", "came", "gone", "recolored"}:
        return "changed"
    return "moved" if "moved" in states else "unchanged"


def _match_words(old: list[Read], new: list[Read]) -> Iterator[tuple[Read | None, Read | None]]:
    words = [[one["content"] for one in side] for side in (old, new)]
    if len(old) == len(new) and (len(old) < 2 or words[0] == words[1]):
        yield from zip(old, new, strict=True)
        return
    for _, a, b, c, d in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        yield from zip_longest(old[a:b], new[c:d])


def _state_of(old: Read | None, new: Read | None, known: list[set[int]]) -> str | None:
    """Return None for an element that says nothing: a hidden one, or a frame that only got larger."""
    if not (old and new):
        one, others = (old, known[1]) if old else (new, known[0])
        assert one
        is_part = one["kind"] == "box" and not one["isLeaf"] and one["parent"] not in others
        return None if is_part or not one["visible"] else "gone" if old else "came"
    if not (old["visible"] and new["visible"]):
        is_edited = old["content"] != new["content"] and (old["visible"] or new["visible"])
        return "changed" if is_edited else None
    if (old["content"], old["look"]) != (new["content"], new["look"]):
        return "changed"
    if old["color"] != new["color"]:
        return "recolored"
    if old["kind"] == "box" and not old["isLeaf"]:
        return None
    if any(_area(one["visible"]) < 0.98 * _area(one["box"]) for one in (old, new)):
        return None
    (x, y, *size), (left, top, *other_size) = old["box"], new["box"]
    if any(abs(a - b) >= _A_PIXEL for a, b in zip(size, other_size, strict=True)):
        return "resized"
    return "moved" if max(abs(left - x), abs(top - y)) >= _A_PIXEL else "same"


def _settle_frames(elements: list[Element]) -> Iterator[Element]:
    """Call a larger frame changed if its label did. Otherwise its column got wider, and it is left out."""
    labels = [
        one for one in elements if one["what"] == "text" and one["state"] in {"changed", "came", "gone"}
    ]
    for element in elements:
        if element["state"] != "resized":
            yield element
        elif element["what"] == "text" or any(
            _holds(element[side], label[side]) for label in labels for side in ("before", "after")
        ):
            yield element | {"state": "changed"}


def _holds(outer: list[float] | None, inner: list[float] | None) -> bool:
    if not (outer and inner):
        return False
    x, y = inner[0] + inner[2] / 2, inner[1] + inner[3] / 2
    return 0 <= x - outer[0] <= outer[2] and 0 <= y - outer[1] <= outer[3]


def _area(box: list[float]) -> float:
    return box[2] * box[3]
