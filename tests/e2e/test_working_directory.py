"""No Python that prshots starts imports from the working directory, where others may be able to write."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import prshots
from support.processes import completed
from support.service import PRSHOTS, Service
from support.service_processes import wait_for_first_sweep
from support.waiting import wait_until

SOURCES = Path(prshots.__file__).parent
NAMES = ("structlog", "typer", "uvloop", "httptools", "sqlalchemy", "httpx", "runpy", "prshots")


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """Return a folder with packages that leave a mark when they are imported."""
    folder = tmp_path / "poisoned"
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        mark = folder / f"{name}-was-imported"
        (folder / name / "__init__.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)\n")
    return folder


def imported(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*-was-imported"))


@pytest.mark.slow
def test_the_service_and_its_children_import_nothing_from_the_working_directory(
    service: Service, poisoned: Path
) -> None:
    with (service.folder / "serve.log").open("ab") as log:
        service.process = subprocess.Popen(
            [PRSHOTS, "serve"], env=service.env, cwd=poisoned, stdout=log, stderr=log
        )
    service.wait_until_up()
    wait_for_first_sweep(service)
    wait_until(lambda: "The link signs you in once" in service.log, "the sign-in link")
    assert service.stop() == 0
    assert imported(poisoned) == []


def test_running_the_package_imports_nothing_else_from_the_working_directory(poisoned: Path) -> None:
    """Python itself finds `prshots` in the working directory first; nothing we do can prevent that without -P."""
    (poisoned / "prshots" / "__init__.py").unlink()
    (poisoned / "prshots").rmdir()
    for options in ([], ["-P"]):
        done = completed([sys.executable, *options, "-m", "prshots", "--version"], cwd=poisoned)
        assert (done.returncode, imported(poisoned)) == (0, []), done.stderr


def test_every_python_that_the_sources_start_gets_the_option() -> None:
    starts = {
        path.name: re.findall(r"\[sys\.executable, (\S+)", path.read_text()) for path in SOURCES.rglob("*.py")
    }
    assert {name for name, firsts in starts.items() if set(firsts) - {'"-P",'}} == set()
    assert {name for name, firsts in starts.items() if firsts} >= {"supervisor.py", "handover.py"}
