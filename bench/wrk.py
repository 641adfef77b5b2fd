"""Load a server with wrk, and compare servers by loading them in turn."""

import http.client
import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.run import BenchError

SCRIPT = Path(__file__).with_name("wrk_requests.lua")
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Load:
    """The requests for one server. wrk requests the paths in turn."""

    address: str
    paths: Sequence[str]
    method: str = "GET"
    body: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    requests: int
    per_second: float
    bytes_each: float
    p50_ms: float


def require_wrk() -> None:
    if shutil.which("wrk") is None:
        raise BenchError("wrk is missing: install it with `apt-get install wrk` (or `brew install wrk`)")


def wrk(load: Load, *, connections: int, seconds: int) -> Result:
    """Run wrk on one thread. Raises BenchError if even one request fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".paths") as paths:
        paths.write("\n".join(load.paths) + "\n")
        paths.flush()
        arguments = [load.method, paths.name, str(load.body or "-")]
        arguments += [word for header in load.headers.items() for word in header]
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout=20s", f"--script={SCRIPT}"]
        ran = subprocess.run(
            [*command, load.address, "--", *arguments], capture_output=True, text=True, check=False
        )
    if ran.returncode != 0:
        raise BenchError(f"wrk failed: {ran.stderr.strip() or ran.stdout.strip()}")
    return _result(load, json.loads(ran.stdout.splitlines()[-1]))


def _result(load: Load, told: dict[str, float]) -> Result:
    if told["bad_status"] or told["broken"] or not told["requests"]:
        raise BenchError(
            f"{load.method} {load.address}{load.paths[0]}: of {told['requests']:.0f} requests "
            f"{told['bad_status']:.0f} got an error status and {told['broken']:.0f} were cut off"
        )
    return Result(
        requests=int(told["requests"]),
        per_second=told["requests"] / told["microseconds"] * 1e6,
        bytes_each=told["bytes"] / told["requests"],
        p50_ms=told["p50_ms"],
    )


def in_turn(
    measures: Mapping[str, Callable[[], float]], say: Callable[[str], None], what: str
) -> dict[str, float]:
    """Return the median of each measure. Each round runs all of them, so noise affects them equally."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(1, ROUNDS + 1):
        for name, measure in measures.items():
            taken[name].append(measure())
        figures = ", ".join(f"{name} {values[-1]:,.0f}/s" for name, values in taken.items())
        say(f"{what}, round {number} of {ROUNDS}: {figures}")
    return {name: statistics.median(values) for name, values in taken.items()}


def status_of(address: str, path: str) -> int:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
