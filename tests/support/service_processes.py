"""Find, kill and wait for the processes of a running service."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx

from support.service import PRSHOTS, Service
from support.waiting import wait_until

WORKERS = ("web", "api", "delivery")


def serve(
    service: Service, *arguments: str, env: dict[str, str] | None = None, own_group: bool = False
) -> subprocess.Popen[bytes]:
    """Start `prshots serve` with these arguments, without waiting for it. The fixture stops it."""
    with (service.folder / "serve.log").open("ab") as log:
        service.process = subprocess.Popen(
            [PRSHOTS, "serve", *arguments],
            env=env or service.env,
            stdout=log,
            stderr=log,
            start_new_session=own_group,
        )
    return service.process


def supervisor_pid(service: Service) -> int:
    assert service.process is not None
    return service.process.pid


def children(pid: int) -> list[int]:
    """Return the children started by any thread of this process."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def component_of(pid: int) -> str:
    """Return what a supervisor's child runs, from its command line: a component, "sweeper", or "" if it has exited."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    found = re.search(r"\0prshots\.server\.processes\.(?:worker\0)?(\w+)\0", command)
    return found[1] if found else ""


def component_pids(service: Service) -> dict[str, int]:
    """Return the pid of each running component."""
    found = {component_of(pid): pid for pid in children(supervisor_pid(service))}
    found.pop("", None)
    return found


def pids_of(service: Service, component: str) -> list[int]:
    """Return the pids of all workers of a component."""
    return sorted(pid for pid in children(supervisor_pid(service)) if component_of(pid) == component)


def wait_for_first_sweep(service: Service) -> None:
    """Wait until the sweep at startup is done and only the workers run."""
    pid = supervisor_pid(service)
    # The sweep writes a marker into the images folder. The process list alone cannot tell a sweep that has not
    # started from one that is done.
    wait_until((service.images_dir / ".installation").exists, "the first sweep")
    wait_until(
        lambda: all(component_of(child) in WORKERS for child in children(pid)), "the end of the first sweep"
    )


def process_state(pid: int) -> str:
    """Return the process state letter from /proc, and Z (zombie) for a process that no longer exists."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def is_alive(pid: int) -> bool:
    """Tell whether a process runs. A zombie does not."""
    return process_state(pid) != "Z"


def kill(pid: int) -> None:
    """Kill -9, and wait until the process is dead."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), f"the end of process {pid}")


def kill_supervisor(service: Service) -> None:
    assert service.process is not None
    service.process.kill()
    service.process.wait(timeout=60)


def is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=5, trust_env=False, verify=False).status_code == 200
    except httpx.TransportError:
        return False


def metric(address: str, series: str) -> float:
    """Return the value of a series in a component's metrics; 0 if it has none."""
    text = httpx.get(f"{address}/metrics", timeout=30, trust_env=False).text
    found = re.search(rf"^{re.escape(series)} (\S+)", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def own_resident_bytes(pid: int) -> int:
    """Return the memory that a process uses now, without its descendants. Return 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 1024 * next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)


def resident_bytes(pid: int) -> int:
    """Return the memory that a process and its descendants use now."""
    return own_resident_bytes(pid) + sum(map(resident_bytes, children(pid)))


@contextlib.contextmanager
def memory_samples(pid: int) -> Iterator[list[int]]:
    """Sample `resident_bytes` while the block runs. The first sample is from before it."""
    samples, done = [resident_bytes(pid)], threading.Event()

    def sample() -> None:
        while not done.wait(0.01):
            samples.append(resident_bytes(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def records(service: Service, columns: str = "id") -> list[tuple[object, ...]]:
    """Read the image records directly from the database, read-only."""
    uri = f"file:{service.data_dir / 'prshots.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=20)) as database:
        return database.execute(f"SELECT {columns} FROM images ORDER BY seq").fetchall()


def change_database(service: Service, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(service.data_dir / "prshots.db", timeout=20)) as database:
        database.execute(statement, values)
        database.commit()


def image_files(service: Service) -> set[str]:
    """Return all files in the images folder, including half-written ones, except the store's marker."""
    return service.stored_files()


def recorded_files(service: Service) -> set[str]:
    """Return the files that the records name."""
    return {f"{str(image_id)[:2]}/{image_id}.{ext}" for image_id, ext in records(service, "id, ext")}


def fetch(view_url: str) -> httpx.Response:
    return httpx.get(view_url, timeout=30, trust_env=False)


def key_of(view_url: str) -> str:
    """Return the path of this URL's file in the images folder."""
    name = httpx.URL(view_url).path.removeprefix("/i/")
    return f"{name[:2]}/{name}"


def delete_all(service: Service, client: httpx.Client) -> None:
    """Delete everything, for the next test that shares the service."""
    for (image_id,) in records(service):
        assert client.delete(f"/v1/images/{image_id}").status_code == 200
    assert image_files(service) == set()
