"""What a process does not load at its start, because it would keep the memory as long as it runs."""

import sys
from pathlib import Path

import pytest

from prshots.server.lean_imports import not_installed
from support.processes import completed
from support.service import Service

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
BUILD = """
import asyncio, socket
from prshots.server.processes import settings_of_child, worker
async def build():
    worker.{build}settings_of_child(), socket.create_server(("127.0.0.1", 0)))
asyncio.run(build())
"""
STARTS = {
    "supervisor": "import prshots.server.supervise",
    "web": BUILD.format(build="_build_web("),
    "api": BUILD.format(build="_build_api([], "),
    "delivery": BUILD.format(build="_build_delivery("),
}
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
    service = Service(tmp_path_factory.mktemp("lean"))
    service.run("project", "create", "demo")
    return service.env


@pytest.mark.slow
@pytest.mark.parametrize("part", STARTS)
def test_a_process_does_not_load_what_it_does_not_need(
    part: str, environ: dict[str, str], tmp_path: Path
) -> None:
    code = f"{STARTS[part]}\nimport sys\nprint(*sys.modules)"
    done = completed([sys.executable, "-P", "-c", code], env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
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
