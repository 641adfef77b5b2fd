"""Fixtures and helpers that the tests of the forges share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from prshots.client import sending


@pytest.fixture(autouse=True)
def short_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the pauses between retries short, and skip reading the TLS certificates: all is plain HTTP here."""
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 0.002)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


def says(text: str) -> Callable[[], str]:
    """Return what `keep_current` asks for the text of the comment."""
    return lambda: text
