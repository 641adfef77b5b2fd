"""Make comment.png: take three screenshots of a small demo shop, upload them, and render the comment they get.

Needs a running service (`make run`), `PRSHOTS_TOKEN` for one of its projects, Chromium, and the `dev` extra:
`.venv/bin/python docs/images/make_comment.py`.
"""

import os
from pathlib import Path

import httpx
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

from browser import launched

API = os.environ.get("PRSHOTS_URL", "http://localhost:8081")
PR_NUMBER = 482
SHOTS = [
    ("Checkout / cart", 960, 440, ""),
    ("Checkout / cart, dark", 960, 440, "dark"),
    ("Checkout / phone", 360, 440, ""),
]
SHOP = """<meta charset=utf-8><style>
body { --ink: #1d2733; --paper: #fbfaf8; --line: #e4e0d8; --accent: #b4552d; }
body.dark { --ink: #ece7df; --paper: #1b1d20; --line: #363a40; --accent: #e08a5f; }
body { margin: 0; padding: 28px 32px; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 24px; margin: 0 0 16px; }
.row { display: flex; gap: 16px; align-items: center; padding: 12px 0; border-top: 1px solid var(--line); }
.pic { width: 56px; height: 56px; border-radius: 8px; } .grow { flex: 1; } small { opacity: .65; display: block; }
.total { font-weight: 600; } button { font: inherit; border: 0; border-radius: 8px; padding: 10px 20px; color: #fff;
  background: var(--accent); float: right; margin-top: 8px; }
</style><body class="%s"><h1>Your cart</h1>
<div class=row><div class=pic style="background:#c9d8c5"></div><div class=grow>Olive oil, 500 ml<small>1 bottle</small></div>12.50 €</div>
<div class=row><div class=pic style="background:#e5c9a8"></div><div class=grow>Sourdough bread<small>2 loaves</small></div>9.80 €</div>
<div class=row><div class=pic style="background:#cdb7d6"></div><div class=grow>Lavender honey<small>1 jar</small></div>7.20 €</div>
<div class="row total"><div class=grow>Total</div>29.50 €</div><button>Check out</button>"""
FRAME = """<meta charset=utf-8><style>
body { margin: 0; padding: 24px; background: #fff; font: 16px/1.5 system-ui, sans-serif; color: #1f2328; }
.comment { border: 1px solid #d1d9e0; border-radius: 6px; } .body { padding: 16px 16px 0; }
.by { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; font-size: 14px; color: #59636e; }
h3 { margin: 0 0 16px; font-size: 20px; } p { margin: 0 0 16px; } img { max-width: 100%%; margin-top: 4px;
  border: 1px solid #e4e7ea; } code { background: #eff1f3; padding: 3px 6px; border-radius: 6px; font-size: 85%%; }
</style><div class=comment><div class=by><b>ci-bot</b> commented</div><div class=body>%s</div></div>"""


def page_as_png(browser: Browser, html: str, width: int, height: int, *, full_page: bool = False) -> bytes:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_content(html, wait_until="networkidle")
    return page.screenshot(full_page=full_page)


def upload(client: httpx.Client, name: str, image: bytes, viewport: str) -> None:
    fields = {"name": name, "pr_number": PR_NUMBER, "commit_sha": "3f9c2d1e8b7a", "viewport": viewport}
    reply = client.post("/v1/upload", data=fields, files={"image": ("shot.png", image, "image/png")})
    reply.raise_for_status()


def main() -> None:
    token = {"Authorization": f"Bearer {os.environ['PRSHOTS_TOKEN']}"}
    with sync_playwright() as playwright, httpx.Client(base_url=API, headers=token) as client:
        browser = launched(playwright)
        client.post("/v1/expire", json={"pr_number": PR_NUMBER}).raise_for_status()
        for name, width, height, theme in SHOTS:
            upload(client, name, page_as_png(browser, SHOP % theme, width, height), f"{width}x{height}")
        comment = client.get("/v1/comment", params={"pr_number": PR_NUMBER}).json()["markdown"]
        html = FRAME % MarkdownIt("commonmark").render(comment)
        Path(__file__).with_name("comment.png").write_bytes(
            page_as_png(browser, html, 760, 400, full_page=True)
        )


if __name__ == "__main__":
    main()
