"""The processes of `prshots serve`: a supervisor and its children."""

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from prshots.contract.errors import SettingsError
from prshots.server.lean_imports import not_installed

# structlog imports these packages for colored tracebacks and green threads. We use neither, and they take 6
# MB in every process.
with not_installed("rich", "greenlet"):
    import structlog  # noqa: F401 - later imports reuse this one

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings

BACKLOG = 1024
"""How many connections can wait on a listening socket for a worker to accept them."""

WEB_SECONDS = 1.0
"""How long the other components accept connections after web stops, because web's last requests go to the
API."""


def settings_of_child() -> "Settings":
    """Load the supervisor's settings. Children inherit its environment.

    If the file has since become invalid, exit with one plain line. Logging isn't set up yet, because the log
    format is in the same file.
    """
    from prshots.server.config.settings import load_settings  # the supervisor needs no settings

    config = os.environ.get("PRSHOTS_CONFIG")
    try:
        return load_settings(Path(config) if config else None)
    except SettingsError as error:
        sys.exit(f"prshots: {error}")


def hold(lifeline_fd: int) -> None:
    """End this process immediately when the supervisor ends, even if the supervisor was killed.

    Nothing would restart or stop this process anymore, and a new supervisor needs its port. Only the
    supervisor has the other end of this pipe, and it never writes, so a read ends with the supervisor. A
    thread notices that even if the event loop is busy or isn't running yet.
    """
    threading.Thread(target=_end_with, args=[lifeline_fd], name="lifeline", daemon=True).start()


def _end_with(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os._exit(1)
