"""Fill a service with demo data and take screenshots of every page: light, dark and narrow.

`make screenshots` runs this. It writes to `screenshots/`, and the README's images to `docs/images/` as well. It needs
Chromium and the `dev` extra. It starts its own service on free ports and stops it at the end.
"""

import contextlib
import os
import re
import secrets
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from browser import launch_browser

ROOT = Path(__file__).parents[2]
OUT = ROOT / "screenshots"
FOR_README = {"changes light": "changes.png", "pair light": "pair.png"}
LOOKS = {"light": (1280, 800), "dark": (1280, 800), "narrow": (360, 740)}
VIEWPORTS = {"1280x800": (1280, 800), "768x1024": (768, 1024), "375x812": (375, 812)}
DAY = 86_400

Shots = dict[tuple[str, str], bytes]
"""Screenshots by name and viewport."""

SHOP_STYLE = """
body { --ink: #1d2733; --paper: #fbfaf8; --line: #e4e0d8; --accent: #2f7d5b; --soft: #f1eee8; margin: 0;
  font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header { display: flex; gap: 24px; padding: 20px 32px; border-bottom: 1px solid var(--line); align-items: center; }
header b { font-size: 20px; flex: 1; } main { padding: 32px; max-width: 1040px; margin: auto; }
h1 { font-size: 28px; margin: 0 0 24px; letter-spacing: -.01em; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 24px; }
.pic { height: 150px; border-radius: 10px; margin-bottom: 8px; } small { opacity: .65; display: block; }
.row { display: flex; gap: 16px; align-items: center; padding: 14px 0; border-top: 1px solid var(--line); }
.row .pic { width: 56px; height: 56px; margin: 0; } .grow { flex: 1; } .total { font-weight: 600; }
button { font: inherit; border: 0; border-radius: 10px; padding: 12px 24px; color: #fff; background: var(--accent); }
label { display: block; margin-bottom: 16px; } input { display: block; width: 100%; box-sizing: border-box; font: inherit;
  padding: 10px 12px; border: 1px solid var(--line); border-radius: 8px; background: #fff; margin-top: 4px; }
.note { padding: 12px 16px; margin: 0 0 24.5px; border-radius: 10px; background: #fdf0d2; }
@media (min-width: 900px) {
  body { display: grid; grid-template-columns: 200px 1fr; min-height: 100vh; }
  header { flex-direction: column; align-items: start; border: 0; border-right: 1px solid var(--line); }
  header b { flex: 0; } main { margin: 0; }
}
@media (max-width: 500px) { header span { display: none; } main { padding: 20px; } }
"""
COLOURS = ["#c9d8c5", "#e5c9a8", "#cdb7d6", "#b9cfe0", "#e2b9b0", "#d9d3b0", "#b8d6cf", "#d6c0b4"]
GOODS = [
    "Olive oil",
    "Sourdough",
    "Lavender honey",
    "Sea salt",
    "Red pesto",
    "Polenta",
    "Dried figs",
    "Espresso",
]


def _shop(page: str, *, is_new: bool) -> str:
    """Return a page of a shop. The new ones have a note above the content, and another button in the cart."""
    tiles = "".join(
        f'<div><div class=pic style="background:{colour}"></div>{name}<small>{6 + index}.50 €</small></div>'
        for index, (name, colour) in enumerate(zip(GOODS, COLOURS, strict=True))
    )
    rows = "".join(
        f'<div class=row><div class=pic style="background:{COLOURS[index]}"></div>'
        f"<div class=grow>{GOODS[index]}<small>{index + 1} pieces</small></div>{12 - index}.50 €</div>"
        for index in range(3)
    )
    bodies = {
        "home": f"<h1>From small farms, by bicycle</h1><div class=grid>{tiles}</div>",
        "checkout/cart": f"<h1>Your cart</h1>{rows}<div class='row total'><div class=grow>Total</div>34.50 €</div>"
        f"<button>{'Pay by card' if is_new else 'Check out'}</button>",
        "checkout/address": "<h1>Where shall it go?</h1><label>Name<input value='Ada Lovelace'></label>"
        "<label>Street<input value='12 Grange Road'></label><label>City<input value=London></label>"
        "<button>Continue</button>",
        "account/sign-in": "<h1>Welcome back</h1><label>E-mail<input value='ada@example.org'></label>"
        "<label>Password<input type=password value=secretsecret></label><button>Sign in</button>",
    }
    head = "<header><b>Granary</b><span>Shop</span><span>Farms</span><span>Cart (3)</span></header>"
    note = "<p class=note>Order before noon, and we deliver <b>today</b>.</p>" if is_new else ""
    return f"<meta charset=utf-8><style>{SHOP_STYLE}</style>{head}<main>{note}{bodies[page]}</main>"


PAIR = "tab=changes&shot=checkout/cart&viewport=1280x800&mode=side"
PAGES = ["home", "checkout/cart", "checkout/address", "account/sign-in"]


@contextlib.contextmanager
def running_service(folder: Path) -> Iterator[dict[str, str]]:
    ports = [_free_port() for _ in range(3)]
    names = ("PRSHOTS_WEB_PORT", "PRSHOTS_API_PORT", "PRSHOTS_IMG_PORT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PRSHOTS_")}
    environment |= {"PRSHOTS_DATA_DIR": str(folder), "PRSHOTS_UPLOADS_PER_MINUTE": "10000"}
    environment |= {name: str(port) for name, port in zip(names, ports, strict=True)}
    command = [Path(sys.executable).with_name("prshots"), "serve"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        link = next(match[0] for line in process.stderr if (match := re.search(r"http\S+#\S+", line)))
        web, api, _ = (f"http://localhost:{port}" for port in ports)
        yield {"link": link, "web": web, "api": api, "database": str(folder / "prshots.db")}
    finally:
        process.terminate()
        process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Demo:
    """Fills a service over HTTP, like the dashboard and a CI job do."""

    def __init__(self, service: dict[str, str], browser: Browser) -> None:
        self.service = service
        self.browser = browser
        self.web = httpx.Client(base_url=service["web"], headers={"Origin": service["web"]}, timeout=60)
        code = service["link"].partition("#")[2]
        self.web.post("/auth/link", json={"code": code}).raise_for_status()
        self.organization = self._ask("GET", "/me")["organizations"][0]["id"]

    def _ask(self, method: str, path: str, **body: object) -> dict[str, object]:
        reply = self.web.request(method, f"/v1/dashboard{path}", json=body if method != "GET" else None)
        reply.raise_for_status()
        return reply.json()  # type: ignore[no-any-return]

    def project(self, name: str) -> tuple[str, str]:
        made = self._ask("POST", "/projects", name=name, organization_id=self.organization)
        token = self._ask("POST", f"/projects/{made['id']}/tokens", label="GitHub Actions")
        return str(made["id"]), str(token["secret"])

    def trust(self, project_id: str, issuer: str, **claims: str) -> None:
        self._ask("POST", f"/projects/{project_id}/trusts", issuer=issuer, claims=claims)

    def shots(self, *, is_new: bool) -> Shots:
        """Take screenshots like a CI job does."""
        taken = {}
        for viewport, (width, height) in VIEWPORTS.items():
            page = self.browser.new_page(viewport={"width": width, "height": height})
            for name in PAGES:
                page.set_content(_shop(name, is_new=is_new))
                taken[name, viewport] = page.screenshot()
            page.close()
        return taken

    def upload(self, token: str, pr_number: int, commit: str, shots: Shots) -> None:
        with httpx.Client(base_url=self.service["api"], headers={"Authorization": f"Bearer {token}"}) as ci:
            for (name, viewport), image in shots.items():
                fields = {"name": name, "pr_number": pr_number, "commit_sha": commit, "viewport": viewport}
                files = {"image": ("shot.png", image, "image/png")}
                ci.post("/v1/upload", data=fields, files=files, timeout=60).raise_for_status()

    def compare(self, token: str, pr_number: int, commit: str, base: str, baselines: Shots) -> None:
        """Upload baselines, and compare a pull request with them, as CI does on main and on a pull request."""
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=self.service["api"], headers=headers, timeout=60) as ci:
            for (name, viewport), image in baselines.items():
                fields = {"name": name, "viewport": viewport, "commit_sha": base, "branch": "main"}
                files = {"image": ("shot.png", image, "image/png")}
                ci.post("/v1/baseline", data=fields, files=files).raise_for_status()
            body = {"branch": "main", "commit_sha": base}
            ci.post("/v1/baseline/complete", json=body).raise_for_status()
            body = {"pr_number": pr_number, "commit_sha": commit, "branch": "main"}
            ci.post("/v1/compare", json=body | {"commits": [base], "complete": True}).raise_for_status()

    def close_pull_request(self, token: str, pr_number: int) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{self.service['api']}/v1/expire"
        httpx.post(url, headers=headers, json={"pr_number": pr_number}).raise_for_status()

    def grow_older(self, project_id: str, seed: int) -> None:
        """Spread the uploads over the last weeks, so that the project looks used."""
        now = int(time.time())
        with contextlib.closing(sqlite3.connect(self.service["database"], timeout=20)) as database:
            pulls = database.execute(
                "SELECT pr_number FROM pulls WHERE project_id = ? ORDER BY pr_number DESC", (project_id,)
            ).fetchall()
            for age, (number,) in enumerate(pulls):
                then = (now - age * age * 2400 - 240, project_id, number)
                of_pull = "WHERE project_id = ? AND pr_number = ?"
                database.execute(f"UPDATE pulls SET last_upload_at = ? {of_pull}", then)
                database.execute(f"UPDATE images SET uploaded_at = ? {of_pull}", then)
            for days in range(1, 90):
                busy = (days * 7 * seed + days * days) % 23 if (now // DAY - days) % 7 not in {2, 3} else 1
                database.execute(
                    "INSERT INTO uploads_by_day VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (project_id, now // DAY - days, busy * 6, busy * 6 * 41_000),
                )
            database.commit()


def fill(demo: Demo) -> dict[str, str]:
    before, after = demo.shots(is_new=False), demo.shots(is_new=True)
    shop, token = demo.project("granary-shop")
    for number in range(1029, 1041):
        some = dict(list(before.items())[: 3 + number % 9])
        demo.upload(token, number, secrets.token_hex(20), some)
    for number in (1030, 1033, 1036):
        demo.close_pull_request(token, number)
    demo.upload(token, 1042, secrets.token_hex(20), before)
    newest = secrets.token_hex(20)
    demo.upload(token, 1042, newest, after)
    demo.compare(token, 1042, newest, secrets.token_hex(20), before)
    demo.grow_older(shop, 3)
    demo.trust(
        shop, "https://token.actions.githubusercontent.com", repository="granary/shop", ref="refs/pull/*"
    )
    demo.trust(shop, "https://gitlab.com", project_path="granary/labels")
    for seed, name in ((5, "design-system"), (11, "mobile-app")):
        project, token = demo.project(name)
        demo.upload(token, 77, secrets.token_hex(20), dict(list(after.items())[:5]))
        demo.grow_older(project, seed)
    return {"shop": shop, "organization": demo.organization}


def take(page: Page, name: str, look: str, *, whole: bool = False) -> None:
    """Take a screenshot of the window, or of the whole page. The README shows windows."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)
    page.screenshot(path=OUT / f"{name}-{look}.png", full_page=whole)
    if f"{name} {look}" in FOR_README:
        shutil.copy(OUT / f"{name}-{look}.png", Path(__file__).with_name(FOR_README[f"{name} {look}"]))


def walk(context: BrowserContext, web: str, places: dict[str, str], look: str) -> None:
    page, shop = context.new_page(), f"{web}/projects/{places['shop']}"
    for name, address in {
        "projects": f"{web}/",
        "pulls": shop,
        "changes": f"{shop}/prs/1042",
        "pair": f"{shop}/prs/1042?{PAIR}",
        "pull": f"{shop}/prs/1042?tab=all",
        "comment": f"{shop}/prs/1042?tab=comment",
        "baselines": f"{shop}/baselines",
        "noise": f"{shop}/noise",
        "quarantine": f"{shop}/quarantine",
        "tokens": f"{shop}/tokens",
        "keyless": f"{shop}/tokens?kind=keyless",
        "settings": f"{shop}/settings",
        "setup": f"{shop}/setup",
        "usage": f"{shop}/usage",
        "organization": f"{web}/organizations/{places['organization']}",
        "organization-usage": f"{web}/organizations/{places['organization']}/usage",
        "installation": f"{web}/installation",
        "installation-audit": f"{web}/installation/audit",
        "join": f"{web}/join",
        "webhooks": f"{web}/organizations/{places['organization']}/webhooks",
        "audit": f"{web}/organizations/{places['organization']}/audit",
        "not-found": f"{web}/nothing",
    }.items():
        page.goto(address)
        take(page, name, look, whole=name not in {"comment", "pair"} and f"{name} {look}" not in FOR_README)
    walk_dialogs(page, shop, look)
    page.goto(f"{shop}/prs/1042?tab=all")
    page.get_by_role("link", name=re.compile("checkout.cart")).last.click()
    take(page, "lightbox", look)
    page.goto(f"{shop}/prs/1042")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Create link").click()
    take(page, "share", look)
    page.goto(page.locator(".secret .mono").inner_text())
    take(page, "shared", look, whole=True)
    page.close()


def walk_dialogs(page: Page, shop: str, look: str) -> None:
    """Open each dialog. Confirm none of them."""
    page.goto(f"{shop}/prs/1042?tab=all")
    page.get_by_role("button", name=re.compile("2 commits")).first.click()
    take(page, "older-commits", look)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Delete screenshots").click()
    take(page, "delete-screenshots", look)
    page.goto(f"{shop}/prs/1042?{PAIR}")
    page.keyboard.press("r")
    page.keyboard.type("The button lost its contrast")
    take(page, "reject", look)
    page.keyboard.press("Escape")
    page.goto(f"{shop}/settings")
    page.get_by_label("Maximum age in days").fill("1")
    take(page, "retention", look, whole=True)
    page.get_by_role("button", name="Save retention").click()
    take(page, "delete-images", look)
    page.goto(f"{shop}/settings")
    page.get_by_role("button", name="Delete project…").click()
    take(page, "delete-project", look)
    page.goto(f"{shop}/tokens")
    page.get_by_role("button", name="Revoke GitHub Actions").click()
    take(page, "revoke-token", look)


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_service(Path(folder)) as service,
        sync_playwright() as playwright,
    ):
        browser = launch_browser(playwright)
        demo = Demo(service, browser)
        print("Filling a service with demo data …")
        places = fill(demo)
        cookies = [
            {"name": cookie.name, "value": cookie.value or "", "url": service["web"]}
            for cookie in demo.web.cookies.jar
        ]
        for look, (width, height) in LOOKS.items():
            print(f"Taking screenshots: {look} …")
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if look == "dark" else "light",
                device_scale_factor=1,
            )
            outside = context.new_page()
            outside.goto(f"{service['web']}/sign-in")
            take(outside, "sign-in", look)
            context.add_cookies(cookies)  # type: ignore[arg-type]
            walk(context, service["web"], places, look)
            context.close()
        browser.close()
    print(f"Wrote them to {OUT.relative_to(Path.cwd()) if OUT.is_relative_to(Path.cwd()) else OUT}/")


if __name__ == "__main__":
    main()
