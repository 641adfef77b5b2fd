"""Ends a child process when the supervisor ends, even if the supervisor was killed.

The supervisor holds the write end of a pipe and never writes. When it ends, the pipe is closed.
"""

import asyncio
import os


def hold(lifeline_fd: int) -> None:
    """End this process immediately when the supervisor ends.

    Nothing would restart or stop it anymore, and a new supervisor needs its port.
    """
    asyncio.get_running_loop().add_reader(lifeline_fd, os._exit, 1)
