"""A drill's progress, its result, and the file that keeps the results."""

import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

PROGRESS_SECONDS = 5.0
TRACEBACK_LINES = 40
SHOWN_VIOLATIONS = 20


def say(text: str) -> None:
    print(text, flush=True)


@dataclass
class Progress:
    """Counts what is done, and prints a line every few seconds."""

    total: int
    unit: str
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def note(self, done: int, failures: int) -> None:
        self.done = done
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            rate = self.done / max(self.seconds, 0.001)
            say(f"{self.done:,} of {self.total:,} {self.unit}, {failures} violations, {rate:,.1f}/s")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


@dataclass(frozen=True)
class Result:
    """The outcome of one drill. It can be repeated with the same seed."""

    drill: str
    count: int
    unit: str
    seed: int
    seconds: float
    figures: dict[str, int]
    violations: int
    measured_on: str = field(default_factory=lambda: time.strftime("%Y-%m-%d", time.gmtime()))
    machine: str = field(
        default_factory=lambda: (
            f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
        )
    )

    def __str__(self) -> str:
        figures = "".join(f", {value:,} {name}" for name, value in self.figures.items())
        rate = self.count / max(self.seconds, 0.001)
        return (
            f"{self.drill}: {self.count:,} {self.unit} in {self.seconds:,.0f} s ({rate:,.1f}/s){figures}; "
            f"{self.violations} violations; seed {self.seed}"
        )


def result_of(
    drill: str, progress: Progress, seed: int, figures: dict[str, int], violations: list[str]
) -> Result:
    """Return the result, and print the violations to stderr."""
    for violation in violations[:SHOWN_VIOLATIONS]:
        print(f"VIOLATION {violation}", file=sys.stderr)
    if len(violations) > SHOWN_VIOLATIONS:
        print(f"… and {len(violations) - SHOWN_VIOLATIONS} more", file=sys.stderr)
    seconds = round(progress.seconds, 1)
    return Result(drill, progress.done, progress.unit, seed, seconds, figures, len(violations))


def read_results(file: Path) -> dict[str, Result]:
    return {name: Result(**told) for name, told in json.loads(file.read_text()).items()}


def write_result(result: Result, file: Path) -> None:
    """Write the result. A file that exists keeps the results of the other drills."""
    kept = read_results(file) if file.exists() else {}
    told = {name: asdict(each) for name, each in (kept | {result.drill: result}).items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told, indent=2) + "\n")


def errors_in(log: str) -> list[str]:
    """Return the unexpected errors in a service's log, each with its traceback."""
    lines = log.splitlines()
    return [
        "log: " + "\n    ".join(line[:500] for line in lines[number : number + TRACEBACK_LINES])
        for number, line in enumerate(lines)
        if "Traceback" in line or "internal error" in line
    ]
