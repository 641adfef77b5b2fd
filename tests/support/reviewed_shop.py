"""A shop before and after two pull requests, as screenshots that a job would take. Chromium renders them.

`REDESIGN` is what a busy pull request does: it changes one button, inserts a row, recolors the dark theme, removes a page
and adds one. That makes 45 changes in five groups. `WORDING` changes a button on three pages and inserts a row: 12 changes
in two groups. `NOTICE` inserts a banner on twelve pages beside a sidebar.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import httpx
from playwright.sync_api import Browser

from support.drawn_pages import sha
from support.service import upload
from support.waiting import wait_for

VIEWPORTS = ("375x667", "768x600", "1280x720")
Shots = dict[tuple[str, str, str], bytes]
"""Screenshots by name, viewport and theme."""

_FRAME = """<!doctype html><meta charset="utf-8"><style>
* { box-sizing: border-box; margin: 0 }
body { --ink: #1d2733; --paper: #fbfaf8; --card: #fff; --line: #e4e0d8; --soft: #6b7280; font: 15px/22px "DejaVu Sans";
  color: var(--ink); background: var(--paper) }
body.dark { --ink: #e6edf3; --paper: #0f1419; --card: #1a222c; --line: #2b3642; --soft: #93a1b0 }
body.dark.plum { --paper: #15101c; --card: #241b30; --line: #3a2d4c }
header { display: flex; gap: 24px; padding: 18px 28px; border-bottom: 1px solid var(--line) }
header b { flex: 1; font-size: 19px } main { padding: 24px 28px; max-width: 1000px; margin: auto }
h1 { font-size: 25px; line-height: 34px; margin-bottom: 18px } p { margin-bottom: 16px } small { color: var(--soft); display: block }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 16px; margin-bottom: 20px }
.card, .row { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 18px }
.row { display: flex; gap: 16px; margin-bottom: 10px } .row span { flex: 1 }
.pic { height: 90px; border-radius: 8px; margin-bottom: 10px }
i { display: inline-block; padding: 11px 22px; border-radius: 9px; color: #fff; background: #b4552d; font: 15px/20px "DejaVu Sans" }
nav { position: fixed; inset: 68px auto 0 0; width: 200px; padding: 24px 28px; border-right: 1px solid var(--line) } nav p { margin-bottom: 9px }
.beside main { margin-left: 200px } .notice { padding: 18px 22px; border-radius: 10px; background: #fdf0d5; color: #5b4312; margin-bottom: 20px }
@media (max-width: 500px) { header span, nav { display: none } main, header { padding: 18px } .beside main { margin-left: 0 } }
</style><header><b>Granary</b><span>Shop</span><span>Farms</span><span>Cart</span></header><main></main>"""
_GOODS = (
    ("Olive oil", "#c9d8c5"),
    ("Sourdough", "#e5c9a8"),
    ("Lavender honey", "#cdb7d6"),
    ("Sea salt", "#b9cfe0"),
)


def _cards(prices: Sequence[str]) -> str:
    return (
        '<div class="cards">'
        + "".join(
            f'<div class="card"><div class="pic" style="background: {color}"></div>{name}<small>{price}</small></div>'
            for (name, color), price in zip(_GOODS, prices, strict=False)
        )
        + "</div>"
    )


def _rows(*rows: str) -> str:
    return "".join('<div class="row"><span>{}</span>{}</div>'.format(*row.split(" | ")) for row in rows)


@dataclass(frozen=True, slots=True)
class Edition:
    """The shop at one commit."""

    commit: str
    pages: Sequence[str]
    trial: str = "Start free trial"
    trial_on: Sequence[str] = ("pricing",)
    orders: Sequence[str] = ("No. 1041 | 3 pieces", "No. 1038 | 12 pieces", "No. 1029 | 1 piece")
    dark: str = "dark"
    themes: Sequence[str] = ("light", "dark")
    notice: str = ""
    has_sidebar: bool = False

    def look(self, theme: str) -> str:
        return f"{self.dark if theme == 'dark' else ''}{' beside' if self.has_sidebar else ''}"

    def body(self, name: str) -> str:
        around = ""
        if self.has_sidebar:
            around += (
                "<nav>"
                + "".join(f"<p>{page.rpartition('/')[2].capitalize()}</p>" for page in _BODIES)
                + "</nav>"
            )
        if self.notice:
            around += f'<div class="notice">{self.notice}</div>'
        button = f"<p><i>{self.trial}</i></p>" if name in self.trial_on else ""
        return around + (
            f"<h1>{name.rpartition('/')[2].capitalize().replace('-', ' ')}</h1>{_BODIES.get(name, _BODIES['help'])(self)}{button}"
        )


_BODIES: dict[str, Callable[[Edition], str]] = {
    "account": lambda _: _rows("Name | Ada Lovelace", "Street | 12 Grange Road", "City | London"),
    "checkout/cart": lambda _: _rows("Olive oil | 12.50 €", "Sourdough | 6.00 €", "Total | 18.50 €") + "<i>Check out</i>",
    "checkout/delivery": lambda _: "<p>By bicycle, within two days.</p>" + _rows("Morning | 8 to 12", "Evening | 17 to 20"),
    "coupons": lambda _: "<p>Codes from our newsletter.</p>" + _rows("SPRING | 10 % off", "HARVEST | 5 € off"),
    "farms": lambda _: "<p>Eleven farms within 40 km.</p>" + _cards(["Hill farm", "Mill farm", "Lake farm"]),
    "gift-cards": lambda _: "<p>Send a basket to a friend.</p>" + _cards(["20 €", "40 €", "60 €"]) + "<i>Choose a card</i>",
    "help": lambda _: "<p>We answer within a day.</p>" + _rows("Delivery | 4 answers", "Returns | 2 answers"),
    "home": lambda _: "<p>From small farms, by bicycle.</p>" + _cards(["12.50 €", "6.00 €", "9.00 €", "4.50 €"]),
    "orders": lambda shop: _rows(*shop.orders),
    "pricing": lambda _: "<p>Delivery is free from 40 €.</p>" + _rows("Basket | 0 €", "Pantry | 9 € a month"),
    "shop": lambda _: _cards(["12.50 €", "6.00 €", "9.00 €", "4.50 €"]),
}  # fmt: skip
_AT_FIRST = tuple(name for name in _BODIES if name != "gift-cards")
_MORE_ORDERS = ("No. 1041 | 3 pieces", "No. 1040 | Cancelled", "No. 1038 | 12 pieces", "No. 1029 | 1 piece")


@dataclass(frozen=True, slots=True)
class PullRequest:
    number: int
    base: Edition
    head: Edition


REDESIGN = PullRequest(
    482,
    Edition("before the redesign", _AT_FIRST),
    Edition(
        "redesign",
        tuple(name for name in _BODIES if name != "coupons"),
        trial="Start now",
        orders=_MORE_ORDERS,
        dark="dark plum",
    ),
)
_OFFERED = ("checkout/delivery", "help", "pricing")
_FEW = (*_OFFERED, "orders", "home")
WORDING = PullRequest(
    483,
    Edition("before the wording", _FEW, trial_on=_OFFERED, themes=("light",)),
    Edition("wording", _FEW, trial="Start now", trial_on=_OFFERED, orders=_MORE_ORDERS, themes=("light",)),
)
_ALL = (*_BODIES, "privacy")
NOTICE = PullRequest(
    484,
    Edition("before the notice", _ALL, themes=("light",), has_sidebar=True),
    Edition("notice", _ALL, themes=("light",), has_sidebar=True, notice="Your trial ends in 9 days. <b>Choose a plan</b> to keep your data."),
)  # fmt: skip


def take_shots(browser: Browser, *editions: Edition) -> Iterator[Shots]:
    """Take a screenshot of each page, in each viewport and theme. Pages that don't differ are rendered once."""
    pages = {}
    for viewport in VIEWPORTS:
        width, height = map(int, viewport.split("x"))
        pages[viewport] = browser.new_page(viewport={"width": width, "height": height})
        pages[viewport].set_content(_FRAME)

    @cache
    def take(viewport: str, look: str, body: str) -> bytes:
        pages[viewport].evaluate(
            "([look, body]) => {document.body.className = look; document.querySelector('main').innerHTML = body}",
            [look, body],
        )
        return pages[viewport].screenshot()

    for edition in editions:
        shots = product(edition.pages, VIEWPORTS, edition.themes)
        yield {shot: take(shot[1], edition.look(shot[2]), edition.body(shot[0])) for shot in shots}
    for page in pages.values():
        page.close()


def review(ci: httpx.Client, browser: Browser, pull: PullRequest) -> dict[str, Any]:
    """Upload the base as baselines and the head to the pull request, and return their comparison."""
    base, head = sha(pull.base.commit), sha(pull.head.commit)
    before, after = take_shots(browser, pull.base, pull.head)
    branch = {"branch": "main", "commit_sha": base}
    for shot, image in before.items():
        upload(ci, image, path="/v1/baseline", **_fields(shot), **branch).raise_for_status()
    ci.post("/v1/baseline/complete", json=branch).raise_for_status()
    for shot, image in after.items():
        fields = {"pr_number": pull.number, "commit_sha": head, **_fields(shot)}
        upload(ci, image, **fields).raise_for_status()
    body = {
        "pr_number": pull.number,
        "commit_sha": head,
        "branch": "main",
        "commits": [base],
        "complete": True,
    }
    # The reply comes before the end if the machine is busy.
    reply = wait_for(
        lambda: ci.post("/v1/compare", json=body, timeout=60), lambda reply: reply.status_code != 202
    )
    return dict(reply.raise_for_status().json())


def _fields(shot: tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(("name", "viewport", "theme"), shot, strict=True))
