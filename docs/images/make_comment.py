"""Make comment.png, banner.png and their dark versions: comments on pull requests, as GitHub shows them. And close-up.png.

The pull requests are the tests' redesign of a small shop and its notice on all pages, and the comments come from a
running service. It needs Chromium and the `dev` extra: `.venv/bin/python docs/images/make_comment.py`.
"""

import sys
import tempfile
from pathlib import Path

import httpx

IMAGES = Path(__file__).parent
sys.path.append(str(IMAGES.parents[1] / "tests"))

from support.chromium import chromium  # noqa: E402
from support.forge_pages import THEMES, open_comment  # noqa: E402
from support.reviewed_shop import NOTICE, REDESIGN, review  # noqa: E402
from support.service import Service  # noqa: E402

NAMES = {REDESIGN: ("comment.png", "comment-dark.png"), NOTICE: ("banner.png", "banner-dark.png")}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        service = Service(Path(folder)).start()
        try:
            with service.client(service.new_token(uploads_per_minute=1000)) as ci:
                for request, names in NAMES.items():
                    found = review(ci, browser, request)
                    if request is REDESIGN:
                        [shot, *_] = [shot for shot in found["shots"] if shot["name"] == "pricing"]
                        (IMAGES / "close-up.png").write_bytes(httpx.get(shot["closeups"][0]["url"]).content)
                    params = {"pr_number": request.number, "view": "changes"}
                    markdown = ci.get("/v1/comment", params=params).json()["markdown"]
                    for theme, name in zip(THEMES, names, strict=True):
                        page = open_comment(browser, markdown, "github", theme)
                        page.screenshot(path=IMAGES / name, full_page=True)
                        page.close()
        finally:
            service.stop()


if __name__ == "__main__":
    main()
