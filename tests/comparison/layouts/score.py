"""Scores the comparison on the corpus of layouts: the verdict and each box, against the truth from the page.

Run `.venv/bin/python tests/comparison/layouts/score.py [FOLDER]` after make_corpus.py. `--show PAIR OUT.png` draws a pair: truth in
green (missed: red), the engine's boxes in blue (false: magenta), moves as gray arrows.
"""

import argparse
import itertools
import json
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1])]

from prshots.server.adapters.pictures.engine.compare import compare  # noqa: E402
from prshots.server.domain.comparison.models import PairResult  # noqa: E402

Box = tuple[float, float, float, float]
Element = dict[str, Any]

_REACH = 3
"""How far from an element a box still touches it."""
_SHARE, _ENOUGH = 0.15, 60
"""An element is found if a box covers this share of it, or this many pixels: a digit of a price is enough."""
_LOOSE, _MARGIN, _SLACK = 4, 40, 2000
"""A box is too large beyond this multiple of what it shows, with a margin around it, or with this many more pixels."""


@dataclass
class Score:
    name: str
    app: str
    edit: str
    right: bool = False
    verdicts: str = ""
    boxes: int = 0
    good: float = 0
    false: list[Box] = field(default_factory=list)
    wanted: int = 0
    pinpointed: int = 0
    missed: list[Element] = field(default_factory=list)
    moved: float = 0
    explained: float = 0
    milliseconds: float = 0
    shown: dict[str, list[Box]] = field(default_factory=dict)
    """The boxes that show an element, by its id."""

    @property
    def mistakes(self) -> int:
        return 3 * (not self.right) + len(self.false) + len(self.missed)


def score(name: str, truth: dict[str, Any], result: PairResult) -> Score:
    found = Score(name, truth.get("app", ""), truth.get("edit", ""), result.verdict == truth["verdict"])
    found.verdicts = f"{result.verdict}, not {truth['verdict']}"
    elements = [one for one in truth["elements"] if one["state"] not in {"same", "moved"}]
    after = [one for one in elements if one["after"] and one["state"] != "gone"]
    before = [one for one in elements if one["before"] and one["state"] in {"gone", "changed"}]
    for side, boxes, targets in (("after", result.regions, after), ("before", result.gone, before)):
        revealed = truth.get("revealed", {}).get(side, [])
        for box in boxes:
            touched = [one for one in targets if _overlap(_grow(box, _REACH), one[side])]
            if not touched and any(_overlap(box, one) for one in revealed):
                continue
            found.boxes += 1
            if touched:
                enough = _grow(_union(one[side] for one in _without_ground(touched)), _MARGIN)
                found.good += 1 if _area(box) <= _LOOSE * _area(enough) else 0.5
            else:
                found.false.append(box)
    solid = [piece.box for piece in result.pieces if piece.kind not in {"gone", "recolored"}]
    is_recolored = any(one["state"] == "recolored" for one in elements)
    for element in _countable(elements):
        side, targets = ("after", after) if element in after else ("before", before)
        regions = solid if is_recolored and element["state"] != "recolored" else result.regions
        shown = [box for box in (regions if side == "after" else result.gone) if _shows(box, element[side])]
        found.wanted += 1
        if shown:
            found.shown[element["id"]] = shown
            least = min(shown, key=_area)
            touched = [one for one in targets if _overlap(least, one[side])]
            own = touched if element["state"] == "recolored" else _without_ground(touched)
            found.pinpointed += _area(least) <= _LOOSE * _area(_union(one[side] for one in own)) + _SLACK
        else:
            found.missed.append(element)
    _score_moves(found, truth["elements"], elements, result)
    return found


def _countable(elements: list[Element]) -> list[Element]:
    """Return the elements to find.

    What came or went within a container counts with the container. New words that are hidden don't count.
    """
    whole = [one for one in elements if one["what"] == "box" and one["state"] in {"came", "gone"}]
    shown = [one for one in elements if one["after"] or one["state"] == "gone"]
    return [one for one in shown if not any(_is_part(one, other) for other in whole)]


def _is_part(one: Element, whole: Element) -> bool:
    side = "after" if whole["state"] == "came" else "before"
    return one is not whole and one["state"] == whole["state"] and _is_inside(one[side], whole[side])


def _without_ground(touched: list[Element]) -> list[Element]:
    """Leave out a recolored ground around other elements."""
    return [one for one in touched if one["state"] != "recolored"] or touched


def _score_moves(found: Score, everything: list[Element], edited: list[Element], result: PairResult) -> None:
    for one in everything:
        if one["state"] != "moved" or any(
            _is_inside(one["after"], other["after"]) for other in edited if other["after"]
        ):
            continue
        dx, dy = (one["after"][i] - one["before"][i] for i in (0, 1))
        area = _area(one["after"])
        found.moved += area
        found.explained += area * any(
            abs(x - dx) <= 1 and abs(y - dy) <= 1 and _overlap(box, one["after"]) >= 0.7 * area
            for *box, x, y in result.moves
        )


def _shows(box: Box, target: Box) -> bool:
    return _overlap(box, target) >= min(_ENOUGH, _SHARE * _area(target))


def _overlap(one: Box, other: Box) -> float:
    wide, high = (min(one[i] + one[i + 2], other[i] + other[i + 2]) - max(one[i], other[i]) for i in (0, 1))
    return max(0, wide) * max(0, high)


def _is_inside(inner: Box | None, outer: Box | None) -> bool:
    return bool(inner and outer and _overlap(inner, outer) >= 0.95 * _area(inner) > 0)


def _grow(box: Box, by: float) -> Box:
    x, y, wide, high = box
    return x - by, y - by, wide + 2 * by, high + 2 * by


def _union(boxes: Iterable[Box]) -> Box:
    x, y, right, bottom = zip(*((x, y, x + w, y + h) for x, y, w, h in boxes), strict=True)
    return min(x), min(y), max(right) - min(x), max(bottom) - min(y)


def _area(box: Box) -> float:
    return box[2] * box[3]


def run_pair(folder: Path) -> Score:
    truth = json.loads((folder / "truth.json").read_text())
    before, after = ((folder / f"{side}.png").read_bytes() for side in ("before", "after"))
    start = time.process_time()
    result = compare(before, after)
    spent = time.process_time() - start
    found = score(folder.name, truth, result)
    found.milliseconds = spent * 1000
    return found


@dataclass
class PullScore:
    name: str
    groups: int
    person: int
    exact: bool
    misplaced: list[str]
    shots: int
    unseen: list[str]
    changes: int
    false: int


def run_shot(job: tuple[Path, str]) -> PairResult:
    folder, shot = job
    result = compare(*((folder / f"{shot}.{side}.png").read_bytes() for side in ("before", "after")))
    return replace(result, marked=b"", closeups=())


def group_pull(
    shots: dict[str, Any], results: dict[str, PairResult]
) -> tuple[dict[str, set[str]], dict[str, list[Box]]]:
    """Return the shots of each group, and the boxes of each shot that belong to any group."""
    from prshots.contract.replies import Verdict
    from prshots.server.domain.comparison.groups import group_shots
    from prshots.server.domain.comparison.models import PlannedShot, ShotResult
    from prshots.server.domain.images.models import ShotKey

    keys = {ShotKey(shot["name"], shot["viewport"], shot["theme"]): name for name, shot in shots.items()}
    planned = []
    for key, name in keys.items():
        found = results[name]
        result = ShotResult(
            Verdict(found.verdict), found.pixels, found.pieces, found.moves, found.colors, found.is_redrawn
        )
        planned.append(PlannedShot(key, None, None, result))
    groups: dict[str, set[str]] = defaultdict(set)
    boxes: dict[str, list[Box]] = {}
    for key, parts in group_shots(planned).parts.items():
        found = results[keys[key]]
        for part in parts:
            groups[part.group].add(keys[key])
        boxes[keys[key]] = [found.regions[i] for part in parts for i in part.regions]
        boxes[keys[key]] += [found.gone[i] for part in parts for i in part.gone]
    return groups, boxes


def score_pull(folder: Path, results: dict[str, PairResult]) -> PullScore:
    truth = json.loads((folder / "truth.json").read_text())
    groups, boxes = group_pull(truth["shots"], results)
    scores = {name: score(name, shot, results[name]) for name, shot in truth["shots"].items()}
    ours, persons = [*groups.values()], [{*group["shots"]} for group in truth["groups"]]
    pairs = match(ours, persons)

    def is_seen(ids: list[str], name: str) -> bool:
        """Return whether a box of a group shows the change. For one that only moves content, a group is enough."""
        states = {one["id"]: one["state"] for one in truth["shots"][name]["elements"]}
        edited = [one for one in ids if states.get(one, "moved") != "moved"]
        shown = [box for one in edited for box in scores[name].shown.get(one, [])]
        return name in boxes and (not edited or any(box in boxes[name] for box in shown))

    return PullScore(
        folder.name,
        groups=len(ours),
        person=len(persons),
        exact=sorted(map(sorted, ours)) == sorted(map(sorted, persons)),
        misplaced=[shot for shot in scores if any((shot in one) != (shot in other) for one, other in pairs)],
        shots=len(scores),
        unseen=[
            one["id"]
            for one in truth["changes"]
            if not any(is_seen(ids, name) for name, ids in one["shots"].items())
        ],
        changes=len(truth["changes"]),
        false=sum(len(one.false) for one in scores.values()),
    )


def match(ours: list[set[str]], persons: list[set[str]]) -> list[tuple[set[str], set[str]]]:
    """Pair our groups with the person's, the largest overlap first. A group without a partner gets an empty one."""
    pairs, left, wanted = [], [*ours], [*persons]
    while left and wanted:
        one, other = max(
            itertools.product(left, wanted),
            key=lambda pair: (len(pair[0] & pair[1]), -len(pair[0] ^ pair[1])),
        )
        left.remove(one)
        wanted.remove(other)
        pairs.append((one, other))
    return [*pairs, *((one, set()) for one in left), *((set(), other) for other in wanted)]


def print_pulls(pulls: list[PullScore], most: int) -> None:
    columns = ["groups", "person", "exact", "misplaced", "shots", "unseen", "changes", "false"]
    print(f"\n{'pull requests':34}", *columns)
    rows = {one.name: [_count(getattr(one, column)) for column in columns] for one in pulls}
    for name, row in {"all": [sum(column) for column in zip(*rows.values(), strict=True)], **rows}.items():
        print(f"{name:34}", *(f"{number:{len(column)}}" for number, column in zip(row, columns, strict=True)))
    for one in sorted(pulls, key=lambda one: -len(one.misplaced))[:most]:
        print(f"\n{one.name}: misplaced {', '.join(one.misplaced)}; unseen {', '.join(one.unseen)}")


def _count(value: float | list[str]) -> float:
    return len(value) if isinstance(value, list) else int(value)


def share(part: float, whole: float) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def print_table(scores: list[Score]) -> None:
    print(f"{'':28}pairs verdict precision recall false /pair moves pinpoint   ms")
    rows = {"all": scores}
    for key in ("edit", "app"):
        for name in sorted({getattr(one, key) for one in scores}):
            rows[f"{key} {name}"] = [one for one in scores if getattr(one, key) == name]
    for name, of in rows.items():
        boxed = [one.good / one.boxes for one in of if one.boxes]
        false = sum(len(one.false) for one in of)
        print(
            f"{name:28}{len(of):5}{share(sum(one.right for one in of), len(of)):>8}{share(sum(boxed), len(boxed)):>10}"
            f"{share(sum(len(one.shown) for one in of), sum(one.wanted for one in of)):>7}{false:6}{false / len(of):6.2f}"
            f"{share(sum(one.explained for one in of), sum(one.moved for one in of)):>6}"
            f"{share(sum(one.pinpointed for one in of), sum(len(one.shown) for one in of)):>9}"
            f"{sum(one.milliseconds for one in of) / len(of):5.0f}"
        )


def print_worst(scores: list[Score], most: int) -> None:
    for one in sorted(scores, key=lambda one: -one.mistakes)[:most]:
        print(
            f"\n{one.name}: {'' if one.right else one.verdicts + '; '}{len(one.false)} false, {len(one.missed)} missed"
        )
        for box in one.false[:6]:
            print("  false", *map(round, box))
        for element in one.missed[:6]:
            print("  missed", *(element[key] for key in ("id", "what", "state", "before", "after")))


def draw(folder: Path, out: Path) -> None:
    truth = json.loads((folder / "truth.json").read_text())
    paths = [folder / f"{side}.png" for side in ("before", "after")]
    result = compare(*(path.read_bytes() for path in paths))
    found = score(folder.name, truth, result)
    pictures = [Image.open(path).convert("RGB") for path in paths]
    sheet = Image.new(
        "RGB", (sum(one.width for one in pictures) + 20, max(one.height for one in pictures)), "gray"
    )
    pen, left = ImageDraw.Draw(sheet), 0
    for side, picture in zip(("before", "after"), pictures, strict=True):
        sheet.paste(picture, (left, 0))
        outlines = [
            (one[side], "red" if one in found.missed else "green")
            for one in truth["elements"]
            if one[side] and one["state"] not in {"same", "moved"}
        ]
        boxes = result.gone if side == "before" else result.regions
        outlines += [(_grow(box, 2), "magenta" if box in found.false else "blue") for box in boxes]
        for (x, y, wide, high), color in outlines:
            pen.rectangle((left + x, y, left + x + max(1, wide), y + max(1, high)), outline=color)
        if side == "after":
            for x, y, wide, high, dx, dy in result.moves:
                middle = left + x + wide / 2, y + high / 2
                pen.line((*middle, middle[0] - dx, middle[1] - dy), fill="gray")
                pen.rectangle((left + x, y, left + x + wide, y + high), outline="#bbb")
        left += picture.width + 20
    sheet.save(out)
    print_worst([found], 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / ".corpus")
    parser.add_argument("--only", choices=("pairs", "pulls"))
    parser.add_argument("--filter", default="", help="only pairs and pull requests with this in their name")
    parser.add_argument("--worst", type=int, default=0, metavar="N")
    parser.add_argument("--show", nargs=2, metavar=("PAIR", "OUT"))
    args = parser.parse_args()
    if args.show:
        draw(args.folder / "pairs" / args.show[0], Path(args.show[1]))
        return
    with multiprocessing.Pool(2) as pool:
        if args.only != "pulls":
            folders = [folder for folder in sorted(args.folder.glob("pairs/*")) if args.filter in folder.name]
            if not folders:
                sys.exit("no pairs: run make_corpus.py")
            scores = pool.map(run_pair, folders, chunksize=4)
            print_table(scores)
            print_worst(scores, args.worst)
        if args.only != "pairs":
            folders = [folder for folder in sorted(args.folder.glob("pulls/*")) if args.filter in folder.name]
            jobs = [
                (folder, path.name.removesuffix(".before.png"))
                for folder in folders
                for path in sorted(folder.glob("*.before.png"))
            ]
            results = dict(zip(jobs, pool.map(run_shot, jobs, chunksize=4), strict=True))
            pulls = [
                score_pull(one, {shot: result for (folder, shot), result in results.items() if folder == one})
                for one in folders
            ]
            print_pulls(pulls, args.worst)


if __name__ == "__main__":
    main()
