"""Fixtures and helpers shared by the forge tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from prshots.forges import sender


@pytest.fixture(autouse=True)
def short_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between retries, and skip loading TLS certificates: the tests use plain HTTP."""
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.002)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


def says(text: str) -> Callable[[], str]:
    """Return a callable that gives `keep_current` this text."""
    return lambda: text
