"""Ten apps in different layouts, as HTML. Shared class names let every edit apply to most of them."""

import json
import random
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))
PEOPLE, FIRMS, GOODS, TASKS, SENTENCES, COLORS, ICONS = TEXTS.values()
CSS = (HERE / "apps.css").read_text(encoding="utf-8")


def split(names: str) -> list[str]:
    return names.split("|")


def icon(name: str, color: str, size: int = 18) -> str:
    return f'<svg class="icon" viewBox="0 0 24 24" width="{size}" height="{size}">{ICONS[name].format(color)}</svg>'


def any_icon(rng: random.Random, size: int = 18) -> str:
    return icon(rng.choice([*ICONS]), rng.choice(COLORS), size)


def avatar(name: str, size: int = 32) -> str:
    color = COLORS[sum(map(ord, name)) % len(COLORS)]
    initials = "".join(word[0] for word in name.split()[:2])
    style = f"background:{color};width:{size}px;height:{size}px;line-height:{size}px"
    return f'<span class="avatar" style="{style}">{initials}</span>'


def picture(rng: random.Random, width: int, height: int) -> str:
    """Draw a landscape: a sky, hills and a sun."""
    sky, ground, sun, hill = rng.sample(COLORS, 4)
    name = f"g{rng.randrange(10**9)}"
    x, y = rng.randrange(20, 80), rng.randrange(12, 40)
    a, b = rng.randrange(30, 70), rng.randrange(30, 70)
    return (
        f'<svg class="pic" viewBox="0 0 100 80" width="{width}" height="{height}" preserveAspectRatio="none">'
        f'<linearGradient id="{name}" y2="1" x2=".3"><stop stop-color="{sky}"/><stop offset="1" stop-color="#fff3dc"/></linearGradient>'
        f'<rect width="100" height="80" fill="url(#{name})"/><circle cx="{x}" cy="{y}" r="9" fill="{sun}"/>'
        f'<path d="M0 {a} 30 40 60 {b} 100 45V80H0z" fill="{ground}"/><path d="M0 75 45 {b} 100 70V80H0z" fill="{hill}"/></svg>'
    )


def bar_chart(rng: random.Random, width: int, height: int, color: str = "var(--accent)") -> str:
    step = width / 12
    bars = ""
    for i, month in enumerate(split("Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec")):
        high = rng.randrange(15, height - 30)
        bars += f'<rect x="{i * step + 4:.1f}" y="{height - 20 - high}" width="{step - 8:.1f}" height="{high}" fill="{color}"/>'
        bars += f'<text x="{i * step + 4:.1f}" y="{height - 6}" font-size="10">{month}</text>'
    return f'<svg class="chart" width="{width}" height="{height}">{bars}</svg>'


def line_chart(rng: random.Random, width: int, height: int) -> str:
    lines = "".join(
        f'<path d="M0 {y}H{width}" stroke="var(--line)"/>' for y in range(10, height, max(20, height // 5))
    )
    for color in rng.sample(COLORS, 2):
        points = " ".join(f"{i * width / 16:.1f},{rng.randrange(10, height - 10)}" for i in range(17))
        lines += f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
    return f'<svg class="chart" width="{width}" height="{height}">{lines}</svg>'


def money(rng: random.Random) -> str:
    return f'<span class="price">${rng.randrange(4, 2400):,}.{rng.randrange(100):02}</span>'


def badge(rng: random.Random, texts: str = "Paid Paid Open Overdue Draft") -> str:
    text = rng.choice(texts.split())
    return f'<span class="badge {text.lower()}">{text}</span>'


def buttons(*labels: str) -> str:
    first, *others = labels
    more = "".join(f'<a class="btn">{label}</a>' for label in others)
    return f'<div class="actions"><a class="btn primary">{first}</a>{more}</div>'


def text(rng: random.Random, sentences: int = 2) -> str:
    return f"<p>{' '.join(rng.sample(SENTENCES, sentences))}</p>"


def table(heads: str, rows: list[list[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads.split("|"))
    body = "".join(f'<tr class="item">{"".join(f"<td>{cell}</td>" for cell in row)}</tr>' for row in rows)
    return f'<table><thead><tr>{head}</tr></thead><tbody class="items">{body}</tbody></table>'


def nav(names: str, current: str) -> str:
    rng = random.Random(names)  # the same on every screen
    links = "".join(
        f'<a class="link{" here" if name.lower() == current else ""}">{any_icon(rng)}<span>{name}</span>'
        + (f'<span class="badge count">{rng.randrange(2, 40)}</span>' if rng.random() < 0.4 else "")
        + "</a>"
        for name in names.split("|")
    )
    return f"<nav>{links}</nav>"


def invoices(rng: random.Random, screen: str) -> str:
    rows = [
        [f"INV-{2040 + i}", FIRMS[(i * 5) % 12], f"{rng.randrange(1, 29)} May 2026", badge(rng), money(rng)]
        for i in range(4 if screen == "detail" else 14)
    ]
    people = [
        [avatar(name), name, FIRMS[i % 12], any_icon(rng), money(rng)] for i, name in enumerate(PEOPLE[:11])
    ]
    body = {
        "customers": lambda: table("|Name|Company|Rank|Balance", people),
        "detail": lambda: (
            f'<section class="card"><h2>INV-2041</h2>{text(rng)}{table("Number|Customer|Due|State|Amount", rows)}</section>'
            f'<section class="card"><h2>Notes</h2>{text(rng, 4)}{buttons("Save", "Discard")}</section>'
        ),
    }.get(screen, lambda: table("Number|Customer|Due|State|Amount", rows))()
    side = f'<aside class="side"><h3>Ledgerly</h3>{nav("Home|Invoices|Overdue|Customers|Reports|Settings", screen)}</aside>'
    head = (
        f'<header class="head"><h1>{screen.title()}</h1>{buttons("New invoice", "Export", "Filter")}</header>'
    )
    return f'<div class="app sided">{side}<main class="main">{head}{text(rng)}{body}</main></div>'


def store(rng: random.Random, screen: str) -> str:
    cards = "".join(
        f'<div class="item card">{picture(rng, 196, 120)}<h3>{name}</h3><span>{badge(rng, "New Sale Last")} {money(rng)}</span></div>'
        for name in GOODS[: 6 if screen == "product" else 12]
    )
    lead = {
        "home": lambda: (
            f'<section class="hero"><h1>Things that last</h1>{text(rng, 2)}{buttons("Shop now", "Our story")}</section>'
        ),
        "product": lambda: (
            f'<section class="split">{picture(rng, 320, 240)}<div><h1>Copper kettle</h1>{text(rng, 3)}{money(rng)}{buttons("Add to cart", "Save")}</div></section>'
        ),
    }.get(screen, lambda: f"<section><h1>{screen.title()}</h1>{text(rng, 1)}</section>")()
    menu = f'<header class="top"><b>Hearth &amp; Co</b>{nav("Home|Kitchen|Garden|Sale", screen)}{icon("heart", "#e5484d")}<span class="badge count">3</span></header>'
    return f'<div class="app">{menu}<main class="main">{lead}<section><h2>For you</h2><div class="items grid">{cards}</div></section></main></div>'


def kanban(rng: random.Random, screen: str) -> str:
    def column(name: str, count: int) -> str:
        cards = "".join(
            f'<div class="item card">{any_icon(rng, 16)} <b>{rng.choice(TASKS)}</b>{text(rng, 1)}<span>{avatar(rng.choice(PEOPLE), 22)} <span class="badge count">{rng.randrange(1, 9)}</span></span></div>'
            for _ in range(count)
        )
        return f'<section class="column"><h3>{name}</h3><div class="items pane">{cards}</div></section>'

    names = {"backlog": "Ideas|Ready|Later", "team": "Ada|Ben|Carla|Farid"}.get(
        screen, "To do|Doing|Review|Done"
    )
    columns = "".join(column(name, rng.randrange(4, 7)) for name in names.split("|"))
    head = f'<header class="top"><b>Planks</b><h1>{screen.title()}</h1>{buttons("Add card", "Share", "Sort")}</header>'
    return f'<div class="app tall">{head}<main class="main board">{columns}</main></div>'


def chat(rng: random.Random, screen: str) -> str:
    rooms = "".join(
        f'<a class="link{" here" if name == screen else ""}">{avatar(PEOPLE[i], 28)}<span>{name}</span><span class="badge count">{3 + 4 * i}</span></a>'
        for i, name in enumerate(split("general|design|direct|support|random|hiring"))
    )
    messages = "".join(
        f'<div class="item message">{avatar(name)}<div><b>{name}</b> <small>{rng.randrange(8, 18)}:{rng.randrange(10, 60)}</small>{text(rng, rng.choice([1, 1, 2, 3]))}</div></div>'
        for name in rng.choices(PEOPLE, k=14)
    )
    head = f'<header class="head"><h1>#{screen}</h1>{buttons("Invite", "Search")}</header>'
    return (
        f'<div class="app sided tall"><aside class="side"><h3>Rooms</h3>{rooms}</aside><main class="main">{head}'
        f'<div class="items pane">{messages}</div><div class="write"><div class="input">Write a message</div>{buttons("Send")}</div></main></div>'
    )


def crm(rng: random.Random, screen: str) -> str:
    rows = [
        [avatar(name, 26), name, FIRMS[(i * 7) % 12], badge(rng, "Lead Lead Won Lost"), money(rng)]
        for i, name in enumerate(rng.sample(PEOPLE, 13))
    ]
    facts = "".join(
        f"<dt>{key}</dt><dd>{rng.choice(FIRMS)}</dd>" for key in split("Company|Partner|Billing|Origin")
    )
    detail = (
        f'<aside class="detail card"><section>{avatar("Maya Singh", 56)}<h2>Maya Singh</h2>{text(rng, 1)}{buttons("Call", "Write")}</section>'
        f"<section><h3>Facts</h3><dl>{facts}</dl></section><section><h3>Last visit</h3>{picture(rng, 236, 110)}{text(rng, 2)}</section></aside>"
    )
    top = f'<header class="top"><b>Rolo</b>{nav("Contacts|Deals|Calendar", screen)}{buttons("New contact", "Import")}</header>'
    return f'<div class="app">{top}<main class="main paired"><div>{table("|Name|Company|State|Value", rows)}</div>{detail}</main></div>'


def docs(rng: random.Random, screen: str) -> str:
    titles = split("Install the client|Send the first request|Handle errors|Rotate tokens|Limits")
    parts = "".join(
        f"<section><h2>{title}</h2>{text(rng, 4)}{text(rng, 3)}"
        + (
            "<pre>client = Client(token)\nclient.send(order, retries=3)\nprint(client.state)</pre>"
            if i % 2
            else ""
        )
        + "</section>"
        for i, title in enumerate(titles)
    )
    side = f'<aside class="side">{nav("Intro|Guide|Api|Recipes|Changes", screen)}</aside>'
    toc = "".join(f'<a class="item">{title}</a>' for title in titles)
    return (
        f'<div class="app sided three">{side}<main class="main"><h1>{screen.title()}</h1>{text(rng, 3)}{parts}{buttons("Next page", "Edit")}</main>'
        f'<aside class="toc"><b>On this page</b><div class="items">{toc}</div></aside></div>'
    )


def dashboard(rng: random.Random, screen: str) -> str:
    tiles = "".join(
        f'<div class="item card tile">{any_icon(rng, 22)}<small>{name}</small><div class="large">{money(rng)}</div><span class="badge count">{rng.randrange(1, 30)}%</span></div>'
        for name in split("Revenue|Orders|Refunds|Visits")
    )
    charts = (
        f'<section class="card"><h2>By month</h2>{bar_chart(rng, 520, 190)}</section>'
        f'<section class="card"><h2>By week</h2>{line_chart(rng, 520, 190)}{text(rng, 1)}</section>'
        f'<section class="card"><h2>By region</h2>{bar_chart(rng, 520, 150, rng.choice(COLORS))}</section>'
        f'<section class="card"><h2>Top products</h2>{table("Product|Sold", [[name, money(rng)] for name in rng.sample(GOODS, 5)])}</section>'
    )
    side = f'<aside class="side slim">{"".join(f"<a class=link>{icon(name, color, 24)}</a>" for name, color in zip(ICONS, COLORS, strict=False))}</aside>'
    head = f'<header class="head"><h1>{screen.title()}</h1>{buttons("Last 30 days", "Share")}</header>'
    return f'<div class="app sided thin">{side}<main class="main">{head}<div class="items tiles">{tiles}</div><div class="charts">{charts}</div></main></div>'


def fit(rng: random.Random, screen: str) -> str:
    rows = "".join(
        f'<div class="item card row">{any_icon(rng, 28)}<div><b>{rng.choice(["Run", "Swim", "Ride", "Walk", "Row"])}</b><br><small>{rng.randrange(12, 70)} min with {rng.choice(PEOPLE)}</small></div><span class="price">{rng.randrange(80, 900)}</span></div>'
        for _ in range(6)
    )
    lead = {
        "plan": lambda: (
            f"<section>{picture(rng, 358, 150)}{text(rng, 2)}{buttons('Start', 'Skip')}</section>"
        ),
        "profile": lambda: (
            f"<section>{avatar('Ines Costa', 64)}<h2>Ines Costa</h2>{text(rng, 1)}{buttons('Edit', 'Follow')}</section>"
        ),
    }.get(screen, lambda: f'<section class="card">{bar_chart(rng, 320, 120)}</section>')()
    tabs = "".join(
        f'<a class="tab">{icon(name, "#a18072", 22)}<small>{name.title()}</small></a>'
        for name in split("house|clock|heart|person")
    )
    return (
        f'<div class="app phone"><header class="top"><h1>{screen.title()}</h1>{icon("bell", "#f5a524", 22)}<span class="badge count">{rng.randrange(2, 9)}</span></header>'
        f'<main class="main">{lead}<section><h2>Activities</h2><div class="items">{rows}</div></section></main><footer class="tabs">{tabs}</footer></div>'
    )


def mail(rng: random.Random, screen: str) -> str:
    letters = "".join(
        f'<div class="item letter"><b>{name}</b><small>{rng.randrange(1, 28)} Apr</small><div>{rng.choice(TASKS)}</div><small>{rng.choice(SENTENCES)[:38]}</small></div>'
        for name in rng.sample(PEOPLE, 12)
    )
    body = "".join(text(rng, rng.choice([2, 3, 4])) for _ in range(5))
    side = f'<aside class="side"><h3>Postbox</h3>{buttons("Compose")}{nav("Inbox|Sent|Drafts|Spam|Archive", screen)}</aside>'
    return (
        f'<div class="app sided three tall">{side}<div class="items pane list">{letters}</div><main class="main">'
        f'<header class="glass"><h1>{rng.choice(TASKS)}</h1>{buttons("Reply", "Forward", "Archive")}</header><section>{avatar("Olga Petrova")} <b>Olga Petrova</b>{body}</section>'
        f"<section><h3>Attachments</h3>{picture(rng, 150, 100)} {picture(rng, 150, 100)}</section></main></div>"
    )


def settings(rng: random.Random, screen: str) -> str:
    def field(name: str) -> str:
        return f'<label class="item field"><span>{name}</span><div class="input">{rng.choice(PEOPLE + FIRMS)}</div><small>{rng.choice(SENTENCES)}</small></label>'

    groups = {"billing": "Plan|Address", "security": "Password|Devices"}.get(
        screen, "Account|Public page"
    ).split("|")
    fields = split("Display name|Company|Contact|Backup contact")
    forms = "".join(
        f'<section class="card"><h2>{any_icon(rng, 20)} {group}</h2>{text(rng, 1)}<div class="items">{"".join(map(field, fields[: rng.randrange(2, 5)]))}</div>{buttons("Save", "Cancel")}</section>'
        for group in groups
    )
    tabs = nav("Profile|Billing|Security|Teams", screen)
    return f'<div class="app"><header class="top"><b>Settings</b>{tabs}</header><main class="main narrow"><h1>{screen.title()}</h1><p>You pay {money(rng)} each month for {rng.randrange(3, 30)} seats.</p>{forms}</main></div>'


APPS: dict[str, tuple[Callable[[random.Random, str], str], str, str]] = {
    # its builder, its screens, its look
    "invoices": (
        invoices,
        "invoices overdue customers detail",
        "--accent:#3355dd;--font:'DejaVu Sans';--size:14px",
    ),
    "store": (
        store,
        "home kitchen product sale",
        "--accent:#a5461c;--font:'DejaVu Serif';--size:15px;--bg:#fdfaf5",
    ),
    "kanban": (
        kanban,
        "board backlog team",
        "--accent:#0f7b6c;--font:'DejaVu Sans Condensed';--size:13px;--bg:#e9edf2",
    ),
    "chat": (
        chat,
        "general design direct",
        "--accent:#7a3fd1;--font:'DejaVu Sans';--size:13px;--side-w:210px",
    ),
    "crm": (
        crm,
        "contacts deals calendar",
        "--accent:#c2255c;--font:'DejaVu Sans Condensed';--size:14px;--radius:2px",
    ),
    "docs": (
        docs,
        "intro guide api recipes",
        "--accent:#1864ab;--font:'DejaVu Serif';--size:15px;--side-w:180px",
    ),
    "dashboard": (
        dashboard,
        "overview sales traffic",
        "--accent:#2b8a3e;--font:'DejaVu Sans';--size:13px;--side-w:64px;--radius:12px",
    ),
    "fit": (
        fit,
        "today activity plan profile",
        "--accent:#e8590c;--font:'DejaVu Sans';--size:16px;--radius:18px;--bg:#f4f1ee",
    ),
    "mail": (
        mail,
        "inbox sent drafts",
        "--accent:#0b7285;--font:'DejaVu Sans Condensed';--size:14px;--side-w:190px",
    ),
    "settings": (
        settings,
        "profile billing security",
        "--accent:#5f3dc4;--font:'DejaVu Sans';--size:14px;--radius:5px",
    ),
}
DARK = "--bg:#15181e;--panel:#1f242d;--text:#e4e7ec;--soft:#98a1b0;--line:#343b48;--tint:#2a3140"


def screens(app: str) -> list[str]:
    return APPS[app][1].split()


def page(app: str, screen: str, theme: str) -> str:
    build, _, look = APPS[app]
    rng = random.Random(f"{app} {screen}")
    dark = DARK if theme == "dark" else ""
    return f'<!doctype html><meta charset="utf-8"><style>{CSS}:root{{{look};{dark}}}</style><body class="{app}">{build(rng, screen)}'
