"""Screenshots of web pages, rendered with Chromium: ten pages, each with many texts."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.run import BenchError

WIDTH, HEIGHT = 1280, 800
_PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
_OPTIONS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
_WORDS = """
    order lamp brass wick parcel address invoice stock shelf delivery refund customer total tax glass oil
    burner chimney repair Monday Friday evening north harbor window paper metal review rating open closed
    shipped waiting returned account profile language search filter export draft version branch release
"""

_STYLE, _PHOTO = (Path(__file__).with_name(name).read_text() for name in ("page.css", "page.js"))
_LAYOUTS = (
    "hero cards rows",
    "text form cards text",
    "rows code",
    "cards cards form text",
    "chart rows text",
    "text text code form",
    "form rows rows",
    "hero text chart cards",
    "code chart",
    "cards rows hero",
)


@dataclass(frozen=True, slots=True)
class Page:
    """One of ten layouts with one of many texts. `change` makes it a changed version of the same page."""

    number: int
    change: int = 0
    repeats: int = 1

    def html(self) -> str:
        texts = random.Random(self.number)
        kinds = _LAYOUTS[self.number % len(_LAYOUTS)].split() * self.repeats
        blocks = [_BLOCKS[kind](texts) for kind in kinds]
        if self.change:
            blocks.insert(1, f"<p>Note {self.change}: the shop is closed on Friday.</p>")
            blocks.append(f"<style>h1 {{ color: hsl({37 * self.change} 80% 40%) }}</style>")
        title = _words(texts, 3).title()
        menu = "".join(f"<span>{_words(texts, 1)}</span>" for _ in range(5))
        return (
            f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style>'
            f"<header><b>{title}</b>{menu}</header>"
            f"<main><h1>{_words(texts, 4).capitalize()}</h1>{''.join(blocks)}</main><script>{_PHOTO}</script>"
        )


class Camera:
    """A browser that takes screenshots."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    def shots(self, *pages: Page, width: int = WIDTH, height: int = HEIGHT, scale: float = 1) -> list[bytes]:
        """Return a PNG of each page."""
        tab = self._browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
        shots = []
        for page in pages:
            tab.set_content(page.html())
            shots.append(tab.screenshot())
        tab.close()
        return shots

    def pushes(self, shots: int, changed: int, rounds: int) -> tuple[list[bytes], list[list[bytes]]]:
        """Return a PNG of each page and, for each round, of changed versions of the first pages."""
        return self.shots(*map(Page, range(shots))), [
            self.shots(*(Page(number, change=turn) for number in range(changed)))
            for turn in range(1, rounds + 1)
        ]


@contextmanager
def camera() -> Iterator[Camera]:
    with chromium() as browser:
        yield Camera(browser)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium. Raises BenchError if it isn't installed."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise BenchError("Chromium is missing: install it with `apt-get install chromium-headless-shell`")
    # Playwright's bundled Node doesn't run on every machine.
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", shutil.which("node") or "")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_OPTIONS)
        yield browser
        browser.close()


def _words(texts: random.Random, count: int) -> str:
    return " ".join(texts.choices(_WORDS.split(), k=count))


def _hero(texts: random.Random) -> str:
    hue = texts.randrange(360)
    colors = f"hsl({hue} 60% 55%), hsl({hue + 70} 65% 70%) 60%, hsl({hue + 140} 60% 60%)"
    return f'<div class="hero" style="background: linear-gradient(100deg, {colors})">{_words(texts, 6)}</div>'


def _text(texts: random.Random) -> str:
    return "".join(f"<p>{_words(texts, 60).capitalize()}. <a>{_words(texts, 2)}</a></p>" for _ in range(3))


def _cards(texts: random.Random) -> str:
    cards = (
        f'<div class="card"><canvas width="280" height="96" data-seed="{texts.randrange(1, 10**6)}"></canvas>'
        f"<b>{_words(texts, 3)}</b><p>{_words(texts, 14)}</p><button>{_words(texts, 2)}</button></div>"
        for _ in range(4)
    )
    return f'<div class="cards">{"".join(cards)}</div>'


def _rows(texts: random.Random) -> str:
    rows = (
        f"<tr><td>#{texts.randrange(10**5)}<td>{_words(texts, 5)}<td>{_words(texts, 2)}"
        f'<td><i style="background: hsl({texts.randrange(360)} 70% 85%)">{_words(texts, 1)}</i>'
        f"<td>{texts.randrange(10**5) / 100:.2f} €</tr>"
        for _ in range(11)
    )
    return f"<table>{''.join(rows)}</table>"


def _code(texts: random.Random) -> str:
    lines = (f"{'  ' * texts.randrange(4)}{_words(texts, 4).replace(' ', '.')}()" for _ in range(16))
    return f"<pre>{chr(10).join(lines)}</pre>"


def _chart(texts: random.Random) -> str:
    lines = (
        f'<polyline fill="none" stroke="hsl({texts.randrange(360)} 70% 45%)" stroke-width="2" points="'
        + " ".join(f"{x},{texts.randrange(10, 190)}" for x in range(0, 1220, 20))
        + '"/>'
        for _ in range(3)
    )
    return f'<svg width="1220" height="200">{"".join(lines)}</svg>'


def _form(texts: random.Random) -> str:
    inputs = "".join(f'<input value="{_words(texts, 3)}">' for _ in range(2))
    return f"<form>{inputs}<button>{_words(texts, 2)}</button></form>"


_BLOCKS = {
    "hero": _hero,
    "text": _text,
    "cards": _cards,
    "rows": _rows,
    "code": _code,
    "chart": _chart,
    "form": _form,
}
