"""Ends a child process when the supervisor ends, even if the supervisor was killed.

The supervisor holds the write end of a pipe and never writes to it. When the supervisor ends, the pipe
closes.
"""

import os
import threading


def hold(lifeline_fd: int) -> None:
    """End this process immediately when the supervisor ends.

    Nothing would restart or stop this process anymore, and a new supervisor needs its port. A thread notices
    the end even if the event loop is busy or isn't running yet.
    """
    threading.Thread(target=_end_with, args=[lifeline_fd], name="lifeline", daemon=True).start()


def _end_with(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os._exit(1)
