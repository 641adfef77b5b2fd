"""The processes of `prshots serve`: a supervisor and its children."""

import os
from pathlib import Path

from prshots.settings import Settings, load_settings

BACKLOG = 1024
"""Connections that may wait on a listening socket until a worker takes them."""


def settings_of_child() -> Settings:
    """Load what the supervisor was started with: its children have its environment. Raises SettingsError."""
    config = os.environ.get("PRSHOTS_CONFIG")
    return load_settings(Path(config) if config else None)
