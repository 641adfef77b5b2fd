"""Every link in the docs leads somewhere, and every page is in an index."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("clients/*/README.md"), DOCS / "llms.txt"]
)
OUR_FILES = "https://github.com/prshots/prshots/blob/main/"
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def links(page: Path) -> Iterator[str]:
    """Yield the targets of links and images, except links to other sites."""
    for target in re.findall(r"\]\(([^()\s]+)\)", prose(page)):
        if target.startswith(OUR_FILES) or not re.match(r"[a-z]+:", target):
            yield target


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub generates for a page's headings."""
    seen: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        if number:
            seen[f"{slug}-{number}"] = 0
    return set(seen)


def resolve(page: Path, path: str) -> Path:
    if path.startswith(OUR_FILES):
        return ROOT / path.removeprefix(OUR_FILES)
    return (page.parent / path).resolve() if path else page


def test_links_resolve() -> None:
    broken = []
    for page in PAGES:
        for target in links(page):
            path, _, anchor = target.partition("#")
            file = resolve(page, path)
            if not file.exists() or (anchor and (file.suffix != ".md" or anchor not in anchors(file))):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_page_is_in_an_index() -> None:
    """The docs index lists every page, or links to a folder's index that does."""
    indexes = sorted(DOCS.rglob("README.md"))
    listed = {resolve(index, target.partition("#")[0]) for index in indexes for target in links(index)}
    assert {page for page in DOCS.rglob("*.md") if page not in listed} == {DOCS / "README.md"}


@pytest.mark.parametrize("folder", ["src/prshots", "deploy", "action", "templates", "web/src", "bench"])
def test_pages_named_outside_the_docs_exist(folder: str) -> None:
    """Error messages, comments and deploy files name pages too, such as `docs/run/settings.md`."""
    named = {
        name
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and not {"assets", "node_modules"} & set(file.parts)  # built or installed
        for name in re.findall(r"docs/[a-z/-]+\.md(?:#[a-z-]+)?", file.read_text(errors="replace"))
    }
    broken = set()
    for name in named:
        path, _, anchor = name.partition("#")
        if not (ROOT / path).exists() or (anchor and anchor not in anchors(ROOT / path)):
            broken.add(name)
    assert broken == set()
