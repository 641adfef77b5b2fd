"""CONTRIBUTING.md names commands and files that exist, and `make help` lists the same commands."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_each_path_exists() -> None:
    """Paths in the layout and in the table of changes may be relative to src/prshots, and may be globs."""
    places = [ROOT, ROOT / "src" / "prshots"]
    named = set(re.findall(r"`([\w.*-]+(?:/[\w.*-]*)+|[\w-]+\.(?:md|toml|txt|yml))`", PAGE))
    assert len(named) > 100
    missing = {name for name in named if not any(any(place.glob(name.rstrip("/"))) for place in places)}
    assert missing == set()


def test_the_table_of_commands_matches_make_help() -> None:
    described = dict(re.findall(r"^([a-z-]+):.*?## (.+)$", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"^\| `make ([a-z-]+)` \|", section("Commands"), re.MULTILINE))
    assert named <= set(described)
    assert set(described) - named == {"install", "clean"}


def test_every_test_folder_is_described() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0] not in "._"}
    described = set(re.findall(r"^\| `tests/(\w+)/` \|", section("Tests"), re.MULTILINE))
    assert described == folders


def test_every_package_folder_is_described() -> None:
    package = ROOT / "src" / "prshots"
    folders = {
        path.parent for pattern in ("*/__init__.py", "server/*/__init__.py") for path in package.glob(pattern)
    }
    folders.remove(package / "server")
    described = set(re.findall(r"`([\w/]+)/`", section("Layout")))
    assert {str(folder.relative_to(package)) for folder in folders} <= described
