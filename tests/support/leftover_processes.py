"""Ends what a run of tests would leave behind. A worker that is killed cannot stop what it started."""

import contextlib
import ctypes
import os
import signal

from support.service_processes import children

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def end_leftovers() -> None:
    """Kill every process below this one."""
    while left := children(os.getpid()):  # the children of those become ours, and are next
        for pid in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
