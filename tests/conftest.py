"""The fixtures that every folder of tests shares."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from support.service import UNTRUSTED_ISSUER, Service

if TYPE_CHECKING:
    from support.ci_issuer import CiIssuer
    from support.engine_servers import PostgreSQL, SeaweedFS, Valkey


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Give the test a service of its own, not yet started."""
    made = Service(tmp_path)
    yield made
    if made.process is not None:
        made.stop()


@pytest.fixture(scope="session")
def ci_issuer_place() -> Iterator[socket.socket]:
    """Hold the port of the issuer that the shared service lets projects trust, whether or not it runs."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place


@pytest.fixture(scope="session")
def silent_place() -> Iterator[socket.socket]:
    """Hold a port on which nobody ever listens: an issuer that may be trusted as well, and is down."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place


@pytest.fixture(scope="session")
def ci_issuer(ci_issuer_place: socket.socket) -> Iterator["CiIssuer"]:
    """Run an issuer of ID tokens for CI jobs: projects of the shared service may trust it."""
    from support.ci_issuer import running_ci_issuer

    with running_ci_issuer(ci_issuer_place) as issuer:
        yield issuer


@pytest.fixture(scope="session")
def shared_service(
    tmp_path_factory: pytest.TempPathFactory, ci_issuer_place: socket.socket, silent_place: socket.socket
) -> Iterator[Service]:
    """Run one service that many tests share; each makes a project of its own."""
    own = [f"http://127.0.0.1:{place.getsockname()[1]}" for place in (ci_issuer_place, silent_place)]
    issuers = ["https://token.actions.githubusercontent.com", "https://gitlab.com", *own, UNTRUSTED_ISSUER]
    made = Service(tmp_path_factory.mktemp("shared"), {"TRUSTED_ISSUERS": ",".join(issuers)}).start()
    until = time.monotonic() + 30
    while not (made.images_dir / ".installation").exists():  # the first sweep's: a test would see it appear
        assert time.monotonic() < until, f"no first sweep within 30 s:\n{made.log}"
        time.sleep(0.02)
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="module")
def token(shared_service: Service) -> str:
    """Make a project on the shared service for one module of tests."""
    return shared_service.new_token()


@pytest.fixture(scope="module")
def client(shared_service: Service, token: str) -> Iterator[httpx.Client]:
    with shared_service.client(token) as made:
        yield made


# The engines, each started when a test first asks for it, and shared by all that do: a test makes a database, a
# bucket or a project of its own. Who stops or freezes one starts one of its own (`servers.py`).


@pytest.fixture(scope="session")
def postgresql() -> Iterator["PostgreSQL"]:
    from support.engine_servers import running_postgresql

    with running_postgresql(18) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_15() -> Iterator["PostgreSQL"]:
    from support.engine_servers import POSTGRESQL, running_postgresql

    if not POSTGRESQL[15].exists():
        pytest.skip("PostgreSQL 15 is not installed: Debian's package is postgresql-15")
    with running_postgresql(15) as server:
        yield server


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator["SeaweedFS"]:
    from support.engine_servers import running_seaweedfs

    with running_seaweedfs() as server:
        yield server


@pytest.fixture(scope="session")
def valkey() -> Iterator["Valkey"]:
    from support.engine_servers import running_valkey

    with running_valkey() as server:
        yield server
