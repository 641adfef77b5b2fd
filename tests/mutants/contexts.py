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
    """Keep the durations of the tests that passed, with their setup."""
    passed = terminalreporter.stats.get("passed", [])
    seconds = Counter({report.nodeid: report.duration for report in passed})
    for report in terminalreporter.stats.get("", []):
        if report.nodeid in seconds:
            seconds[report.nodeid] += report.duration
    Path(os.environ[DURATIONS]).write_text(json.dumps(seconds))
