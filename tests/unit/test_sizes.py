"""Sizes for people: one unit everywhere, and the same words in every language."""

import re
from pathlib import Path
from typing import Any

import pytest

from prshots.contract.sizes import readable_size
from support.vectors import cases

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("case", cases("sizes", "sizes"))
def test_sizes(case: dict[str, Any]) -> None:
    assert readable_size(case["bytes"]) == case["words"]


def test_docs_use_the_same_units() -> None:
    """1 KB is 1024 bytes here. kB is 1,000 elsewhere, and KiB says the same in other words."""
    other = re.compile(r"\d+ ?(?:kB|[KMGT]iB)\b")
    assert [page for page in PAGES if other.search(page.read_text(encoding="utf-8"))] == []
