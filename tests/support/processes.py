"""Programs that a test runs to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def completed(
    command: Sequence[str | Path], *, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program, and return its exit code and its output as text."""
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **options)
