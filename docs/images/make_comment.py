"""Make comment.png and comment-dark.png: the comment on a pull request, as GitHub shows it.

The demo shop is rendered before and after a change. The comment is the service's own. It needs Chromium and the
`dev` extra: `.venv/bin/python docs/images/make_comment.py`.
"""

from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options
from playwright.sync_api import Browser, Route, sync_playwright

from browser import launch_browser
from prshots.contract.comments import MAX_COMMENT_BYTES, Marker
from prshots.contract.replies import ComparedShot, Comparison, ComparisonState, Verdict
from prshots.server.domain.comments.fitting import Frame
from prshots.server.domain.comments.views import Latest, changes_view

IMAGES = "https://img.example.com/i/"
DASHBOARD = "https://shots.example.com/projects/web/prs/482"
COMMIT, BASE = "3f9c2d1e" * 5, "d83dede4" * 5
VIEWPORTS = ("375x812", "768x1024", "1280x800")

SHOP = """<meta charset=utf-8><style>
body { --ink: #1d2733; --paper: #fbfaf8; --line: #e4e0d8; --accent: ACCENT; margin: 0; font: 16px/1.5 system-ui,
  sans-serif; color: var(--ink); background: var(--paper); }
header { display: flex; gap: 24px; padding: 20px 32px; border-bottom: 1px solid var(--line); }
header b { font-size: 20px; flex: 1; } main { padding: 28px 32px; max-width: 1040px; margin: auto; }
h1 { font-size: 26px; margin: 0 0 20px; } small { opacity: .65; display: block; }
.row { display: flex; gap: 16px; align-items: center; padding: 14px 0; border-top: 1px solid var(--line); }
.pic { width: 56px; height: 56px; border-radius: 10px; } .grow { flex: 1; } .total { font-weight: 600; }
button { font: inherit; border: 0; border-radius: 10px; padding: 12px 24px; color: #fff; background: var(--accent); }
.note { background: #f3e3c3; border-radius: 10px; padding: 14px 20px; margin-bottom: 20px; }
@media (max-width: 500px) { header span { display: none; } main { padding: 20px; } header { padding: 16px 20px; } }
</style><header><b>Granary</b><span>Shop</span><span>Farms</span><span>Cart (3)</span></header><main>"""
GOODS = (
    ("Olive oil", "#c9d8c5"),
    ("Sourdough", "#e5c9a8"),
    ("Lavender honey", "#cdb7d6"),
    ("Sea salt", "#b9cfe0"),
)
ROWS = "".join(
    f'<div class=row><div class=pic style="background:{color}"></div><div class=grow>{name}<small>{number + 1} '
    f"pieces</small></div>{12 - number}.50 €</div>"
    for number, (name, color) in enumerate(GOODS)
)
TOTAL = "<div class='row total'><div class=grow>Total</div>44.00 €</div>"
OLD, NEW = SHOP.replace("ACCENT", "#b4552d"), SHOP.replace("ACCENT", "#2f6f4f")
NOTE = "<div class=note>Free delivery by bicycle from 40 €</div>"
PAGES = {
    "cart-before": f"{OLD}<h1>Your cart</h1>{ROWS}{TOTAL}<button>Check out</button>",
    "cart-after": f"{NEW}<h1>Your cart</h1>{ROWS}{TOTAL}<button>Check out</button>",
    "list-before": f"{OLD}<h1>From small farms</h1>{ROWS}{ROWS}",
    "list-after": f"{OLD}{NOTE}<h1>From small farms</h1>{ROWS}{ROWS}",
    "gift-after": f"{NEW}<h1>Wrap it as a gift?</h1>{ROWS}<button>Add a card</button>",
}

GITHUB = """<!doctype html><meta charset=utf-8><style>
body { --text: #1f2328; --soft: #59636e; --page: #fff; --line: #d1d9e0; --head: #f6f8fa; --code: #818b981f; --link: #0969da;
  margin: 0; padding: 24px; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, sans-serif; }
body.dark { --text: #f0f6fc; --soft: #9198a1; --page: #0d1117; --line: #3d444d; --head: #151b23; --code: #656c7633;
  --link: #4493f8; }
.comment { border: 1px solid var(--line); border-radius: 6px; } .body { padding: 16px; }
.by { background: var(--head); border-bottom: 1px solid var(--line); border-radius: 6px 6px 0 0; padding: 8px 16px;
  color: var(--soft); } .by b { color: var(--text); }
a { color: var(--link); text-decoration: none; } h3 { margin: 0 0 16px; font-size: 17.5px; line-height: 1.25; }
p, ul, details, table { margin: 0 0 16px; } .body > :last-child { margin-bottom: 0; }
img { max-width: 100%; box-sizing: content-box; }
code { background: var(--code); padding: .2em .4em; border-radius: 6px; font: 85% ui-monospace, monospace;
  white-space: break-spaces; }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse; border-spacing: 0; }
th, td { border: 1px solid var(--line); padding: 6px 13px; } th { font-weight: 600; }
tr { background: var(--page); border-top: 1px solid var(--line); } tr:nth-child(2n) { background: var(--head); }
</style><body class="THEME"><div class=comment><div class=by><b>ci-bot</b> commented 2 minutes ago</div>
<div class=body>COMMENT</div></div>"""
COMMENT_WIDTH = 862
"""A comment on a pull request on GitHub, with the margin around it."""


def compared(
    name: str, viewport: str, verdict: Verdict, page: str = "", *, pixels: int = 0, shift: int = 0
) -> ComparedShot:
    pictures = {kind: f"{IMAGES}{page}-{kind}-{viewport}.png" for kind in ("before", "after", "diff")}
    if verdict is Verdict.NEW:
        pictures |= {"before": "", "diff": ""}
    return ComparedShot(
        name=name,
        viewport=viewport,
        theme="",
        verdict=verdict,
        pixels=pixels,
        regions=[(0, 0, 9, 9)] * (pixels > 0),
        shift=shift,
        view_url=pictures["after"],
        before_url=pictures["before"],
        diff_url=pictures["diff"],
        base_commit=BASE,
    )


def comparison() -> Comparison:
    """Return what the README shows: 100 screenshots, of which five differ."""
    pixels = {"375x812": 6_312, "768x1024": 6_388, "1280x800": 6_420}
    shots = [
        compared("checkout/cart", viewport, Verdict.CHANGED, "cart", pixels=pixels[viewport])
        for viewport in VIEWPORTS
    ]
    shots.append(compared("shop/list", "1280x800", Verdict.MOVED, "list", shift=73))
    shots.append(compared("checkout/gift", "1280x800", Verdict.NEW, "gift"))
    shots += [compared("shop/list", viewport, Verdict.UNCHANGED) for viewport in VIEWPORTS[:2]]
    shots += [
        compared(f"account/page-{number}", viewport, Verdict.UNCHANGED)
        for number in range(1, 32)
        for viewport in VIEWPORTS
    ]
    return Comparison(482, COMMIT, "main", BASE, ComparisonState.COMPARED, {}, shots, DASHBOARD)


def rendered(browser: Browser, markdown: str, theme: str) -> bytes:
    """Return a picture of the comment. Pictures of the shop are taken when the comment asks for them."""

    def shop(route: Route) -> None:
        name, _, viewport = route.request.url.removeprefix(IMAGES).removesuffix(".png").rpartition("-")
        width, _, height = viewport.partition("x")
        page = browser.new_page(viewport={"width": int(width), "height": int(height)})
        page.set_content(PAGES[name])
        route.fulfill(body=page.screenshot(), content_type="image/png")
        page.close()

    page = browser.new_page(viewport={"width": COMMENT_WIDTH, "height": 400})
    page.route(f"{IMAGES}*", shop)
    html = cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    page.set_content(GITHUB.replace("THEME", theme).replace("COMMENT", html), wait_until="networkidle")
    picture = page.screenshot(full_page=True)
    page.close()
    return picture


def main() -> None:
    frame = Frame(482, DASHBOARD, MAX_COMMENT_BYTES, Marker.HTML)
    markdown = changes_view(frame, comparison(), Latest([], COMMIT, 1)).markdown
    with sync_playwright() as playwright:
        browser = launch_browser(playwright)
        for theme, name in (("light", "comment.png"), ("dark", "comment-dark.png")):
            Path(__file__).with_name(name).write_bytes(rendered(browser, markdown, theme))


if __name__ == "__main__":
    main()
