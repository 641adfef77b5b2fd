"""How many processors this process may use."""

import math
import os
from pathlib import Path

_OWN_CGROUP, _CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def usable_processors() -> int:
    """Return at least 1: the processors of its CPU affinity, up to the quota of its container."""
    with_affinity = hasattr(os, "sched_getaffinity")
    available = len(os.sched_getaffinity(0)) if with_affinity else os.cpu_count() or 1
    return max(1, math.ceil(min(available, quota(_OWN_CGROUP, _CGROUPS))))


def quota(own_cgroup: Path, cgroups: Path) -> float:
    """Return how many processors the cgroup may use: `docker run --cpus`, systemd's `CPUQuota`."""
    try:
        own = own_cgroup.read_text().strip().removeprefix("0::/")
        microseconds, period = (cgroups / own / "cpu.max").read_text().split()
        return int(microseconds) / int(period)  # without a quota it is "max", a ValueError
    except (OSError, ValueError):
        return math.inf
