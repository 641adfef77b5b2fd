"""The pairs of the corpus: what is rendered, what a person says about it, and why."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from PIL import Image

from comparison.noise import nudge_antialiased_pixels, unused_colors_of_transparent_pixels
from comparison.pages import BADGE, COLUMNS, PHOTO, SECTIONS, SHOP, manual

Verdict = Literal["unchanged", "changed", "moved"]


@dataclass(frozen=True)
class Shot:
    """One picture: a page, what is done to it, and how it is encoded. `name` is the file's, if several cases use it."""

    page: str = SHOP
    css: str = ""
    script: str = ""
    size: tuple[int, int] = (640, 520)
    full_page: bool = False
    transparent: bool = False
    change: Callable[[Image.Image], Image.Image] | None = None
    kind: Literal["png", "jpg", "webp"] = "png"
    quality: int = 85
    name: str = ""


@dataclass(frozen=True)
class Case:
    name: str
    before: Shot
    after: Shot
    person: Verdict
    why: str
    wrong: str = ""
    """What the engine says, if we know that it is wrong."""


SHOWN = "{ display: block }"
shop = Shot(name="shop")
long_manual = Shot(page=manual(SECTIONS), size=(640, 400), full_page=True, name="manual")
badge = Shot(page=BADGE, size=(260, 190), transparent=True, name="badge")
photo = Shot(page=PHOTO, size=(320, 240), name="photo")
columns = Shot(page=COLUMNS, size=(480, 240), name="columns")


def restyled(css: str, script: str = "", of: Shot = shop) -> Shot:
    return replace(of, css=css, script=script, name="")


def retold(selector: str, text: str) -> Shot:
    return restyled("", f"document.querySelector('{selector}').textContent = '{text}'")


def encoded(shot: Shot, kind: Literal["png", "jpg", "webp"], quality: int) -> Shot:
    return replace(shot, kind=kind, quality=quality, name="")


CASES = [
    # Noise: nobody changed anything.
    Case(
        "antialiasing-noise",
        shop,
        replace(shop, change=nudge_antialiased_pixels, name=""),
        "unchanged",
        "Single pixels at the edges of letters and corners have another shade, as from another graphics driver.",
    ),
    Case(
        "subpixel-text-shift",
        shop,
        restyled("#text { transform: translateX(.3px) }"),
        "unchanged",
        "The text moved by 0.3 px. Every letter has other gray edges, and looks the same.",
    ),
    Case(
        "subpixel-heading-shift",
        shop,
        restyled("h1 { transform: translate(.25px, .25px) }"),
        "unchanged",
        "The heading moved by a quarter of a pixel.",
    ),
    Case(
        "cursor-blink",
        shop,
        restyled("#caret { visibility: visible }"),
        "unchanged",
        "The text cursor in the e-mail field blinks.",
    ),
    Case(
        "jpeg-again",
        encoded(shop, "jpg", 90),
        encoded(shop, "jpg", 80),
        "unchanged",
        "The same page, saved as JPEG at another quality.",
    ),
    Case(
        "png-to-jpeg",
        shop,
        encoded(shop, "jpg", 75),
        "unchanged",
        "The same page, first as PNG, then as JPEG.",
    ),
    Case(
        "webp-again",
        shop,
        encoded(shop, "webp", 80),
        "unchanged",
        "The same page, first as PNG, then as lossy WebP.",
    ),
    Case(
        "photo-again", photo, encoded(photo, "jpg", 80), "unchanged", "A photo, first as PNG, then as JPEG."
    ),
    Case(
        "photo-jpeg-again",
        encoded(photo, "jpg", 92),
        encoded(photo, "jpg", 70),
        "unchanged",
        "A photo, saved as JPEG at another quality.",
    ),
    Case(
        "rounded-corner-half-pixel",
        shop,
        restyled("#buy { border-radius: 6.4px }"),
        "unchanged",
        "The button's corners are rounder by 0.4 px; nobody sees it.",
    ),
    # Colors
    Case(
        "recolored-button",
        shop,
        restyled("#buy { background: #2472eb }"),
        "changed",
        "The button's blue is a little lighter (ΔE 2.3).",
    ),
    Case(
        "recolored-background",
        shop,
        restyled(".card { background: #f8f9fb }"),
        "changed",
        "The cards have a gray ground (ΔE 2.4).",
    ),
    Case(
        "dark-theme",
        shop,
        restyled("html { filter: invert(1) hue-rotate(180deg); background: #fff }"),
        "changed",
        "Another theme.",
    ),
    Case(
        "text-color",
        shop,
        restyled("#text { color: #3c3c3c }"),
        "changed",
        "The text is a little lighter: #3c3c3c instead of #222.",
    ),
    Case(
        "border-color",
        shop,
        restyled(".card { border-color: #bcc4cc }"),
        "changed",
        "The 1 px borders of the cards are a little darker.",
    ),
    Case(
        "shadow-removed",
        shop,
        restyled("#shadow { box-shadow: none }"),
        "changed",
        "The third card has no shadow.",
    ),
    Case(
        "gradient-changed",
        shop,
        restyled(".hero { background: linear-gradient(100deg, #7fb2f0, #f5c9e2 52%, #fbe6b0) }"),
        "changed",
        "The gradient's middle is further left.",
    ),
    # Shapes
    Case(
        "one-character",
        shop,
        retold("#price", "128.60"),
        "changed",
        "A price of 12 px text says 128.60 instead of 128.50.",
    ),
    Case("i-for-l", shop, retold("#day", "Mondiy"), "changed", "One letter of a word is another one."),
    Case(
        "icon-swapped",
        shop,
        restyled(
            "",
            'document.querySelector(\'#icon\').innerHTML = \'<circle cx="12" cy="12" r="9"/><path d="M8 12l3 3 5-6"/>\'',
        ),
        "changed",
        "A check mark instead of a clock.",
    ),
    Case(
        "line-moved",
        shop,
        restyled("header { padding-bottom: 13px } h1 { padding-top: 15px }"),
        "changed",
        "The line below the header is 1 px lower.",
    ),
    Case(
        "box-moved",
        shop,
        restyled("#buy { position: relative; left: 1px }"),
        "changed",
        "The button is 1 px further right.",
    ),
    Case(
        "underlined",
        shop,
        restyled("#imprint { text-decoration: underline }"),
        "changed",
        "A link is underlined.",
    ),
    Case("bold", shop, restyled("#account { font-weight: bold }"), "changed", "A word is bold."),
    Case("button-gone", shop, restyled("#buy { visibility: hidden }"), "changed", "The button is missing."),
    # Layout
    Case(
        "row-inserted",
        shop,
        restyled("#row " + SHOWN.replace("block", "list-item")),
        "moved",
        "One row more in the list; the rest is lower.",
    ),
    Case(
        "banner-inserted",
        shop,
        restyled("#banner " + SHOWN),
        "moved",
        "A banner at the top; the rest is lower.",
    ),
    Case(
        "padding-changed",
        shop,
        restyled("h1 { padding-top: 28px }"),
        "moved",
        "12 px more above the heading.",
    ),
    Case(
        "section-removed",
        long_manual,
        replace(long_manual, page=manual(SECTIONS[:2] + SECTIONS[3:]), name=""),
        "moved",
        "One section less on a long page; the rest is higher.",
    ),
    Case(
        "two-sections-inserted",
        replace(long_manual, page=manual(SECTIONS[:1] + SECTIONS[2:4] + SECTIONS[5:]), name="short-manual"),
        long_manual,
        "moved",
        "Two sections more, at two places.",
    ),
    Case(
        "banner-on-tall-page",
        long_manual,
        replace(long_manual, page=manual(SECTIONS, banner=True), name=""),
        "moved",
        "A banner at the top of a long page.",
    ),
    Case(
        "row-inserted-and-text-changed",
        shop,
        restyled(
            "#row { display: list-item }",
            "document.querySelector('#last').firstChild.textContent = 'Glass globe '",
        ),
        "changed",
        "One row more, and below it another text.",
    ),
    Case(
        "row-inserted-jpeg",
        encoded(shop, "jpg", 85),
        encoded(restyled("#banner " + SHOWN), "jpg", 85),
        "moved",
        "A banner at the top, both saved as JPEG.",
    ),
    Case(
        "section-replaced",
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
        "changed",
        "One section has another text; the page is as long as before.",
    ),
    Case(
        "two-columns",
        columns,
        restyled("#row " + SHOWN, of=columns),
        "changed",
        "One entry more in the right column; the left one is as before.",
    ),
    # Sizes
    Case(
        "taller-window",
        shop,
        replace(shop, size=(640, 560), name=""),
        "moved",
        "The same page in a window that is 40 px taller.",
    ),
    Case(
        "wider-window",
        shop,
        replace(shop, size=(660, 520), name=""),
        "changed",
        "The same page in a wider window.",
    ),
    # Transparency
    Case(
        "transparent-same",
        badge,
        replace(badge, change=unused_colors_of_transparent_pixels, name=""),
        "unchanged",
        "Pixels that are fully transparent have another hidden color.",
    ),
    Case(
        "transparent-to-white",
        badge,
        restyled("#cover { background: #fff }", of=badge),
        "changed",
        "A white box where the picture was transparent: visible on a dark page.",
    ),
    Case(
        "transparency-changed",
        badge,
        restyled(".ring { border-color: rgba(207, 34, 46, .45) }", of=badge),
        "changed",
        "The ring is more transparent.",
    ),
    Case(
        "text-moved",
        shop,
        restyled("#text { position: relative; left: 1px }"),
        "changed",
        "The text is one whole pixel further right.",
    ),
    Case(
        "recolored-button-jpeg",
        encoded(shop, "jpg", 85),
        encoded(restyled("#buy { background: #2a74e8 }"), "jpg", 85),
        "changed",
        "The button's blue is lighter (ΔE 5.5), both saved as JPEG.",
    ),
    Case(
        "vertical-gradient",
        restyled(".hero { background: linear-gradient(#7fb2f0, #f5c9e2 60%, #fbe6b0) }"),
        restyled(".hero { background: linear-gradient(#7fb2f0, #f5c9e2 50%, #fbe6b0) }"),
        "changed",
        "The middle of a gradient from top to bottom is higher. Its rows are the same ones, at other places.",
    ),
    Case(
        "hairline-gone",
        restyled("#account { border-left: 1px solid #57606a; padding-left: 8px }"),
        restyled("#account { border-left: 1px solid #fff; padding-left: 8px }"),
        "changed",
        "A short upright line between two links is missing. It looks like a text cursor.",
        wrong="unchanged",
    ),
    Case(
        "text-color-jpeg",
        encoded(shop, "jpg", 85),
        encoded(restyled("#text { color: #3c3c3c }"), "jpg", 85),
        "changed",
        "The text is a little lighter, both saved as JPEG.",
    ),
    Case(
        "tiny-letter",
        restyled("#text { font-size: 10px }", "document.querySelector('#price').textContent = 'Il'"),
        restyled("#text { font-size: 10px }", "document.querySelector('#price').textContent = 'lI'"),
        "changed",
        "Two letters that look almost alike changed places, in 10 px text.",
        wrong="unchanged",
    ),
    Case(
        "faint-recolor",
        shop,
        restyled("#buy { background: #2070eb }"),
        "changed",
        "The button's blue differs by a ΔE of 0.8. Most people don't see it, but a color picker does.",
        wrong="unchanged",
    ),
    Case(
        "half-pixel-image",
        photo,
        restyled("canvas { transform: translate(.5px, .5px) }", of=photo),
        "unchanged",
        "A photo moved by half a pixel.",
        wrong="changed",
    ),
    Case(
        "column-moved",
        columns,
        restyled("main { padding-top: 28px }", of=columns),
        "moved",
        "One of two columns is 12 px lower. Only whole rows are aligned.",
        wrong="changed",
    ),
    Case(
        "rounder-corners",
        shop,
        restyled("#buy { border-radius: 8px }"),
        "changed",
        "The button's corners have a radius of 8 px instead of 6 px.",
        wrong="unchanged",
    ),
    Case(
        "rows-swapped",
        shop,
        restyled("ul { display: flex; flex-direction: column } li:first-child { order: 1 }"),
        "changed",
        "The first row of the list is the last one now.",
        wrong="moved",
    ),
]
