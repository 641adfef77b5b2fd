"""How the pairs of the corpus are rendered."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from PIL import Image

from comparison.pages import (
    BADGE,
    CARDS,
    COLUMNS,
    ORDERS,
    PHOTO,
    SECTIONS,
    SHOP,
    WIDGETS,
    field,
    manual,
    table,
)


@dataclass(frozen=True)
class Shot:
    """One picture: a page, what is done to it, and how it is encoded. `name` is the file's, if several cases use it."""

    page: str = SHOP
    css: str = ""
    script: str = ""
    size: tuple[int, int] = (640, 520)
    full_page: bool = False
    scale: int = 1
    transparent: bool = False
    change: Callable[[Image.Image], Image.Image] | None = None
    kind: Literal["png", "jpg", "webp"] = "png"
    quality: int = 85
    name: str = ""


SHOWN = "{ display: block }"
shop = Shot(name="shop")
long_manual = Shot(page=manual(SECTIONS), size=(640, 400), full_page=True, name="manual")
badge = Shot(page=BADGE, size=(260, 190), transparent=True, name="badge")
photo = Shot(page=PHOTO, size=(320, 240), name="photo")
widgets = Shot(page=WIDGETS, size=(320, 230), name="widgets")
cards = Shot(page=CARDS, size=(360, 240), name="cards")
orders = Shot(page=ORDERS, size=(320, 560), name="orders")
large_orders = Shot(
    page=ORDERS, css="h3 { padding-top: 52px }", size=(320, 380), scale=2, name="large-orders"
)
columns = Shot(page=COLUMNS, size=(480, 240), name="columns")


def restyled(css: str, script: str = "", of: Shot = shop) -> Shot:
    return replace(of, css=css, script=script, name="")


def retold(selector: str, text: str, of: Shot = shop) -> Shot:
    return restyled("", f"document.querySelector('{selector}').textContent = '{text}'", of=of)


def encoded(shot: Shot, kind: Literal["png", "jpg", "webp"], quality: int) -> Shot:
    return replace(shot, kind=kind, quality=quality, name="")


def blinking(
    style: str = "", *, size: int = 14, width: int = 240, height: int = 50, scale: int = 1
) -> tuple[Shot, Shot]:
    """Return a field without and with its text cursor, in the middle of a word."""
    script = "document.querySelector('input').setSelectionRange(4, 4)"
    hidden = Shot(page=field(style, size=size), script=script, size=(width, height), scale=scale)
    return hidden, replace(hidden, css="input { caret-color: auto }")


SIDEBAR = "Array.from(['Overview', 'Orders', 'Customers', 'Reports', 'Settings']).join('<br>')"


def beside(side: str, css: str = "") -> Shot:
    """Return cards beside a sidebar."""
    return restyled(css, f"document.querySelector('#{side}').innerHTML = {SIDEBAR}", of=cards)


def nudge_antialiased_pixels(picture: Image.Image) -> Image.Image:
    """Change the shade of single pixels between a dark and a bright one, as another driver's rounding does."""
    nudged = picture.copy()
    width, height = picture.size
    chosen = random.Random(13)
    gray = picture.convert("L")
    for _ in range(4000):
        x, y = chosen.randrange(1, width - 1), chosen.randrange(1, height - 1)
        left, middle, right = (gray.getpixel((x + step, y)) for step in (-1, 0, 1))
        if min(left, right) + 40 < middle < max(left, right) - 40:  # type: ignore[operator]
            nudged.putpixel(
                (x, y), tuple(level + chosen.choice([-25, 25]) for level in picture.getpixel((x, y)))
            )  # type: ignore[union-attr]
    return nudged


def unused_colors_of_transparent_pixels(picture: Image.Image) -> Image.Image:
    """Give fully transparent pixels another color, which no viewer shows."""
    assert picture.mode == "RGBA"
    alpha = picture.getchannel("A")
    hidden = Image.new("RGBA", picture.size, (90, 200, 30, 0))
    hidden.paste(picture, mask=alpha.point(lambda level: 255 * (level > 0)))
    hidden.putalpha(alpha)
    return hidden


PAIRS: dict[str, tuple[Shot, Shot]] = {
    # Noise: nobody changed anything.
    "antialiasing-noise": (shop, replace(shop, change=nudge_antialiased_pixels, name="")),
    "subpixel-text-shift": (shop, restyled("#text { transform: translateX(.3px) }")),
    "subpixel-heading-shift": (shop, restyled("h1 { transform: translate(.25px, .25px) }")),
    "cursor-blink": (shop, restyled("#caret { visibility: visible }")),
    "jpeg-again": (encoded(shop, "jpg", 90), encoded(shop, "jpg", 80)),
    "png-to-jpeg": (shop, encoded(shop, "jpg", 75)),
    "webp-again": (shop, encoded(shop, "webp", 80)),
    "photo-again": (photo, encoded(photo, "jpg", 80)),
    "photo-jpeg-again": (encoded(photo, "jpg", 92), encoded(photo, "jpg", 70)),
    "rounded-corner-half-pixel": (shop, restyled("#buy { border-radius: 6.4px }")),
    # Colors
    "recolored-button": (shop, restyled("#buy { background: #2472eb }")),
    "recolored-background": (shop, restyled(".card { background: #f8f9fb }")),
    "dark-theme": (shop, restyled("html { filter: invert(1) hue-rotate(180deg); background: #fff }")),
    "text-color": (shop, restyled("#text { color: #3c3c3c }")),
    "border-color": (shop, restyled(".card { border-color: #bcc4cc }")),
    "shadow-removed": (shop, restyled("#shadow { box-shadow: none }")),
    "gradient-changed": (
        shop,
        restyled(".hero { background: linear-gradient(100deg, #7fb2f0, #f5c9e2 52%, #fbe6b0) }"),
    ),
    # Shapes
    "one-character": (shop, retold("#price", "128.60")),
    "i-for-l": (shop, retold("#day", "Mondiy")),
    "icon-swapped": (
        shop,
        restyled(
            "",
            'document.querySelector(\'#icon\').innerHTML = \'<circle cx="12" cy="12" r="9"/><path d="M8 12l3 3 5-6"/>\'',
        ),
    ),
    "line-moved": (shop, restyled("header { padding-bottom: 13px } h1 { padding-top: 15px }")),
    "box-moved": (shop, restyled("#buy { position: relative; left: 1px }")),
    "underlined": (shop, restyled("#imprint { text-decoration: underline }")),
    "bold": (shop, restyled("#account { font-weight: bold }")),
    "button-gone": (shop, restyled("#buy { visibility: hidden }")),
    # Layout
    "row-inserted": (shop, restyled("#row " + SHOWN.replace("block", "list-item"))),
    "banner-inserted": (shop, restyled("#banner " + SHOWN)),
    "padding-changed": (shop, restyled("h1 { padding-top: 28px }")),
    "section-removed": (long_manual, replace(long_manual, page=manual(SECTIONS[:2] + SECTIONS[3:]), name="")),
    "two-sections-inserted": (
        replace(long_manual, page=manual(SECTIONS[:1] + SECTIONS[2:4] + SECTIONS[5:]), name="short-manual"),
        long_manual,
    ),
    "banner-on-tall-page": (long_manual, replace(long_manual, page=manual(SECTIONS, banner=True), name="")),
    "row-inserted-and-text-changed": (
        shop,
        restyled(
            "#row { display: list-item }",
            "document.querySelector('#last').firstChild.textContent = 'Glass globe '",
        ),
    ),
    "row-inserted-jpeg": (encoded(shop, "jpg", 85), encoded(restyled("#banner " + SHOWN), "jpg", 85)),
    "section-replaced": (
        long_manual,
        replace(
            long_manual,
            page=manual(
                [
                    *SECTIONS[:2],
                    ("Polishing", "Rub the brass with a soft cloth and a drop of oil, once a month."),
                    *SECTIONS[3:],
                ]
            ),
            name="",
        ),
    ),
    "two-columns": (columns, restyled("#row " + SHOWN, of=columns)),
    # Sizes
    "taller-window": (shop, replace(shop, size=(640, 560), name="")),
    "wider-window": (shop, replace(shop, size=(660, 520), name="")),
    # Transparency
    "transparent-same": (badge, replace(badge, change=unused_colors_of_transparent_pixels, name="")),
    "transparent-to-white": (badge, restyled("#cover { background: #fff }", of=badge)),
    "transparency-changed": (badge, restyled(".ring { border-color: rgba(207, 34, 46, .45) }", of=badge)),
    "text-moved": (shop, restyled("#text { position: relative; left: 1px }")),
    "recolored-button-jpeg": (
        encoded(shop, "jpg", 85),
        encoded(restyled("#buy { background: #2a74e8 }"), "jpg", 85),
    ),
    "vertical-gradient": (
        restyled(".hero { background: linear-gradient(#7fb2f0, #f5c9e2 60%, #fbe6b0) }"),
        restyled(".hero { background: linear-gradient(#7fb2f0, #f5c9e2 50%, #fbe6b0) }"),
    ),
    "hairline-gone": (
        restyled("#account { border-left: 1px solid #57606a; padding-left: 8px }"),
        restyled("#account { border-left: 1px solid #fff; padding-left: 8px }"),
    ),
    "text-color-jpeg": (encoded(shop, "jpg", 85), encoded(restyled("#text { color: #3c3c3c }"), "jpg", 85)),
    "tiny-letter": (
        restyled("#text { font-size: 10px }", "document.querySelector('#price').textContent = 'Il'"),
        restyled("#text { font-size: 10px }", "document.querySelector('#price').textContent = 'lI'"),
    ),
    "faint-recolor": (shop, restyled("#buy { background: #2070eb }")),
    "half-pixel-image": (photo, restyled("canvas { transform: translate(.5px, .5px) }", of=photo)),
    "column-moved": (columns, restyled("main { padding-top: 28px }", of=columns)),
    "rounder-corners": (shop, restyled("#buy { border-radius: 8px }")),
    "rows-swapped": (
        shop,
        restyled("ul { display: flex; flex-direction: column } li:first-child { order: 1 }"),
    ),
    # Text cursors, and what looks like one
    "cursor-in-word": blinking(),
    "cursor-on-gradient": blinking("background: linear-gradient(90deg, #fff, #9cd0ff)", size=17),
    "cursor-on-dark": blinking("background: linear-gradient(#30363d, #0d1117); color: #e6edf3", size=12),
    "cursor-at-triple-density": blinking(size=13, scale=3),
    "cursor-in-large-text": blinking(size=44, width=360, height=80),
    "letter-added": (widgets, retold("#word", "Cancel", of=widgets)),
    "numeral-added": (widgets, retold("#level", "Level I", of=widgets)),
    "progress-by-a-pixel": (widgets, restyled("#bar { width: 71px }", of=widgets)),
    "column-by-a-pixel": (widgets, restyled("#column { width: 7px; margin-right: -1px }", of=widgets)),
    "tag-by-two-pixels": (widgets, restyled("#tag { width: 92px }", of=widgets)),
    "task-by-two-pixels": (widgets, restyled("#task { left: 38px; width: 122px }", of=widgets)),
    "divider-gone": (widgets, restyled("#line { visibility: hidden }", of=widgets)),
    "divider-by-a-pixel": (widgets, restyled("#line { position: relative; left: 1px }", of=widgets)),
    "cell-border-gone": (widgets, restyled("#cell { border-left-color: #fff }", of=widgets)),
    # Small shapes
    "circle-grows": (widgets, restyled("#dot { width: 25px; height: 25px }", of=widgets)),
    "pale-corners": (widgets, restyled("#card { border-radius: 10px }", of=widgets)),
    # Rows that move
    "striped-row-inserted": (
        Shot(page=table(inserted=False), size=(320, 230)),
        Shot(page=table(inserted=True), size=(320, 230)),
    ),
    "card-inserted": (cards, restyled("#card " + SHOWN, of=cards)),
    "error-inserted": (cards, restyled("#error " + SHOWN, of=cards)),
    "card-inserted-beside-sidebar": (beside("left"), beside("left", "#card " + SHOWN)),
    "error-inserted-beside-sidebar": (beside("right"), beside("right", "#error " + SHOWN)),
    "card-text-beside-sidebar": (beside("left"), beside("left", "main { font-style: italic }")),
    # Chromium draws the corners of the same card differently at different heights of the page.
    "card-inserted-at-half-pixel": (orders, restyled("#order " + SHOWN, of=orders)),
    "card-inserted-at-double-density": (
        large_orders,
        restyled(large_orders.css + "#order " + SHOWN, of=large_orders),
    ),
    "card-inserted-above-new-line": (
        orders,
        restyled("#order " + SHOWN + "#next { box-shadow: inset 0 3px #d33 }", of=orders),
    ),
}
"""What each pair of the corpus shows before and after. `corpus.json` has the verdicts."""
