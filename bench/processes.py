"""Start a server, wait until it is ready, inspect its processes, and stop it."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench.run import BenchError

START_SECONDS = 30
STOP_SECONDS = 10
IDLE_SECONDS = 60
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@contextmanager
def running_server(
    command: Sequence[object],
    directory: Path,
    env: Mapping[str, str] | None = None,
    ready: Callable[[], bool] | None = None,
    user: str | None = None,
) -> Iterator[int]:
    """Run a server until the block ends. The block gets its process id once the server is ready."""
    program, *arguments = map(str, command)
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "server.log"
    with log.open("ab") as output:
        # Its own process group, to keep a stop from hitting other processes.
        process = subprocess.Popen(
            [program, *arguments],
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            user=user,
            process_group=0,
        )
    try:
        if ready is not None and not _becomes_ready(process, ready):
            last_lines = log.read_text(errors="replace")[-1000:]
            raise BenchError(f"{Path(program).name} was not ready in {START_SECONDS} s: {last_lines}")
        yield process.pid
    finally:
        _stop(process)


def _becomes_ready(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> bool:
    """Poll until the server is ready. A refused connection means that it is still starting."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            if ready():
                return True
        time.sleep(0.005)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def package_folder(name: str) -> Path:
    """Return a package's folder without importing it, because only its programs are needed."""
    package = find_spec(name)
    if package is None or package.origin is None:
        raise BenchError(f"{name} is not installed: run pip install 'prshots[bench]'")
    return Path(package.origin).parent


def accepts_connections(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def free_port() -> int:
    """Return a free port whose port 10000 above is also free, because SeaweedFS opens both."""
    for port in random.sample(range(20000, 32000), 200):
        if _is_free(port) and _is_free(port + 10000):
            return port
    raise BenchError("no free port found on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children.setdefault(int(_stat_fields(entry)[1]), []).append(int(entry.parent.name))
    found = [pid]
    for process in found:
        found.extend(children.get(process, []))
    return found


def comparing_processes(pid: int) -> list[int]:
    """Return the processes of a service that decode and compare images."""
    found = []
    for process in tree(pid):
        with suppress(OSError):
            if b"pictures.workers.worker" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


def _stat_fields(stat: Path) -> list[str]:
    """Return the fields after the command's name. The name itself can contain spaces and brackets."""
    return stat.read_text().rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    return sum(cpu_by_process(pid).values())


def cpu_by_process(pid: int) -> dict[int, float]:
    return {process: sum(seconds) for process, seconds in _cpu_times(pid).items()}


class CpuTime(NamedTuple):
    """CPU time in seconds, in user mode and in the kernel."""

    user: float
    system: float


def cpu_time(pid: int) -> CpuTime:
    """Return the CPU time of all processes of a server."""
    times = _cpu_times(pid).values()
    return CpuTime(sum(each.user for each in times), sum(each.system for each in times))


def _cpu_times(pid: int) -> dict[int, CpuTime]:
    """Return the CPU time of each process of a server. An ended process counts until its parent notices."""
    found = {}
    for process in tree(pid):
        with suppress(OSError):
            user, system = _stat_fields(Path(f"/proc/{process}/stat"))[11:13]
            found[process] = CpuTime(int(user) / _TICKS_PER_SECOND, int(system) / _TICKS_PER_SECOND)
    return found


def cpu_with_ended(pid: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    return sum(map(int, _stat_fields(Path(f"/proc/{pid}/stat"))[11:15])) / _TICKS_PER_SECOND


def cpu_of_machine() -> float:
    """Return the total busy time so far of all cores of this machine."""
    user, nice, system, _, _, *others = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return sum(map(int, [user, nice, system, *others[:2]])) / _TICKS_PER_SECOND


def wait_until_idle(pid: int) -> None:
    """Wait until a server is idle after its start or a load."""
    deadline = time.monotonic() + IDLE_SECONDS
    before = cpu_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = cpu_seconds(pid)
        # A drop doesn't mean idle either: a process has ended, and its time no longer counts.
        if abs(now - before) <= 0.02:
            return
        before = now
    raise BenchError(f"process {pid} was not idle within {IDLE_SECONDS} s")


def rss_bytes(pid: int) -> int:
    return sum(_kilobytes(process, "status", "VmRSS") for process in tree(pid)) * 1024


def pss_bytes(pid: int) -> int:
    """Return the memory of all processes, with shared pages counted once."""
    return sum(_kilobytes(process, "smaps_rollup", "Pss") for process in tree(pid)) * 1024


def forget_peak(pid: int) -> None:
    for process in tree(pid):
        Path(f"/proc/{process}/clear_refs").write_text("5")


def peak_rss_bytes(pid: int) -> int:
    """Return the sum of each process's own peak, which is at least the peak of the sum."""
    return sum(_kilobytes(process, "status", "VmHWM") for process in tree(pid)) * 1024


def _kilobytes(pid: int, file: str, name: str) -> int:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise BenchError(f"/proc/{pid}/{file} has no {name}")
