"""The running service does what /openapi.json says, for the data that Schemathesis makes of it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import completed
from support.raw_requests import running_service
from support.service import Service

TESTS = Path(__file__).parents[1]
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")


@pytest.fixture(scope="module")
def roomy_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service whose rate limit does not affect these tests."""
    with running_service(tmp_path_factory.mktemp("openapi"), UPLOADS_PER_MINUTE="100000") as service:
        yield service


@pytest.mark.parametrize(
    ("phases", "hooks", "examples"),
    [
        pytest.param("examples,coverage", "", "1", id="each constraint's limits", marks=pytest.mark.slow),
        # No hooks in the coverage phase: with our images, it would leave the form's other fields empty.
        pytest.param(
            *("fuzzing,stateful", "support.openapi_hooks", "8"),
            id="random data, and what follows an upload",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("fuzzing,stateful", "support.openapi_hooks", "40"),
            id="more random data",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_schemathesis_finds_no_violation(roomy_service, tmp_path, phases, hooks, examples):
    """Run all checks: statuses, types, schemas, headers, authentication, and that only valid data is accepted."""
    done = completed(
        [
            *(SCHEMATHESIS, "run", f"{roomy_service.base_url}/openapi.json", "--phases", phases),
            *("--header", f"Authorization: Bearer {roomy_service.new_token()}", "--continue-on-failure"),
            *("--max-examples", examples, "--generation-deterministic"),
            *("--generation-allow-x00", "false", "--no-color"),
        ],
        env=roomy_service.env | {"SCHEMATHESIS_HOOKS": hooks, "PYTHONPATH": str(TESTS)},
        cwd=tmp_path,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]
    assert re.search(r"Tested: 22\b", done.stdout)
    assert "internal error" not in roomy_service.log
