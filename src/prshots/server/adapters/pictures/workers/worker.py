"""A picture worker: a process that decodes images, one job at a time, under limits that the kernel enforces.

`PictureWorkers` runs it as `python -P -m prshots.server.adapters.pictures.workers.worker CPU_SECONDS
MEMORY_BYTES NICENESS LIFELINE_FD`. It reads jobs from its standard input and writes replies to its standard
output.
"""

import contextlib
import fcntl
import math
import os
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from prshots.contract.errors import PictureError, PictureTooLargeError
from prshots.server.adapters.pictures.workers import jobs
from prshots.server.domain.comparison.models import PairResult

Operations = Mapping[str, Callable[..., bytes]]
"""Operations by name. Each takes the job's images and options, and raises PictureError."""


def main(operations: Operations | None = None) -> None:
    cpu_seconds, memory_bytes, niceness, lifeline_fd = map(int, sys.argv[1:])
    _end_with(lifeline_fd)
    os.nice(niceness)  # first, because imports take longer than most jobs
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library's output must not look like a reply
    operations = operations or _operations()
    _prefer_oom_kill()
    _limit(memory_bytes)
    while (job := jobs.read_job(sys.stdin.buffer)) is not None:
        _allow(cpu_seconds)
        replies.write(_reply(operations, job))
        replies.flush()


def _operations() -> Operations:
    from prshots.server.adapters.pictures.engine.decoding import identify
    from prshots.server.adapters.pictures.engine.thumbnail_rendering import render_thumbnail

    return {"thumbnail": render_thumbnail, "identify": identify, "compare": _compare}


def _compare(before: bytes, after: bytes, known: str) -> bytes:
    """Compare two images. If the second has the `known` identity of the first, don't decode the first."""
    from prshots.server.adapters.pictures.engine.decoding import DecodedPicture

    decoded = DecodedPicture(after)
    if decoded.pixels == known:
        return jobs.pack_pair(PairResult("unchanged", pixels_before=known, pixels_after=known))
    # numpy takes 20 MB and 0.1 s, which thumbnails and equal pixels don't need.
    from prshots.server.adapters.pictures.engine.compare import compare_decoded

    return jobs.pack_pair(compare_decoded(DecodedPicture(before, known), decoded))


def _reply(operations: Operations, job: jobs.PictureJob) -> bytes:
    try:
        return jobs.pack_result(operations[job.operation](*job.pictures, **job.options))
    except PictureError as error:
        return jobs.pack_error(error)
    except MemoryError:
        return jobs.pack_error(PictureTooLargeError("needs too much memory to decode"))


def _prefer_oom_kill() -> None:
    """Make Linux kill this process instead of the API if the machine or container runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _limit(memory_bytes: int) -> None:
    """Limit memory, and forbid writing files, including core dumps."""
    _set_limit(resource.RLIMIT_AS, memory_bytes, memory_bytes)
    _set_limit(resource.RLIMIT_CORE, 0, 0)
    _set_limit(resource.RLIMIT_FSIZE, 0, 0)


def _allow(cpu_seconds: int) -> None:
    """Make the kernel kill this process after `cpu_seconds` more. The limit counts from process start."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = math.ceil(usage.ru_utime + usage.ru_stime)
    _set_limit(resource.RLIMIT_CPU, used + cpu_seconds, resource.getrlimit(resource.RLIMIT_CPU)[1])


def _set_limit(which: int, soft: int, hard: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # macOS, for example, can't limit address space
        resource.setrlimit(which, (soft, hard))


def _end_with(lifeline_fd: int) -> None:
    """Make the kernel end this process with SIGIO when the parent, which has the other end, ends.

    A thread that waits for that would take address space, and a decoder could keep it from running.
    """
    fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, fcntl.fcntl(lifeline_fd, fcntl.F_GETFL) | os.O_ASYNC)


if __name__ == "__main__":
    main()
