"""Mutated requests and altered URLs against a running service. `make drill` sends a million of each."""

from pathlib import Path

import pytest

from drills.requests import SETTINGS, RequestsDrill
from drills.urls import prepared_drill
from support.raw_requests import running_service

SEED = 12
REQUESTS, URLS = 6_000, 20_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_mutated_request_breaks_the_service(tmp_path: Path) -> None:
    with running_service(tmp_path, **SETTINGS) as service:
        drill = RequestsDrill(service, REQUESTS, SEED)
        result = drill.run()
    assert drill.violations == []
    assert result.count >= REQUESTS
    assert result.figures["2xx"] > REQUESTS / 20  # not only refusals


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_delivery_accepts_no_altered_url(tmp_path: Path) -> None:
    with prepared_drill(tmp_path, URLS, SEED) as drill:
        result = drill.run()
    assert drill.violations == []
    assert result.count == URLS
    assert result.figures["issued URLs accepted between them"] > URLS / 50
