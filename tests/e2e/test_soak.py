"""The service under a mixed load for a long time: descriptors, processes and memory must not grow.

`SOAK_MINUTES=2 .venv/bin/pytest -n 0 -s -m nightly tests/e2e/test_soak.py` tries it for a shorter time.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from statistics import median
from typing import Any, NamedTuple

import httpx
import pytest

from support.drawn_pages import drawn_page, sha
from support.service import Service, upload
from support.service_processes import (
    children,
    component_pids,
    descriptors,
    fetch,
    own_resident_bytes,
    wait_for_first_sweep,
)

MINUTES = float(os.environ.get("SOAK_MINUTES", "25"))
SHOTS = 4
ADDED_DESCRIPTORS = 5
"""Connections and picture workers come and go. A leak in each round adds hundreds."""
ADDED_PROCESSES = 1
ADDED_MB = 8
"""In a soak, the API's bounded caches (images, signed URLs, SQLite's pages) don't get full: 5 MB are normal."""


class Sample(NamedTuple):
    """What a component uses between two rounds."""

    descriptors: float
    processes: float
    megabytes: float


def sample(pid: int) -> Sample:
    return Sample(descriptors(pid), len(children(pid)), own_resident_bytes(pid) / 1024**2)


def work_a_round(client: httpx.Client, threads: ThreadPoolExecutor, number: int) -> None:
    """Upload, compare twice at once so that one run replaces the other, comment, deliver and expire."""
    pr_number, base, commit = number, sha(f"base {number}"), sha(f"commit {number}")
    for shot in range(SHOTS):
        before, after = (
            drawn_page(f"{number} {shot}", button=button, scale=4) for button in ("#0060df", "#d70022")
        )
        shown = {"name": f"shot {shot}", "viewport": "1280x960"}
        upload(
            client, before, path="/v1/baseline", branch="main", commit_sha=base, **shown
        ).raise_for_status()
        url = upload(client, after, pr_number=pr_number, commit_sha=commit, **shown).json()["view_url"]
        fetch(url).raise_for_status()
    asked = {"pr_number": pr_number, "commit_sha": commit, "branch": "main", "commits": [base]}

    def compare(_: int) -> dict[str, Any]:
        reply = client.post("/v1/compare", json=asked)
        while reply.status_code == 202:
            reply = client.post("/v1/compare", json=asked)
        found: dict[str, Any] = reply.raise_for_status().json()
        return found

    for found in threads.map(compare, range(2)):
        assert found["counts"]["changed"] == SHOTS, found
    client.get("/v1/comment", params={"pr_number": pr_number, "view": "changes"}).raise_for_status()
    merged = {"pr_number": pr_number, "merged_as": sha(f"merge {number}"), "branch": "main"}
    assert client.post("/v1/expire", json=merged).json()["expired"] == SHOTS


@pytest.mark.nightly
@pytest.mark.timeout(MINUTES * 60 * 2 + 300)
def test_descriptors_processes_and_memory_stay_flat_under_a_mixed_load(service: Service) -> None:
    service.settings["UPLOADS_PER_MINUTE"] = "100000"
    service.start()
    wait_for_first_sweep(service)
    pids = {name: pid for name, pid in component_pids(service).items() if name != "sweeper"}
    samples: dict[str, list[Sample]] = {name: [] for name in pids}
    until = time.monotonic() + MINUTES * 60
    with service.client(service.new_token()) as client, ThreadPoolExecutor(2) as threads:
        for number in count(1):
            work_a_round(client, threads, number)
            for name, pid in pids.items():
                samples[name].append(sample(pid))
            print(number, {name: tuple(taken[-1]) for name, taken in samples.items()}, flush=True)
            if time.monotonic() > until:
                break
    for name, taken in samples.items():
        early, late = _after_warm_up(taken)
        added = Sample(*(_median(late, field) - _median(early, field) for field in Sample._fields))
        print(f"{name}: {len(taken)} rounds, added {added}")
        assert added.descriptors <= ADDED_DESCRIPTORS, name
        assert added.processes <= ADDED_PROCESSES, name
        assert added.megabytes <= ADDED_MB, name


def _median(taken: Sequence[Sample], field: str) -> float:
    return median(getattr(each, field) for each in taken)


def _after_warm_up(taken: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Return the second quarter of the samples and the last."""
    quarter = max(1, len(taken) // 4)
    return taken[quarter : 2 * quarter] or taken, taken[-quarter:]
