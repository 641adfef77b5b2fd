"""The processes of `prshots serve`: a supervisor and its children."""

import os
import sys
from pathlib import Path

from prshots.contract.errors import SettingsError
from prshots.server.config.settings import Settings, load_settings

BACKLOG = 1024
"""Connections that may wait on a listening socket until a worker takes them."""


def settings_of_child() -> Settings:
    """Load what the supervisor was started with: its children have its environment.

    Whoever has broken the file since then gets one line, as at the start; how to log stands in that file too.
    """
    config = os.environ.get("PRSHOTS_CONFIG")
    try:
        return load_settings(Path(config) if config else None)
    except SettingsError as error:
        sys.exit(f"prshots: {error}")
