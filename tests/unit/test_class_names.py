"""One meaning per class name: no two public classes of the program have the same one."""

import ast
from collections import defaultdict
from pathlib import Path

import prshots

SOURCE = Path(prshots.__file__).parent


def test_no_two_public_classes_have_the_same_name() -> None:
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert len(places) > 300
    double = {name: found for name, found in places.items() if len(found) > 1}
    assert double == {}
