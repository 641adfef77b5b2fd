"""Counts what the engine gets wrong in small text: one letter for a similar one, and text that moved a little.

Run `.venv/bin/python tests/comparison/small_text.py`. `docs/understand/comparison.md` has the figures.
"""

import html
import io
import itertools
import sys
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser

sys.path[:0] = [str(Path(__file__).parent.parent)]

from prshots.server.adapters.pictures.engine.compare import compare  # noqa: E402 - after the line above
from support.chromium import chromium  # noqa: E402
from support.nasty_pictures import encoded  # noqa: E402

WIDTH, HEIGHT, COLUMNS = 100, 30, 12
FONTS = ("DejaVu Sans", "DejaVu Sans Mono", "DejaVu Serif")
SCHEMES = (("#222", "#fff"), ("#57606a", "#fff"), ("#fff", "#1f6feb"), ("#8b949e", "#0d1117"))
SIMILAR = (
    """56 38 68 08 17 ec oc il l1 nm hb ,. ;: '" O0 OQ EF PR ao uv S5 B8 Il +- ._ -_ tf rn CG ·. ée €£"""
)
MOVES = ((0.1, 0), (0.2, 0), (0.3, 0), (0.4, 0), (0.25, 0.25), (0, 0.3), (0.45, 0))


class Text(NamedTuple):
    style: str
    before: str
    after: str
    move: tuple[float, float] = (0, 0)

    def shown(self, at: int, *, is_after: bool) -> str:
        left, top = at % COLUMNS * WIDTH, at // COLUMNS * HEIGHT
        move = (
            f"transform: translate({self.move[0]}px, {self.move[1]}px)" if is_after and any(self.move) else ""
        )
        text = html.escape(self.after if is_after else self.before)
        return f'<div style="left: {left}px; top: {top}px; {self.style}"><span style="{move}">{text}</span></div>'


def texts() -> list[Text]:
    found = []
    for font, size, (color, ground) in itertools.product(FONTS, (10, 11, 12, 13, 14, 16), SCHEMES):
        style = f"background: {ground}; color: {color}; font: {size}px {font}"
        found += [Text(style, f"ab{one}cd", f"ab{other}cd") for one, other in [*SIMILAR.split(), (".", "")]]
    schemes = (*SCHEMES, ("#cf222e", "#fff"))
    for font, size, (color, ground) in itertools.product(FONTS, (10, 11, 12, 13, 14, 16, 22), schemes):
        style = f"background: {ground}; color: {color}; font: {size}px {font}"
        found += [Text(style, "Returns 4.8 g", "Returns 4.8 g", move) for move in MOVES]
    return found


def rendered(browser: Browser, shown: list[Text], *, is_after: bool) -> Image.Image:
    cells = "".join(text.shown(at, is_after=is_after) for at, text in enumerate(shown))
    height = -(-len(shown) // COLUMNS) * HEIGHT
    context = browser.new_context(viewport={"width": COLUMNS * WIDTH, "height": height})
    page = context.new_page()
    page.set_content(
        "<!doctype html><meta charset=utf-8><style>* { margin: 0 }"
        "div { position: absolute; overflow: hidden; width: 100px; height: 30px }"
        "span { position: absolute; left: 3px; top: 6px; white-space: pre }</style>" + cells
    )
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    context.close()
    return picture


def main() -> None:
    shown = texts()
    with chromium() as browser:
        before, after = (rendered(browser, shown, is_after=side) for side in (False, True))
    counts = {"letters": [0, 0], "moves": [0, 0]}
    for at, text in enumerate(shown):
        left, top = at % COLUMNS * WIDTH, at // COLUMNS * HEIGHT
        one, other = (picture.crop((left, top, left + WIDTH, top + HEIGHT)) for picture in (before, after))
        if one.tobytes() == other.tobytes():
            continue
        verdict = compare(encoded(one, "PNG"), encoded(other, "PNG")).verdict
        is_letter = text.before != text.after
        counted = counts["letters" if is_letter else "moves"]
        counted[0] += 1
        if is_letter == (verdict == "unchanged"):
            counted[1] += 1
            print(f"{verdict}: {text}")
    for kind, (total, wrong) in counts.items():
        print(f"{kind}: {wrong} of {total} wrong")


if __name__ == "__main__":
    main()
