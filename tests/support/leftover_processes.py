"""Clean up processes after a test run: a worker that is killed cannot stop the ones it started."""

import contextlib
import ctypes
import os
import signal

from support.service_processes import children

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose parent exits."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def end_leftovers() -> None:
    """Kill all descendants of this process."""
    while left := children(os.getpid()):  # their children become ours and are killed next
        for pid in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
