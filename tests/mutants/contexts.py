"""A pytest plugin for the run that finds out which tests run which lines, and how long each test takes."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

DURATIONS = "MUTANTS_DURATIONS"
"""The variable with the path of the file that gets the durations."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        if measuring is not None:
            measuring.switch_context("")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    seconds: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("", []):
        seconds[report.nodeid] += report.duration
    Path(os.environ[DURATIONS]).write_text(json.dumps(seconds))
