"""The comparators that people run in CI instead of prshots. Each compares two folders of images."""

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.run import BenchError

FOLDER = Path(__file__).parent / "node_peers"
PACKAGES = FOLDER / "node_modules"
AT_ONCE = 2
_ODIFF_CHANGED = 22
"""odiff's exit code for changed images."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two folders with the same file names, as in a CI job, and the number of pairs that differ."""

    folder: Path
    changed: int

    @classmethod
    def write(cls, folder: Path, pairs: Mapping[str, tuple[bytes, bytes]], changed: int) -> "Pairs":
        for side in ("before", "after"):
            (folder / side).mkdir(parents=True)
        for name, (before, after) in pairs.items():
            (folder / "before" / f"{name}.png").write_bytes(before)
            (folder / "after" / f"{name}.png").write_bytes(after)
        return cls(folder, changed)

    @property
    def before(self) -> Path:
        return self.folder / "before"

    @property
    def after(self) -> Path:
        return self.folder / "after"


@dataclass(frozen=True, slots=True)
class Took:
    """Real time, and the CPU time of all processes."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Comparator:
    """A comparator and how to run it. `program` is a file that exists if it is installed."""

    name: str
    program: str
    compare: Callable[[Pairs, Path], int]
    """Compares, and returns the number of pairs that differ. The path is a folder for the difference images.
    """

    is_accounted: bool = True
    """False if it doesn't wait for its processes. The kernel then reports neither their time nor their
    memory."""

    @property
    def is_installed(self) -> bool:
        return (PACKAGES / self.program).exists() and shutil.which("node") is not None

    def measure(self, pairs: Pairs) -> Took:
        """Measure a comparison. Raises BenchError if it fails or finds a different number of changes."""
        differences = pairs.folder / "differences"
        shutil.rmtree(differences, ignore_errors=True)
        differences.mkdir()
        cpu, started = _cpu_of_children(), time.monotonic()
        changed = self.compare(pairs, differences)
        took = Took(time.monotonic() - started, _cpu_of_children() - cpu)
        if changed != pairs.changed:
            raise BenchError(f"{self.name} found {changed} changes instead of {pairs.changed}")
        return took


def _odiff(pairs: Pairs, differences: Path) -> int:
    """Run the command once for each pair, two at a time."""
    program = PACKAGES / "odiff-bin" / "bin" / "odiff.exe"

    def differs(file: Path) -> bool:
        command: list[str | Path] = [
            program,
            file,
            pairs.after / file.name,
            differences / file.name,
            "--antialiasing",
        ]
        return _ran(command, accepted=(0, _ODIFF_CHANGED)).returncode == _ODIFF_CHANGED

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return sum(threads.map(differs, sorted(pairs.before.iterdir())))


def _in_node(name: str) -> Callable[[Pairs, Path], int]:
    def compare(pairs: Pairs, differences: Path) -> int:
        script = FOLDER / "compare.mjs"
        return int(_ran(["node", script, name, pairs.before, pairs.after, differences]).stdout)

    return compare


def _reg_cli(pairs: Pairs, differences: Path) -> int:
    report = differences / "reg.json"
    program = PACKAGES / ".bin" / "reg-cli"
    options = ("--json", str(report), "--ignoreChange", "--concurrency", str(AT_ONCE))
    _ran([program, pairs.after, pairs.before, differences, *options], cwd=differences)
    return len(json.loads(report.read_text())["failedItems"])


COMPARATORS = (
    Comparator("odiff, 2 at a time", "odiff-bin/bin/odiff.exe", _odiff),
    Comparator("reg-cli, 2 at a time", ".bin/reg-cli", _reg_cli, is_accounted=False),
    Comparator("pixelmatch", "pixelmatch/package.json", _in_node("pixelmatch")),
    Comparator("Playwright's comparator", "playwright-core/package.json", _in_node("playwright")),
)


def installed(say: Callable[[str], None]) -> list[Comparator]:
    """Return the installed comparators, and report the missing ones."""
    for comparator in COMPARATORS:
        if not comparator.is_installed:
            say(f"{comparator.name} is left out: run `npm --prefix bench/node_peers ci` to install it")
    return [comparator for comparator in COMPARATORS if comparator.is_installed]


def _ran(
    command: Sequence[str | Path], accepted: Sequence[int] = (0,), cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode not in accepted:
        raise BenchError(f"{Path(command[0]).name} failed: {(ran.stderr or ran.stdout).strip()[-500:]}")
    return ran


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_bytes(comparator: Comparator, pairs: Pairs) -> int:
    """Return the peak memory of one process of this comparator, measured in a separate process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            comparator.measure(pairs)
            kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            os.write(write, str(kilobytes * 1024).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        text = told.read()
    os.waitpid(child, 0)
    if not text:
        raise BenchError(f"{comparator.name} failed on a large picture")
    return int(text)
