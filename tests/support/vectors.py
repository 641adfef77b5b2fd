"""Test vectors that both clients must satisfy: the Python client here, the Playwright reporter in Node."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "vectors"


def vectors(name: str) -> dict[str, Any]:
    """Return the vectors of one file, such as `ci_detection`."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def cases(name: str, section: str) -> list[Any]:
    """Return one section as test parameters, with the case names as ids."""
    return [
        pytest.param(
            case,
            id=str(case.get("case", number)),
            marks=[pytest.mark.skip(reason=case["not_in_python"])] if "not_in_python" in case else [],
        )
        for number, case in enumerate(vectors(name)[section])
    ]
