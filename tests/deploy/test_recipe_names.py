"""The recipes' own scripts give the files of each tool one name, with a column per screen."""

import os
import re
from pathlib import Path

from PIL import Image

from prshots.client.shots import find_shots
from support.deploy_checkers import ROOT
from support.processes import completed

RECIPES = ROOT / "docs" / "use" / "recipes"

FAKE_CYPRESS = "module.exports.defineConfig = (config) => config;"
AFTER_SCREENSHOT = """
const handlers = {};
const on = (event, handler) => { handlers[event] = handler; };
require("./cypress.config.js").e2e.setupNodeEvents(on, { screenshotsFolder: `${process.cwd()}/cypress/screenshots` });
for (const path of process.argv.slice(1))
  handlers["after:screenshot"]({ path, testFailure: path.includes("(failed)") });
"""

# `adb shell wm size` ends its lines with a carriage return.
FAKE_ADB = """#!/bin/sh
[ "$2" = wm ] && printf 'Physical size: 1080x2400\\r\\n'
exit 0
"""
FAKE_MAESTRO = """#!/bin/sh
run=${2#--test-output-dir=}/2026-01-02_030405/checkout
mkdir -p "$run/takeScreenshot" "$run/screenshots"
cp "$PICTURE" "$run/takeScreenshot/checkout-cart.png"
cp "$PICTURE" "$run/screenshots/screenshot-1.png"
cp "$PICTURE" "$run/screenshot-❌-1767322000123-(checkout).png"
exit 1
"""


def block(page: str, begins: str) -> str:
    """Return the code block of a recipe that begins with this line."""
    found = re.findall(r"^```\w*\n(.*?)^```$", (RECIPES / page).read_text(), re.MULTILINE | re.DOTALL)
    (text,) = [text for text in found if text.startswith(begins)]
    return str(text)


def write(folder: Path, *names: str) -> list[Path]:
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 10)).save(path)
    return paths


def shots(folder: Path) -> list[tuple[str, str, str]]:
    found, problems = find_shots([folder])
    assert problems == []
    return [shot.key for shot in found]


def run(folder: Path, *command: str, status: int = 0, **environ: str) -> None:
    done = completed(command, cwd=folder, env=os.environ | environ)
    assert done.returncode == status, done.stdout + done.stderr


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_cypress(tmp_path: Path) -> None:
    spec = tmp_path / "cypress" / "screenshots" / "shop" / "checkout.cy.ts"
    written = write(
        spec,
        "cart@1280x800.png",
        "cart@390x844.png",
        "cart@1280x800 (attempt 2).png",
        "cart@390x844 (attempt 2).png",
        "checkout -- cart (failed).png",
        "checkout -- cart (failed) (attempt 2).png",
    )
    (tmp_path / "cypress.config.js").write_text(block("cypress.md", "// cypress.config.js"))
    program(tmp_path / "node_modules" / "cypress" / "index.js", FAKE_CYPRESS)
    run(tmp_path, "node", "-e", AFTER_SCREENSHOT, *map(str, written))
    assert shots(tmp_path / "cypress" / "screenshots") == [
        ("failed/shop/checkout/checkout -- cart", "20x10", ""),
        ("shop/checkout/cart", "390x844", ""),
        ("shop/checkout/cart", "1280x800", ""),
    ]


def test_maestro(tmp_path: Path) -> None:
    (picture,) = write(tmp_path, "picture.png")
    script = tmp_path / ".maestro" / "take.sh"
    program(script, block("maestro.md", "# .maestro/take.sh"))
    program(tmp_path / "bin" / "adb", FAKE_ADB)
    program(tmp_path / "bin" / "maestro", FAKE_MAESTRO)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for theme in ("light", "dark"):
        run(tmp_path, "bash", str(script), theme, status=1, PATH=path, PICTURE=str(picture))
    assert shots(tmp_path / "screenshots") == [
        (name, "1080x2400", theme)
        for name in ("checkout-cart", "failed/checkout")
        for theme in ("dark", "light")
    ]


def test_storycap(tmp_path: Path) -> None:
    button = tmp_path / "__screenshots__" / "Components" / "Button"
    write(button, "Primary_1280x800.png", "Primary_390x844.png", "Two words_1280x800.png", "Alone.png")
    renaming = block("storybook.md", "npx --yes storycap@").partition("\nfind ")[2]
    run(tmp_path, "bash", "-c", f"find {renaming}")
    assert shots(tmp_path / "__screenshots__") == [
        ("Components/Button/Alone", "20x10", ""),
        ("Components/Button/Primary", "390x844", ""),
        ("Components/Button/Primary", "1280x800", ""),
        ("Components/Button/Two words", "1280x800", ""),
    ]


def test_paparazzi(tmp_path: Path) -> None:
    images = tmp_path / "app" / "src" / "test" / "snapshots" / "images"
    write(
        images,
        "com.example.shop_CartTest_cart_@393x851.dark.png",
        "com.example.shop_CartTest_cart_@1280x800.light.png",
        "com.example.shop_CartTest_empty.png",
        "com.example.shop_CartTest_two_words.png",
    )
    run(tmp_path, "bash", "-c", block("paparazzi.md", "# collect-snapshots.sh"))
    assert shots(tmp_path / "screenshots") == [
        ("shop/CartTest/cart", "393x851", "dark"),
        ("shop/CartTest/cart", "1280x800", "light"),
        ("shop/CartTest/empty", "20x10", ""),
        ("shop/CartTest/two_words", "20x10", ""),
    ]
