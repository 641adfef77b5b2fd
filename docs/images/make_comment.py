"""Make comment.png and comment-dark.png: the comment on a pull request, as GitHub shows it. And close-up.png from it.

The pull request is the tests' redesign of a small shop, and its comment comes from a running service. It needs Chromium
and the `dev` extra: `.venv/bin/python docs/images/make_comment.py`.
"""

import sys
import tempfile
from pathlib import Path

import httpx

IMAGES = Path(__file__).parent
sys.path.append(str(IMAGES.parents[1] / "tests"))

from support.chromium import chromium  # noqa: E402
from support.forge_pages import THEMES, open_comment  # noqa: E402
from support.reviewed_shop import REDESIGN, review  # noqa: E402
from support.service import Service  # noqa: E402

NAMES = dict(zip(THEMES, ("comment.png", "comment-dark.png"), strict=True))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        service = Service(Path(folder)).start()
        try:
            with service.client(service.new_token(uploads_per_minute=1000)) as ci:
                found = review(ci, browser, REDESIGN)
                params = {"pr_number": REDESIGN.number, "view": "changes"}
                markdown = ci.get("/v1/comment", params=params).json()["markdown"]
            for theme, name in NAMES.items():
                page = open_comment(browser, markdown, "github", theme)
                page.screenshot(path=IMAGES / name, full_page=True)
                page.close()
            close_ups = [
                shot["closeups"][0]
                for shot in found["shots"]
                if shot["name"] == "pricing" and shot["closeups"]
            ]
            (IMAGES / "close-up.png").write_bytes(httpx.get(close_ups[0]["url"]).content)
        finally:
            service.stop()


if __name__ == "__main__":
    main()
