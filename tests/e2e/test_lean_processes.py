"""What a process does not load at its start, because it would keep the memory as long as it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prshots.server.lean_imports import not_installed
from support.service import PRSHOTS

EVERYWHERE = {
    "rich",
    "greenlet",
    "typer",
    "ctypes",
    "difflib",
    "PIL",
    "numpy",
    "httpx",
    "obstore",
    "psycopg",
    "redis",
}
STARTS = {
    "supervisor": "import prshots.server.supervise",
    "web": "from prshots.server.wiring.web import build_web as build",
    "api": "from prshots.server.wiring.api import build_api as build",
    "delivery": "from prshots.server.wiring.delivery import build_delivery as build",
}
BUILD = """
from prshots.server.processes import settings_of_child, worker
build(settings_of_child())
"""
NOT_LOADED = {
    "supervisor": {
        "ssl",
        "_hashlib",
        "uvloop",
        "sqlalchemy",
        "prometheus_client",
        "prshots.server.config.settings",
    },
    "web": {"sqlalchemy", "alembic"},
    "api": {"alembic", "sqlalchemy.orm", "sqlalchemy.dialects.postgresql", "prshots.server.api.openapi"},
    "delivery": {"sqlalchemy", "starlette"},
}


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a service whose database exists."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRSHOTS_")}
    made = kept | {"PRSHOTS_DATA_DIR": str(tmp_path_factory.mktemp("lean") / "data")}
    subprocess.run([PRSHOTS, "project", "create", "demo"], env=made, check=True, capture_output=True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("part", STARTS)
def test_a_process_does_not_load_what_it_does_not_need(
    part: str, environ: dict[str, str], tmp_path: Path
) -> None:
    # `processes` is imported first, as by `python -m prshots.server.processes.worker`.
    build = "" if part == "supervisor" else BUILD
    first = "" if part == "supervisor" else "import prshots.server.processes\n"
    code = f"{first}{STARTS[part]}\n{build}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "structlog" in loaded
    assert loaded & (EVERYWHERE | NOT_LOADED[part]) == set()


def test_a_hidden_package_is_missing_in_the_block_only() -> None:
    loaded = sys.modules["json"]
    with not_installed("json", "no_such_package"), pytest.raises(ModuleNotFoundError):
        import json
    import json

    assert json is loaded
    assert "no_such_package" not in sys.modules
