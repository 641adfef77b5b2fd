"""How a child process dies with the supervisor, even with one that was killed and could say nothing.

The supervisor holds the writing end of a pipe and never writes. When it is gone, the pipe reads as closed.
"""

import asyncio
import os


def hold(lifeline_fd: int) -> None:
    """End this process at once when the supervisor is gone.

    Nobody would restart or stop it any more, and a new supervisor needs its port.
    """
    asyncio.get_running_loop().add_reader(lifeline_fd, os._exit, 1)
