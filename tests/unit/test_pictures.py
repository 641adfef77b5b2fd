"""The pictures in docs/understand/architecture.md: drawn by a script, in light and dark, and up to date."""

import importlib
import re
from pathlib import Path

import pytest

UNDERSTAND = Path(__file__).parents[2] / "docs" / "understand"
IMAGES = UNDERSTAND / "images"
NAMES = {f"{name}-{theme}.svg" for name in ("architecture", "folders") for theme in ("light", "dark")}


def test_the_checked_in_pictures_match_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(IMAGES)
    importlib.import_module("make_pictures").main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == NAMES
    old = {name for name in NAMES if (tmp_path / name).read_text() != (IMAGES / name).read_text()}
    assert old == set(), "run python docs/understand/images/make_pictures.py"


def test_the_page_shows_every_picture_in_both_themes() -> None:
    page = (UNDERSTAND / "architecture.md").read_text()
    assert set(re.findall(r'images/([\w-]+\.svg)"', page)) == NAMES
