"""The processes of `prshots serve`: a supervisor and its children."""

import os
import sys
from pathlib import Path

from prshots.contract.errors import SettingsError
from prshots.server.config.settings import Settings, load_settings

BACKLOG = 1024
"""How many connections may wait on a listening socket until a worker accepts them."""


def settings_of_child() -> Settings:
    """Load the supervisor's settings, whose environment its children inherit.

    If the file has become invalid since then, exit with one plain line. The log format is in the same file,
    so logging is not set up yet.
    """
    config = os.environ.get("PRSHOTS_CONFIG")
    try:
        return load_settings(Path(config) if config else None)
    except SettingsError as error:
        sys.exit(f"prshots: {error}")
