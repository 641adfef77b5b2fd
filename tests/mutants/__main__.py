"""Change one thing in the code, run the tests of that line, and see whether one fails: `make mutants`.

The changes are made in copies of src/: the checkout stays as it is. A mutant that no test notices is a survivor; each
is printed as a diff. Survivors are a list of tests to write, not an error.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from mutants.coverage_map import ROOT, CoverageMap, measure
from mutants.source import DROPPED, Mutant, mutants_of

SERVER = ROOT / "src" / "prshots" / "server"
PACKAGES = ["domain", "adapters/sql", "delivery"]
WORK = ROOT / "coverage" / "mutants"
KILLED, SURVIVED, LATE, UNTESTED = "killed", "survived", "killed by time", "no fast test runs it"


def main() -> int:
    options = _options()
    data, durations = WORK / "data", WORK / "durations.json"
    if not (options.reuse and durations.exists()):
        measure(data, durations)
    sources = [path for package in PACKAGES for path in sorted((SERVER / package).rglob("*.py"))]
    sources = [path for path in sources if "migrations" not in path.parts]
    coverage_map = CoverageMap(data, durations, sources)
    mutants = [mutant for path in sources for mutant in mutants_of(path)]
    if options.project_id:
        mutants = [mutant for mutant in mutants if mutant.kind == DROPPED and "project_id" in mutant.before]
    else:
        seed = options.seed or random.randrange(1, 10**9)
        print(f"{options.count} of {len(mutants):,} mutants, seed {seed}", flush=True)
        mutants = random.Random(seed).sample(mutants, min(options.count, len(mutants)))
    unchanged = next(mutant for mutant in mutants if coverage_map.tests_of(mutant))
    unchanged = replace(unchanged, text=unchanged.path.read_text())
    if _try(unchanged, coverage_map, options.seconds)[0] != SURVIVED:
        print("Tests fail although nothing is changed. Run make test first.", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda mutant: _try(mutant, coverage_map, options.seconds), mutants)
        counts = Counter(map(_print, mutants, outcomes))
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants MUTANTS=", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many mutants to try (%(default)s)")
    parser.add_argument("--seed", type=int, help="try the same mutants again")
    parser.add_argument(
        "--project-id", action="store_true", help="try every condition on project_id in SQL instead"
    )
    parser.add_argument("--reuse", action="store_true", help="trust what the last run measured of the tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="of tests for each mutant (%(default)s)")
    return parser.parse_args()


def _print(mutant: Mutant, outcome: tuple[str, str]) -> str:
    result, tests = outcome
    place = f"{mutant.path.relative_to(SERVER)}:{mutant.first_line}"
    print(f"{result:20} {place}  {mutant.kind}  ({tests})", flush=True)
    if result in (SURVIVED, UNTESTED):
        print(mutant.diff(), flush=True)
    return result


def _try(mutant: Mutant, coverage_map: CoverageMap, seconds: float) -> tuple[str, str]:
    """Return what became of it, and how many tests ran of those that run its lines."""
    tests = coverage_map.tests_of(mutant)
    chosen = coverage_map.within(tests, seconds)
    if not chosen:
        return UNTESTED, "no tests"
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)
        (copy / mutant.path.relative_to(ROOT / "src")).write_text(mutant.text)
        names = Path(folder) / "tests.txt"
        names.write_text("\n".join(chosen))
        return _run(names, copy, Path(folder), 60 + 4 * seconds), f"{len(chosen)} of {len(tests)} tests"


def _run(names: Path, source: Path, folder: Path, limit: float) -> str:
    options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
    options += ["--timeout", "30", "--hypothesis-seed", "0"]
    command = [sys.executable, "-m", "pytest", *options, f"@{names}"]
    environment = os.environ | {"PYTHONPATH": str(source), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder)}
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return LATE
    return SURVIVED if code == 0 else KILLED


if __name__ == "__main__":
    sys.exit(main())
