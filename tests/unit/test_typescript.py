"""The dashboard's TypeScript types match the Python types of the API's replies."""

from pathlib import Path

from prshots.server.api.dashboard.typescript import generate

CHECKED_IN = Path(__file__).parents[2] / "web/src/lib/types.ts"


def test_the_checked_in_types_are_up_to_date() -> None:
    assert generate() == CHECKED_IN.read_text(), "web/src/lib/types.ts is out of date: run make format"
