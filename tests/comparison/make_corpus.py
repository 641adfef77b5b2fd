"""Renders the corpus: pairs of screenshots, and the verdict that a person gives to each.

Run `.venv/bin/python tests/comparison/make_corpus.py` after you change a page or a pair, with `--keep-pictures` after you
change the engine. `cases.py` says how each pair is rendered, and `corpus.json` has the person's verdict. It writes
`pictures/`, `marked/`, their names in `corpus.json`, and `README.md`, which shows all of it.
"""

import argparse
import asyncio
import io
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from comparison.cases import PAIRS, Shot  # noqa: E402 - found through the line above
from prshots.server.adapters.pictures.workers.pool import COMPARING, PictureWorkers  # noqa: E402
from prshots.server.domain.comparison.models import PairResult  # noqa: E402
from support.chromium import chromium  # noqa: E402

PICTURES, MARKED = HERE / "pictures", HERE / "marked"
SAVED_AS = {
    "png": ("PNG", {"optimize": True}),
    "jpg": ("JPEG", {"quality": 85}),
    "webp": ("WEBP", {"quality": 85}),
}

INTRODUCTION = """# The comparison's corpus

Pairs of pages that Chromium rendered, the verdict that a person gives to each, and the engine's beside it.
[How images are compared](../../docs/understand/comparison.md) explains the engine. `make_corpus.py` writes this page and the
pictures; `test_corpus.py` compares the verdicts.
"""
HEADING = "| case | before | after | marked difference | person | engine |\n|---|---|---|---|---|---|\n"


def rendered(browser: Browser, shot: Shot) -> Image.Image:
    width, height = shot.size
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=shot.scale)
    page = context.new_page()
    page.set_content(shot.page)
    page.add_style_tag(content=shot.css or "/* as it is */")
    page.evaluate(shot.script or "0")
    page.evaluate("document.fonts.ready")
    png = page.screenshot(full_page=shot.full_page, omit_background=shot.transparent, caret="initial")
    context.close()
    picture = Image.open(io.BytesIO(png)).convert("RGBA" if shot.transparent else "RGB")
    return shot.change(picture) if shot.change else picture


def render_pair(pair: dict[str, str], browser: Browser, known: dict[Shot, str]) -> None:
    """Render both sides of a pair, unless another pair had the same, and note the names of their files."""
    for side, shot in zip(("before", "after"), PAIRS[pair["name"]], strict=True):
        if shot not in known:
            name = shot.name or f"{pair['name']}.{side}"
            known[shot] = f"{name}.{shot.kind}"
            kind, options = SAVED_AS[shot.kind]
            rendered(browser, shot).save(PICTURES / known[shot], kind, **options | {"quality": shot.quality})
        pair[side] = known[shot]


def render_all(pairs: list[dict[str, str]]) -> None:
    known: dict[Shot, str] = {}
    with chromium() as browser:
        for pair in pairs:
            render_pair(pair, browser, known)
    corpus = json.dumps(pairs, indent=1, ensure_ascii=False)
    (HERE / "corpus.json").write_text(corpus + "\n", encoding="utf-8")


async def compared(pairs: list[dict[str, str]]) -> list[PairResult]:
    pool = PictureWorkers(COMPARING)
    results = [
        await pool.compare((PICTURES / pair["before"]).read_bytes(), (PICTURES / pair["after"]).read_bytes())
        for pair in pairs
    ]
    await pool.close()
    return results


def describe(result: PairResult) -> list[str]:
    """Return how many pieces of each kind there are, and the largest move."""
    kinds = Counter(piece.kind for piece in result.pieces)
    said = [f"{count} {kind}" for kind, count in sorted(kinds.items())]
    return [*said, *(f"{dx:+d}, {dy:+d} px" for *_, dx, dy in result.moves[:1])]


def row(pair: dict[str, str], result: PairResult) -> str:
    """Return a line of the table."""
    marked = ""
    if result.marked:
        (MARKED / f"{pair['name']}.jpg").write_bytes(result.marked)
        marked = f"![marked](marked/{pair['name']}.jpg)"
    said = result.verdict if result.verdict == pair["person"] else f"**{result.verdict}**"
    cells = (
        f"**{pair['name']}**<br>{pair['why']}",
        f"![before](pictures/{pair['before']})",
        f"![after](pictures/{pair['after']})",
        marked,
        pair["person"],
        said + "".join(f", {word}" for word in describe(result)),
    )
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep-pictures", action="store_true", help="only compare the pairs again")
    keeps_pictures = parser.parse_args().keep_pictures
    pairs = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
    for folder in (MARKED,) if keeps_pictures else (MARKED, PICTURES):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    if not keeps_pictures:
        render_all(pairs)
    rows = list(zip(pairs, asyncio.run(compared(pairs)), strict=True))
    right = "".join(row(pair, result) for pair, result in rows if "wrong" not in pair)
    wrong = "".join(row(pair, result) for pair, result in rows if "wrong" in pair)
    text = f"{INTRODUCTION}\n{HEADING}{right}\n## What the engine gets wrong\n\n{HEADING}{wrong}"
    (HERE / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
