"""The pull requests of the corpus of groups: what each one edits, and how a person groups the shots that differ.

A place is `names/viewports/themes`, each separated by commas or `*` for all. A shot belongs to the first of the
person's groups that has its place.
"""

from dataclasses import dataclass
from itertools import product

from comparison.groups.site import NAMES, VIEWPORTS

THEMES = ("light", "dark")
Shot = tuple[str, str, str]
"""Its name, viewport and theme."""


@dataclass(frozen=True)
class Edit:
    """Something that differs after the pull request: a style, or another text in the first element that matches."""

    place: str
    css: str = ""
    selector: str = ""
    text: str = ""


@dataclass(frozen=True)
class PullRequest:
    """`groups` are the person's: a kind and a place. `shots` limits what is rendered, to keep the corpus small."""

    why: str
    shots: str
    edits: tuple[Edit, ...]
    groups: tuple[tuple[str, str], ...]


def contains(place: str, shot: Shot) -> bool:
    return all(
        part == "*" or each in part.split(",") for part, each in zip(place.split("/"), shot, strict=True)
    )


def shots_of(place: str) -> list[Shot]:
    return [shot for shot in product(NAMES, VIEWPORTS, THEMES) if contains(place, shot)]


def shown(selector: str, display: str = "block") -> str:
    return f"{selector} {{ display: {display} }}"


LABEL = Edit("*/*/*", selector="#sign", text="Log in")
DARK = ":root.dark { --ground: #15101c; --card: #221a2c; --line: #3b3048; --text: #efe6f3 }"
LIGHT = ":root { --ground: #fffdf7; --card: #f3efe4; --line: #ddd5c0 }"
ACCENT = ":root, :root.dark { --accent: #8250df }"

PULL_REQUESTS: dict[str, PullRequest] = {
    # One button, on many pages or on one
    "label-on-all-pages": PullRequest(
        "The header's button says something else on every page.",
        "home,pricing,docs,orders,about/*/light",
        (LABEL,),
        (("same_pixels", "*/*/*"),),
    ),
    "label-in-two-themes": PullRequest(
        "The same button in both themes is still one change.",
        "home,pricing,docs/desktop/*",
        (LABEL,),
        (("same_pixels", "*/*/*"),),
    ),
    "label-in-all-variants": PullRequest(
        "Two pages, three viewports, two themes: one change.",
        "docs,faq/*/*",
        (LABEL,),
        (("same_pixels", "*/*/*"),),
    ),
    "button-of-one-page": PullRequest(
        "A button of one page has the same pixels in all viewports.",
        "pricing/*/light",
        (Edit("*/*/*", selector="#buy", text="Buy now"),),
        (("single", "*/*/*"),),
    ),
    "button-of-one-page-in-two-themes": PullRequest(
        "A button of one page: one thing to look at, in six screenshots.",
        "pricing/*/*",
        (Edit("*/*/*", selector="#buy", text="Buy now"),),
        (("single", "*/*/*"),),
    ),
    "one-shot": PullRequest(
        "One page, one viewport.",
        "about/mobile/light",
        (Edit("*/*/*", selector="#first", text="Three people."),),
        (("single", "*/*/*"),),
    ),
    "label-and-typo": PullRequest(
        "Every page has the new label, and one page has another sentence.",
        "home,docs,settings,faq/mobile,desktop/light",
        (LABEL, Edit("faq/*/*", selector="#second", text="All that we made, and some more.")),
        (("single", "faq/*/*"), ("same_pixels", "*/*/*")),
    ),
    "two-buttons": PullRequest(
        "One button on some pages, another one on others.",
        "home,docs,settings,login/desktop,tablet/light",
        (
            Edit("home,docs/*/*", selector="#sign", text="Log in"),
            Edit("settings,login/*/*", "#save { border-radius: 0 }"),
        ),
        (("same_pixels", "home,docs/*/*"), ("same_pixels", "settings,login/*/*")),
    ),
    "same-price-at-two-places": PullRequest(
        "A price occurs on two pages, at different places.",
        "pricing,about/tablet,desktop/light",
        (Edit("*/*/*", selector="#cost", text="14 € a month"),),
        (("same_pixels", "*/*/*"),),
    ),
    "year": PullRequest(
        "The footer's year, at another height on every page.",
        "home,orders,faq,login/mobile,desktop/light",
        (Edit("*/*/*", selector="#year", text="2026 Lantern"),),
        (("same_pixels", "*/*/*"),),
    ),
    "menu-icon": PullRequest(
        "Only the phones' header has a menu icon.",
        "home,docs,about,faq/*/light",
        (Edit("*/*/*", ".menu { stroke-width: 4 }"),),
        (("same_pixels", "*/*/*"),),
    ),
    "logo-font": PullRequest(
        "The header's name has another font.",
        "home,docs,login/*/dark",
        (Edit("*/*/*", 'header b { font-family: "DejaVu Serif" }'),),
        (("same_pixels", "*/*/*"),),
    ),
    "badge-appears": PullRequest(
        "A new mark in the header, on every page.",
        "pricing,orders,about/tablet,desktop/*",
        (Edit("*/*/*", shown("#beta", "inline")),),
        (("same_pixels", "*/*/*"),),
    ),
    "button-disappears": PullRequest(
        "The header's button is gone.",
        "home,settings,faq/mobile,desktop/light",
        (Edit("*/*/*", "#sign { visibility: hidden }"),),
        (("same_pixels", "*/*/*"),),
    ),
    "button-and-menu": PullRequest(
        "Two changes that no shot has both of.",
        "home,docs,about/mobile,desktop/dark",
        (
            Edit("*/desktop/*", selector="#sign", text="Log in"),
            Edit("about/mobile/*", selector="#first", text="Three people."),
        ),
        (("single", "about/mobile/*"), ("same_pixels", "*/*/*")),
    ),
    "taller-button": PullRequest(
        "The header's button is taller, and the rest of each page is lower.",
        "home,docs,faq/mobile,desktop/light",
        (Edit("*/*/*", "#sign { padding: 8px 12px }"),),
        (("same_pixels", "*/*/*"),),
    ),
    "longer-word": PullRequest(
        "A longer word in the navigation moves its neighbors.",
        "docs,orders,login/tablet,desktop/light",
        (Edit("*/*/*", selector="nav span", text="Our store"),),
        (("same_pixels", "*/*/*"),),
    ),
    "label-and-year": PullRequest(
        "Two small changes on every page.",
        "pricing,settings,faq/tablet/*",
        (LABEL, Edit("*/*/*", selector="#year", text="2026 Lantern")),
        (("same_pixels", "*/*/*"),),
    ),
    "label-not-on-all-phones": PullRequest(
        "One page hides the button on phones.",
        "home,docs,faq/mobile,desktop/light",
        (
            Edit("*/desktop/*", selector="#sign", text="Log in"),
            Edit("home,docs/mobile/*", selector="#sign", text="Log in"),
        ),
        (("same_pixels", "*/*/*"),),
    ),
    "menu-and-navigation": PullRequest(
        "The menu icon on phones, and a word of the navigation in wide windows: two changes on the same pages.",
        "home,docs,faq/mobile,desktop/light",
        (Edit("*/*/*", ".menu { stroke-width: 4 }"), Edit("*/*/*", selector="nav span", text="Sale")),
        (("same_pixels", "*/mobile/*"), ("same_pixels", "*/desktop/*")),
    ),
    "rounder-fields": PullRequest(
        "Fields of different widths, and as many as a page has.",
        "settings,login/mobile,desktop/light",
        (Edit("*/*/*", ".field { border: 2px solid #0969da; padding: 2px 7px }"),),
        (("same_pixels", "*/*/*"),),
    ),
    # Text
    "four-texts": PullRequest(
        "Four pages with other sentences.",
        "home,docs,settings,about/mobile,desktop/light",
        (
            Edit("*/*/*", selector="h1", text="Hello"),
            Edit("docs/*/*", selector="h1", text="First steps"),
            Edit("settings/*/*", selector="h1", text="Preferences"),
            Edit("about/*/*", selector="h1", text="Who we are"),
        ),
        tuple(("single", f"{name}/*/*") for name in ("home", "docs", "settings", "about")),
    ),
    "other-font": PullRequest(
        "Every text has another font, and every page looks different.",
        "pricing,orders,about,login/mobile,desktop/light",
        (Edit("*/*/*", 'body { font-family: "DejaVu Serif" }'),),
        (("redrawn", "*/*/*"),),
    ),
    "larger-headings": PullRequest(
        "The headings have another size. Each page has its own.",
        "docs,orders,settings/desktop/*",
        (Edit("*/*/*", "h1 { font-size: 20px }"),),
        tuple(("single", f"{name}/*/*") for name in ("docs", "orders", "settings")),
    ),
    "icon-and-text": PullRequest(
        "Two pages share a change; a third has its own.",
        "settings,login,faq/desktop/*",
        (
            Edit("settings,login/*/*", "header b { text-decoration: underline }"),
            Edit("faq/*/*", selector="#first", text="No."),
        ),
        (("same_pixels", "settings,login/*/*"), ("single", "faq/*/*")),
    ),
    # Colors
    "dark-theme": PullRequest(
        "The dark theme has other colors.",
        "home,pricing,orders,settings,about,faq/mobile,desktop/dark",
        (Edit("*/*/*", DARK),),
        (("recolored", "*/*/*"),),
    ),
    "both-themes": PullRequest(
        "Each theme has other colors: two changes.",
        "home,orders,faq,login/desktop/*",
        (Edit("*/*/light", LIGHT), Edit("*/*/dark", DARK)),
        (("recolored", "*/*/light"), ("recolored", "*/*/dark")),
    ),
    "accent": PullRequest(
        "Links and buttons are violet, on each page at other places.",
        "home,pricing,docs,settings,faq/desktop/light",
        (Edit("*/*/*", ACCENT),),
        (("recolored", "*/*/*"),),
    ),
    "link-color": PullRequest(
        "The links are green.",
        "home,docs,about,faq/mobile,desktop/light",
        (Edit("*/*/*", "a { color: #1a7f37 }"),),
        (("recolored", "*/*/*"),),
    ),
    "text-color": PullRequest(
        "The text is blue.",
        "pricing,orders,settings,faq/desktop/light",
        (Edit("*/*/*", ":root { --text: #0a3069 }"),),
        (("recolored", "*/*/*"),),
    ),
    "card-color": PullRequest(
        "The cards are yellow, and have other sizes on every page.",
        "home,pricing,about/mobile,desktop/light",
        (Edit("*/*/*", ":root { --card: #fff1c2 }"),),
        (("recolored", "*/*/*"),),
    ),
    "line-color": PullRequest(
        "The lines are darker.",
        "orders,settings,login,about/tablet/light",
        (Edit("*/*/*", ":root { --line: #8c959f }"),),
        (("recolored", "*/*/*"),),
    ),
    "badge-color": PullRequest(
        "The badges are red. Their words differ.",
        "home,orders/tablet,desktop/*",
        (Edit("*/*/*", ".badge { background: #cf222e }"),),
        (("recolored", "*/*/*"),),
    ),
    "recolored-button": PullRequest(
        "One button of one page is green: not a theme.",
        "pricing/*/light",
        (Edit("*/*/*", "#buy { background: #1a7f37 }"),),
        (("single", "*/*/*"),),
    ),
    "recolored-button-in-two-themes": PullRequest(
        "One button of one page, two themes.",
        "pricing/mobile,desktop/*",
        (Edit("*/*/*", "#buy { background: #1a7f37 }"),),
        (("single", "*/*/*"),),
    ),
    "recolored-button-on-all-pages": PullRequest(
        "The header's button is green, on every page.",
        "docs,orders,about,faq/mobile,desktop/light",
        (Edit("*/*/*", "#sign { background: #1a7f37 }"),),
        (("same_pixels", "*/*/*"),),
    ),
    "recolored-hero": PullRequest(
        "A large area of one page has another color.",
        "home/*/light",
        (Edit("*/*/*", ".hero { background: #116329 }"),),
        (("single", "*/*/*"),),
    ),
    "dark-theme-of-one-page": PullRequest(
        "A website with one page: its theme is still a theme.",
        "login/*/dark",
        (Edit("*/*/*", DARK),),
        (("recolored", "*/*/*"),),
    ),
    "dark-theme-and-label": PullRequest(
        "The dark theme has other colors, and the header's button another label: nobody may miss the label.",
        "home,pricing,faq/mobile,desktop/*",
        (Edit("*/*/dark", DARK), LABEL),
        (("same_pixels", "*/*/*"),),
    ),
    "dark-theme-and-sentence": PullRequest(
        "A promise on one page changes with the theme, and a link is gone from another.",
        "home,docs,settings,faq/mobile,desktop/dark",
        (
            Edit("*/*/*", DARK),
            Edit("docs/*/*", selector="#second", text="Always leave it alone."),
            Edit("faq/*/*", "a { visibility: hidden }"),
        ),
        (("single", "docs/*/*"), ("single", "faq/*/*"), ("recolored", "*/*/*")),
    ),
    "from-light-to-dark": PullRequest(
        "The theme turns from light to dark. A button has another label, and a page has a notice.",
        "home,pricing,orders,settings,login/mobile,desktop/light",
        (
            Edit(
                "*/*/*",
                ":root { --ground: #0f1419; --card: #1a2129; --line: #303a44; --text: #e6edf3; --pale: #93a1af }",
            ),
            Edit("settings/*/*", selector="#save", text="Delete account"),
            Edit("orders/*/*", shown("#notice")),
        ),
        (("single", "settings/*/*"), ("single", "orders/*/*"), ("recolored", "*/*/*")),
    ),
    "two-recolorings": PullRequest(
        "Links on some pages, lines on others.",
        "home,docs,orders,login/desktop/light",
        (
            Edit("home,docs/*/*", "a { color: #bc4c00 }"),
            Edit("orders,login/*/*", ":root { --line: #8c959f }"),
        ),
        (("recolored", "home,docs/*/*"), ("recolored", "orders,login/*/*")),
    ),
    # Rows
    "notice": PullRequest(
        "A notice at the top of every page.",
        "home,docs,orders,login/*/light",
        (Edit("*/*/*", shown("#notice")),),
        (("inserted", "*/*/*"),),
    ),
    "notice-in-two-themes": PullRequest(
        "The same notice in both themes.",
        "pricing,faq/mobile,desktop/*",
        (Edit("*/*/*", shown("#notice")),),
        (("inserted", "*/*/*"),),
    ),
    "strip-that-wraps": PullRequest(
        "A long notice has more lines on phones.",
        "docs,settings,faq/*/light",
        (Edit("*/*/*", shown("#strip")),),
        (("inserted", "*/*/*"),),
    ),
    "strip-that-wraps-in-two-themes": PullRequest(
        "A long notice, whose color depends on the theme.",
        "docs,orders/*/*",
        (Edit("*/*/*", shown("#strip")),),
        (("inserted", "*/*/*"),),
    ),
    "centered-notice": PullRequest(
        "A notice in the middle of the page.",
        "docs,faq/*/light",
        (Edit("*/*/*", shown("#notice") + "#notice { text-align: center }"),),
        (("inserted", "*/*/*"),),
    ),
    "row": PullRequest(
        "One more row in a list of one page.",
        "orders/*/*",
        (Edit("*/*/*", shown("#row", "list-item")),),
        (("single", "*/*/*"),),
    ),
    "padding": PullRequest(
        "More room above the headings.",
        "docs,orders,login/mobile,desktop/light",
        (Edit("*/*/*", "h1 { margin-top: 12px }"),),
        (("moved", "*/*/*"),),
    ),
    "footer-shorter": PullRequest(
        "The footer's second line is gone.",
        "home,pricing,settings/*/light",
        (Edit("*/*/*", "#legal { display: none }"),),
        (("same_pixels", "*/*/*"),),
    ),
    "card-removed": PullRequest(
        "A card of one page is gone.",
        "about/*/light",
        (Edit("*/*/*", "#press { display: none }"),),
        (("single", "*/*/*"),),
    ),
    "notice-and-row": PullRequest(
        "A notice on some pages, a row on another.",
        "home,faq,orders/mobile,desktop/light",
        (Edit("home,faq/*/*", shown("#notice")), Edit("orders/*/*", shown("#row", "list-item"))),
        (("inserted", "home,faq/*/*"), ("single", "orders/*/*")),
    ),
    "notice-and-strip": PullRequest(
        "Two notices, on different pages.",
        "home,docs,settings,about/tablet/*",
        (Edit("home,docs/*/*", shown("#notice")), Edit("settings,about/*/*", shown("#strip"))),
        (("inserted", "home,docs/*/*"), ("inserted", "settings,about/*/*")),
    ),
    "notice-and-label": PullRequest(
        "Every page has the notice. One has another price.",
        "home,docs,pricing/desktop/light",
        (Edit("*/*/*", shown("#notice")), Edit("pricing/*/*", selector="#cost", text="14 € a month")),
        (("single", "pricing/*/*"), ("inserted", "*/*/*")),
    ),
    # Pages that come and go
    "new-and-removed": PullRequest(
        "Three new pages, and two that are gone.",
        "home/desktop/light",
        (),
        (
            ("new", "checkout/*/*"),
            ("new", "terms/mobile,desktop/light"),
            ("new", "jobs/desktop/*"),
            ("removed", "legacy/*/*"),
            ("removed", "news/desktop/light"),
        ),
    ),
    # Several kinds in one pull request
    "five-changes": PullRequest(
        "A button, a row, a theme, a page that is gone and a new one.",
        "home,pricing,docs,orders,about/mobile,desktop/*",
        (
            Edit("*/*/dark", DARK),
            Edit("pricing/*/*", selector="#buy", text="Buy now"),
            Edit("orders/*/*", shown("#row", "list-item")),
        ),
        (
            ("removed", "legacy/*/*"),
            ("single", "pricing/*/*"),
            ("single", "orders/*/*"),
            ("recolored", "*/*/dark"),
            ("new", "checkout/*/*"),
        ),
    ),
    "two-changes": PullRequest(
        "A button and a row, each on one page, in all variants.",
        "pricing,orders/*/*",
        (
            Edit("pricing/*/*", selector="#buy", text="Buy now"),
            Edit("orders/*/*", shown("#row", "list-item")),
        ),
        (("single", "pricing/*/*"), ("single", "orders/*/*")),
    ),
    "label-notice-and-new-page": PullRequest(
        "A label, a notice on one page, and a new page.",
        "home,docs,faq,login/mobile,desktop/light",
        (Edit("home,docs,faq/*/*", selector="#sign", text="Log in"), Edit("login/*/*", shown("#notice"))),
        (("same_pixels", "home,docs,faq/*/*"), ("single", "login/*/*"), ("new", "checkout/*/*")),
    ),
    "accent-and-text": PullRequest(
        "Links and buttons are violet. One page has another sentence.",
        "home,docs,pricing,settings/desktop/light",
        (
            Edit("*/*/*", ACCENT),
            Edit("settings/*/*", selector="#first", text="Everything about you, and how we reach you."),
        ),
        (("single", "settings/*/*"), ("recolored", "*/*/*")),
    ),
}
