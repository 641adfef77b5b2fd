"""Which tests run a line of the source, and how long they take."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from coverage import CoverageData

from mutants.contexts import DURATIONS
from mutants.source import Mutant

ROOT = Path(__file__).parents[2]
FOLDERS = ["tests/unit", "tests/contracts", "tests/http"]
EMBEDDED_ENGINES = "not postgresql and not s3 and not valkey"
"""A mutant runs with what needs no server to start."""


def measure(data: Path, durations: Path) -> None:
    """Run the fast tests once, and keep which lines each of them runs. Only those that pass are used."""
    shutil.rmtree(data.parent, ignore_errors=True)
    data.parent.mkdir(parents=True)
    environment = os.environ | {DURATIONS: str(durations), "COVERAGE_FILE": str(data)}
    tests = ["-m", "not slow", "-k", EMBEDDED_ENGINES, *FOLDERS]
    pytest = ["-m", "pytest", "-q", "--numprocesses", "2", "-p", "mutants.contexts", *tests]
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "run", *pytest], cwd=ROOT, env=environment, check=False)
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, env=environment, check=True)


class CoverageMap:
    def __init__(self, data: Path, durations: Path, sources: Iterable[Path]) -> None:
        self._data = CoverageData(str(data))
        self._data.read()
        self._seconds: dict[str, float] = json.loads(durations.read_text())
        self._sources = list(sources)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the changed lines, or what uses a constant there. The fastest come first."""
        tests = self._tests_at(mutant.path, range(mutant.first_line, mutant.last_line + 1))
        for path, lines in self._users(mutant).items():
            tests |= self._tests_at(path, lines)
        return sorted(tests & self._seconds.keys(), key=lambda test: self._seconds[test])

    def within(self, tests: list[str], seconds: float) -> list[str]:
        """Return the first tests that together take at most this long."""
        chosen = []
        for test in tests:
            seconds -= self._seconds[test]
            if seconds < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    def _tests_at(self, path: Path, lines: Iterable[int]) -> set[str]:
        by_line = self._data.contexts_by_lineno(str(path))
        return {test for line in lines for test in by_line.get(line, ()) if test}

    def _users(self, mutant: Mutant) -> dict[Path, set[int]]:
        """Return the lines that use the module's constant that the mutant changes, or a constant made with it."""
        users = defaultdict[Path, set[int]](set)
        constants = _constants(ast.parse(mutant.path.read_text()))
        names = [
            name for name, made in constants if made.lineno <= mutant.first_line <= (made.end_lineno or 0)
        ]
        while names:
            for path, line, constant in self._uses.get(names.pop(), ()):
                if line not in users[path]:
                    users[path].add(line)
                    names += [constant] if constant else []
        return users

    @cached_property
    def _uses(self) -> dict[str, list[tuple[Path, int, str]]]:
        """Return, for each name, where it is read, and the module's constant that is made with it there, or ""."""
        uses = defaultdict(list)
        for path in self._sources:
            tree = ast.parse(path.read_text())
            made = {id(node): name for name, statement in _constants(tree) for node in ast.walk(statement)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    uses[node.id].append((path, node.lineno, made.get(id(node), "")))
        return uses


def _constants(tree: ast.Module) -> list[tuple[str, ast.stmt]]:
    return [
        (target.id, statement)
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    ]
