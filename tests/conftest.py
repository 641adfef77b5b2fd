"""Fixtures shared by all test folders."""

import gc
import signal
import socket
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import structlog
from hypothesis import HealthCheck, settings

from support.leftover_processes import adopt_orphans, end_leftovers
from support.service import SILENT_ISSUER, UNTRUSTED_ISSUER, Service

if TYPE_CHECKING:
    from support.ci_issuer import CiIssuer
    from support.engine_servers import PostgreSQL, SeaweedFS, Valkey
    from support.forges.look_alikes import GitHubLookAlike
    from support.shared_engines import SharedEngines

# No deadline: a property test must not fail because the machine is busy.
WHATEVER_IT_TAKES = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=30, **WHATEVER_IT_TAKES)
settings.register_profile("nightly", max_examples=500, **WHATEVER_IT_TAKES)
settings.load_profile("fast")

# Each new httpx client loads the CA certificates, which takes 50 ms, and the tests create thousands of clients.
# Load each certificate file once.
_read, _read_once = ssl.create_default_context, cache(lambda cafile: _read(cafile=cafile))
ssl.create_default_context = lambda **given: (_read_once if list(given) == ["cafile"] else _read)(**given)

# A command that a test runs in this process configures logging for good. A cached logger would keep that, and no later
# test could capture its lines.
_configure = structlog.configure
structlog.configure = lambda **given: _configure(**given | {"cache_logger_on_first_use": False})

# Collecting garbage would take a quarter of the time in which pytest imports the tests, and find nothing.
gc.disable()

ENGINE_FIXTURES = {"postgresql", "postgresql_15", "seaweedfs", "valkey"}

SHARED_ENGINES: "pytest.StashKey[SharedEngines]" = pytest.StashKey()
ENGINES_ADDRESS = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # Both signals end the run and stop what it started. A shell starts background jobs with SIGINT ignored, and every
    # process that a test starts would inherit that.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        config.stash[ENGINES_ADDRESS] = config.workerinput["engines_address"]
        return
    from support.shared_engines import SharedEngines

    adopt_orphans()
    engines = config.stash[SHARED_ENGINES] = SharedEngines()
    config.stash[ENGINES_ADDRESS] = engines.address


def pytest_collection_finish() -> None:
    """Collect garbage again, but only what the tests leave: going through what was imported takes half a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a pytest-xdist worker where the engines are."""
    node.workerinput["engines_address"] = node.config.stash[ENGINES_ADDRESS]


def pytest_unconfigure(config: pytest.Config) -> None:
    if engines := config.stash.get(SHARED_ENGINES, None):
        engines.stop()
        end_leftovers()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Mark the tests of the engines that only `make test-slow` starts, and group tests that belong in one worker."""
    for item in items:
        if ENGINE_FIXTURES & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.startswith("tests/unit/") or _shares_a_fixture_with_its_file(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def _shares_a_fixture_with_its_file(item: pytest.Function) -> bool:
    """Tell whether two workers would both have to make an expensive fixture. Those of this file are cheap."""
    used = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
    return any(fixture.scope == "module" and fixture.baseid != "tests" for fixture in used)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name an image by its size. Its bytes are random, but all workers must agree on a test's name."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 100 else None


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Create a service for one test, not started yet."""
    made = Service(tmp_path)
    yield made
    if made.process is not None:
        made.stop()


@pytest.fixture(scope="session")
def ci_issuer_place() -> Iterator[socket.socket]:
    """Reserve the port of the CI issuer, which projects of the shared service may trust even when it is down."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place


@pytest.fixture(scope="session")
def ci_issuer(ci_issuer_place: socket.socket) -> Iterator["CiIssuer"]:
    """Run an issuer of ID tokens for CI jobs. Projects of the shared service may trust it."""
    from support.ci_issuer import running_ci_issuer

    with running_ci_issuer(ci_issuer_place) as issuer:
        yield issuer


@pytest.fixture(scope="session")
def shared_service(
    tmp_path_factory: pytest.TempPathFactory, ci_issuer_place: socket.socket
) -> Iterator[Service]:
    """Run one service for many tests. Each test creates its own project, beside one that must stay as it is."""
    from support import neighbor

    own = [f"http://127.0.0.1:{ci_issuer_place.getsockname()[1]}", SILENT_ISSUER, UNTRUSTED_ISSUER]
    issuers = ["https://token.actions.githubusercontent.com", "https://gitlab.com", *own]
    settings = {
        "TRUSTED_ISSUERS": ",".join(issuers),
        "FORGE_HOSTS": "127.0.0.1",  # the look-alikes'
        "WEBHOOK_NETWORKS": "127.0.0.0/8,::1",
    }
    made = Service(tmp_path_factory.mktemp("shared"), settings).start()
    with neighbor.beside(made.data_dir / "prshots.db"):
        yield made
        assert made.stop() == 0


@pytest.fixture(scope="session")
def github() -> Iterator["GitHubLookAlike"]:
    """Run one GitHub look-alike for many tests. Each test opens its own pull request."""
    from support.forges.look_alikes import github_look_alike

    with github_look_alike() as made:
        yield made


@pytest.fixture(scope="module")
def token(shared_service: Service) -> str:
    """Create a project on the shared service for one test module, and return its upload token."""
    return shared_service.new_token()


@pytest.fixture(scope="module")
def client(shared_service: Service, token: str) -> Iterator[httpx.Client]:
    with shared_service.client(token) as made:
        yield made


# The engines start when a test first needs them, and all tests share them: each test creates its own database, bucket
# or project. A test that stops or freezes an engine starts its own (`support/engine_servers.py`).


def shared_engine(request: pytest.FixtureRequest, name: str) -> Any:
    from support.shared_engines import engine

    return engine(request.config.stash[ENGINES_ADDRESS], name)


@pytest.fixture(scope="session")
def postgresql(request: pytest.FixtureRequest) -> "PostgreSQL":
    return shared_engine(request, "postgresql")


@pytest.fixture(scope="session")
def postgresql_15(request: pytest.FixtureRequest) -> "PostgreSQL":
    from support.engine_servers import POSTGRESQL

    if not POSTGRESQL[15].exists():
        pytest.skip("PostgreSQL 15 is not installed: Debian's package is postgresql-15")
    return shared_engine(request, "postgresql_15")


@pytest.fixture(scope="session")
def seaweedfs(request: pytest.FixtureRequest) -> "SeaweedFS":
    return shared_engine(request, "seaweedfs")


@pytest.fixture(scope="session")
def valkey() -> Iterator["Valkey"]:
    """Run one Valkey per worker: it starts instantly, and tests change server-wide settings."""
    from support.engine_servers import running_valkey

    with running_valkey() as server:
        yield server
