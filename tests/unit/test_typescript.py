"""The dashboard's TypeScript types match the Python types of the API's replies."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from prshots.server.api.dashboard.typescript import generate

CHECKED_IN = Path(__file__).parents[2] / "web/src/lib/types.ts"
EVERY_KIND = '''
from typing import Literal, TypedDict

from prshots.contract.limits import Policy


class ThingView(TypedDict):
    """A thing."""

    name: str
    size: int | None
    """In bytes."""
    policy: Policy
    state: Literal["new", "old"] | None


class ThingListView(ThingView):
    things: list[ThingView]
    flags: dict[str, bool | None]


class NotAView:
    name: str
'''


def module(folder: Path, source: str) -> ModuleType:
    """Import a module with this source."""
    path = folder / "some_views.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_checked_in_types_are_up_to_date() -> None:
    assert generate() == CHECKED_IN.read_text(), "web/src/lib/types.ts is out of date: run make format"


def test_every_kind_of_type_is_translated(tmp_path: Path) -> None:
    text = generate((module(tmp_path, EVERY_KIND),))
    assert text[text.index("/** A thing") :] == (
        "/** A thing. */\n"
        "export interface Thing {\n"
        "  name: string;\n"
        "  /** In bytes. */\n"
        "  size: number | null;\n"
        "  policy: Policy;\n"
        '  state: "new" | "old" | null;\n'
        "}\n"
        "\n"
        "export interface ThingList extends Thing {\n"
        "  things: Thing[];\n"
        "  flags: Record<string, boolean | null>;\n"
        "}\n"
    )


def test_a_type_that_json_cannot_represent_is_refused(tmp_path: Path) -> None:
    source = "from typing import TypedDict\n\nclass ThingView(TypedDict):\n    at: complex\n"
    with pytest.raises(TypeError, match="complex"):
        generate((module(tmp_path, source),))
