"""Named edits of a page: JavaScript that returns false where a page has nothing to edit.

`prepare` runs before the first screenshot. `group` is the kind of its group in a pull request.
"""

import random
from dataclasses import dataclass

from comparison.layouts.apps import ICONS, icon, picture


@dataclass(frozen=True)
class Edit:
    change: str
    group: str = "same_pixels"
    prepare: str = ""


def recolor(tokens: str) -> str:
    return f'page.style(":root{{{tokens}}}")'


INSERT_BANNER = """const banner = page.make('<div class="banner">Your trial ends in 9 days. <b>Choose a plan</b> to keep your data.</div>');
const column = document.querySelector(".board, .paired") ? document.querySelector(".app") : document.querySelector(".main");
if (document.querySelector(".board, .paired, .chat")) column.children[0].after(banner); else column.prepend(banner);
"""
ITEMS = """const lists = [...document.querySelectorAll(".items")].filter((list) => page.seen(".item").some((item) => list.contains(item)));
const list = lists.sort((a, b) => b.children.length - a.children.length)[0];
const items = list ? page.seen(".item").filter((item) => item.parentElement === list) : [];
if (items.length < 3) return false;
const middle = items[Math.floor(items.length / 2)];
"""
LAST = "if (list.lastElementChild !== items.at(-1)) return false;"
BUTTONS = """const buttons = page.seen(".main .btn, .head .btn, .top .btn"); if (!buttons.length) return false;
"""
WORDS = """const paragraphs = page.seen("p").filter((node) => node.textContent.split(" ").length > 5);
if (!paragraphs.length) return false;
const node = page.textsOf(paragraphs[Math.floor(paragraphs.length / 2)])[0];
"""
TYPO = """const words = node.data.split(" ");
const place = words.findIndex((word, i) => i > 1 && /^[a-z]{5,}$/.test(word) && word[2] !== word[3]);
if (place < 0) return false;
words[place] = words[place].replace(/^(..)(.)(.)/, "$1$3$2"); node.data = words.join(" ");
"""
SECTIONS = """const sections = page.seen("section").filter((one) => one.nextElementSibling?.matches("section"));
if (!sections.length) return false;
"""
PRICES = """const prices = page.seen(".price"); if (!prices.length) return false;
const price = page.textsOf(prices[Math.floor(prices.length / 2)])[0];
"""
RAISE = """price.data = price.data.replace(/\\d(?=\\D*$)/, (digit) => (Number(digit) + 5) % 10);
"""
OPEN_DIALOG = """document.body.append(page.make('<div class="veil"><div class="dialog"><h2>Leave this page?</h2>'
  + '<p>You have changes that nobody has saved yet.</p><div class="actions"><a class="btn primary">Stay</a><a class="btn">Leave</a></div></div></div>'));
"""
WIDEN = """const side = document.querySelector(".side"); if (!side?.offsetWidth) return false;
page.style(`:root{--side-w:${side.offsetWidth + MORE}px}`);
"""
NAV = """const links = page.seen(".link, .tab"); if (links.length < 3) return false;
const link = links[1];
"""
NEW_ICON = ICONS["flag"].format("#8e4ec6")
LANDSCAPE = picture(random.Random("another landscape"), 100, 80)

EDITS = {
    "banner": Edit(INSERT_BANNER, "inserted"),
    "item-first": Edit(ITEMS + "list.prepend(page.another(items[0], 1));", "inserted"),
    "item-middle": Edit(ITEMS + "middle.before(page.another(items[0], 2));", "inserted"),
    "item-last": Edit(ITEMS + LAST + "items.at(-1).after(page.another(middle, 3));", "inserted"),
    "item-twin": Edit(
        ITEMS + "if (items.length < 4) return false; items.at(-1).before(items[0].cloneNode(true));",
        "inserted",
    ),
    "item-gone-first": Edit(ITEMS + "items[0].remove();", "inserted"),
    "item-gone-middle": Edit(ITEMS + "middle.remove();", "inserted"),
    "item-gone-last": Edit(ITEMS + LAST + "items.at(-1).remove();", "inserted"),
    "section-new": Edit(
        SECTIONS
        + """const copy = page.make('<section class="card"><h2>What is new</h2><p>Reports open faster, and filters remember your choice.</p></section>');
sections[0].after(copy);""",
        "inserted",
    ),
    "sidebar-1": Edit(WIDEN.replace("MORE", "1"), "moved"),
    "sidebar-24": Edit(WIDEN.replace("MORE", "24"), "moved"),
    "font": Edit(
        """const serif = getComputedStyle(document.body).fontFamily.includes("Serif");
page.style(`:root{--font:"${serif ? "DejaVu Sans" : "DejaVu Serif"}"}`);""",
        "redrawn",
    ),
    "font-size": Edit(
        "page.style(`:root{--size:${parseFloat(getComputedStyle(document.body).fontSize) + 1}px}`);",
        "redrawn",
    ),
    "language": Edit(
        """const words = "Rechnung Kunde offen bezahlt Monat Bericht senden neue Woche Preis wird heute gesucht Lieferung zwischen Antrag jede Stunde".split(" ");
for (const node of page.textsOf(document.body)) if (!node.parentElement.matches(".avatar")) node.data = node.data.replace(/[A-Za-z]{2,}/g, (word) => {
  const other = words[[...word].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % words.length];
  return /^[A-Z]/.test(word) ? other[0].toUpperCase() + other.slice(1) : other;
});""",
        "redrawn",
    ),
    "button-new": Edit(
        BUTTONS + """buttons[0].after(page.make('<a class="btn">Duplicate</a>'));""", "inserted"
    ),
    "button-label": Edit(BUTTONS + 'page.say(buttons.at(-1), "Delete account");'),
    "button-moved": Edit(
        BUTTONS
        + "const row = buttons.at(-1).parentElement; if (row.children.length < 2) return false; row.append(row.firstElementChild);",
        "moved",
    ),
    "button-elsewhere": Edit(
        BUTTONS
        + 'const aim = page.seen("h2, h3").find((one) => !one.closest(".side, .card, .dialog")); if (!aim) return false; aim.before(buttons.at(-1));',
        "moved",
    ),
    "button-shape": Edit(
        "if (!page.seen('.btn').length) return false; page.style('.btn.btn{border-radius:14px;padding:7px 16px}');"
    ),
    "badge": Edit(
        """const badges = page.seen(".badge").filter((one) => /^\\d+%?$/.test(one.textContent)); if (!badges.length) return false;
page.say(badges[0], badges[0].textContent.replace(/\\d/, (digit) => Number(digit) % 8 + 2));"""
    ),
    "price": Edit(PRICES.replace("Math.floor(prices.length / 2)", "0") + RAISE),
    "word": Edit(
        WORDS + 'const words = node.data.split(" "); words[4] = "quickly"; node.data = words.join(" ");'
    ),
    "typo": Edit(WORDS + TYPO),
    "icon": Edit(
        """const icons = page.seen(".main .icon, .side .icon, .top .icon"); const old = icons[Math.floor(icons.length / 2)];
const other = icons.find((one) => one.innerHTML !== old?.innerHTML); if (!other) return false; old.innerHTML = other.innerHTML;"""
    ),
    "picture": Edit(
        """const pictures = page.seen(".pic"); if (!pictures.length) return false;
pictures[0].innerHTML = page.make(`LANDSCAPE`).innerHTML;""".replace("LANDSCAPE", LANDSCAPE)
    ),
    "chart": Edit(
        """const charts = page.seen(".chart"); if (!charts.length) return false;
for (const bar of [...charts[0].querySelectorAll("rect")].slice(3, 5)) {
  const more = Number(bar.getAttribute("height")) > 40 ? -26 : 26;
  bar.setAttribute("height", Number(bar.getAttribute("height")) + more); bar.setAttribute("y", Number(bar.getAttribute("y")) - more);
}
for (const line of [...charts[0].querySelectorAll("polyline")].slice(0, 1)) {
  const points = line.getAttribute("points").split(" "); points[6] = points[6].split(",")[0] + ",12"; line.setAttribute("points", points.join(" "));
}"""
    ),
    "removed": Edit(
        """const parts = page.seen(".main .card p, .detail dl, .main section p, .head p, .main > p"); if (!parts.length) return false;
parts[0].remove();""",
        "inserted",
    ),
    "reordered": Edit(ITEMS + "items[0].before(middle);", "moved"),
    "sections-swapped": Edit(SECTIONS + "sections[0].before(sections[0].nextElementSibling);", "moved"),
    "column-wider": Edit(
        "const heads = page.seen('th'); if (heads.length < 3) return false; page.style(`th:nth-child(2){width:${heads[1].offsetWidth + 22.4}px}`);",
        "moved",
    ),
    "theme": Edit(
        recolor("--bg:#eaf0e4;--panel:#fbfdf8;--text:#203018;--accent:#4f7a16;--line:#cbd8bd"), "recolored"
    ),
    "theme-dark": Edit(
        recolor("--bg:#15181e;--panel:#1f242d;--text:#e4e7ec;--soft:#98a1b0;--line:#343b48;--tint:#2a3140"),
        "recolored",
    ),
    "accent": Edit(recolor("--accent:#b3401f"), "recolored"),
    "dialog-behind": Edit(PRICES + RAISE, prepare=OPEN_DIALOG),
    "dialog-label": Edit(
        'page.say(document.querySelector(".dialog .btn:last-child"), "Discard");', prepare=OPEN_DIALOG
    ),
    "pane-scroll": Edit(
        "const pane = [...document.querySelectorAll('.pane, .mail .main')].find((one) => one.scrollHeight > one.clientHeight + 10); if (!pane) return false; pane.scrollTop = 57;",
        "moved",
    ),
    "page-scroll": Edit(
        "if (document.documentElement.scrollHeight < innerHeight + 40) return false; scrollTo(0, 130);",
        "moved",
    ),
    "subpixel": Edit("page.style('h1,h2,h3,.main p{transform:translateX(.3px)}');"),
    "subpixel-icon": Edit("page.style('.icon,.pic,.badge,.price{transform:translateX(.3px)}');"),
    "nav-icon": Edit(
        NAV
        + 'const old = link.querySelector(".icon"); if (!old) return false; old.innerHTML = NEW;'.replace(
            "NEW", f"`{NEW_ICON}`"
        )
    ),
    "nav-label": Edit(NAV + 'page.say(link.querySelector("span, small"), "Archive");'),
    "nav-new": Edit(
        NAV
        + 'link.after(page.make(`<a class="link">NEW <span>Insights</span></a>`));'.replace(
            "NEW", icon("star", "#d6409f")
        ),
        "inserted",
    ),
    "reflow": Edit(
        "if (!page.seen('.main p').length) return false; page.style('.main p{margin-right:24px}');", "moved"
    ),
}
SEQUENCES = {
    # several edits at once
    "banner-word": ("banner", "top-word"),
    "item-price": ("item-first", "last-price"),
    "theme-button": ("theme", "button-label"),
    "theme-dark-two": ("theme-dark", "price", "button-label"),
    "sidebar-badge": ("sidebar-24", "badge"),
    "banner-item": ("banner", "item-gone-middle"),
    "dialog-typo": ("dialog-behind", "typo"),
}
EDITS["top-word"] = Edit(
    """const below = page.seen(".banner ~ *, .banner ~ * *").filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && /[a-z]{3}/.test(node.data)));
if (!below.length) return false;
page.say(below[0], below[0].textContent.replace(/\\w{3,}/, "Corrected"));"""
)
EDITS["last-price"] = Edit(
    "const prices = page.seen('.price'); if (prices.length < 3) return false; const price = page.textsOf(prices.at(-1))[0];"
    + RAISE
)


def edits_of(name: str) -> list[Edit]:
    return [EDITS[one] for one in SEQUENCES.get(name, (name,))]
