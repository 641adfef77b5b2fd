"""Mutated requests and altered URLs against a running service. `make drill` sends a million of each."""

from pathlib import Path

import pytest

from drills.requests import SETTINGS, RequestsDrill
from drills.urls import prepared_drill
from support.raw_requests import running_service

SEED = 12


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_mutated_request_breaks_the_service(tmp_path: Path) -> None:
    with running_service(tmp_path, **SETTINGS) as service:
        drill = RequestsDrill(service, 20_000, SEED)
        result = drill.run()
    assert drill.violations == []
    assert result.count >= 20_000
    assert result.figures["2xx"] > 1_000  # not only refusals


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_delivery_accepts_no_altered_url(tmp_path: Path) -> None:
    with prepared_drill(tmp_path, 50_000, SEED) as drill:
        result = drill.run()
    assert drill.violations == []
    assert result.count == 50_000
    assert result.figures["issued URLs accepted between them"] > 1_000
