"""A running service on PostgreSQL and S3 that freeze or are killed: replies in time, few log lines, recovery."""

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from support.drawn_pages import sha
from support.engine_servers import PostgreSQL, SeaweedFS, Server, running_postgresql, running_seaweedfs
from support.service import Service, upload
from support.service_processes import fetch
from support.waiting import wait_for, wait_until

pytestmark = pytest.mark.slow

REQUESTS = 40
DATABASE_DOWN = (503, {"error": "database unavailable, retry later"})
STORE_DOWN = (503, {"error": "storage unavailable, retry later"})
EXPIRE_FAILED = (503, {"error": "expire failed, retry later"})


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[PostgreSQL, SeaweedFS]]:
    with running_postgresql() as database, running_seaweedfs() as store:
        yield database, store


@dataclass
class Engines:
    """A service and its engines, each of which can be away in one way: frozen or killed."""

    how: str
    service: Service
    database: PostgreSQL
    store: SeaweedFS
    _logged_before: int = 0

    @contextlib.contextmanager
    def away(self, server: Server) -> Iterator[None]:
        # On a busy machine, the start itself is an outage, because the database opens late.
        self._logged_before = len(self.service.log.splitlines())
        if self.how == "frozen":
            with server.frozen():
                yield
            return
        server.kill()
        try:
            yield
        finally:
            server.start()

    def logged(self, *events: str) -> list[dict[str, Any]]:
        """Return the API's log lines with these events since the engine was last taken away."""
        entries = [json.loads(line) for line in self.service.log.splitlines()[self._logged_before :]]
        return [entry for entry in entries if entry["component"] == "api" and entry["event"] in events]


@pytest.fixture(scope="module", params=["frozen", "killed"])
def engines(
    servers: tuple[PostgreSQL, SeaweedFS],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engines]:
    database, store = servers
    settings = {
        "DATABASE_URL": database.new_database(),
        "STORE_URL": store.store_url(store.new_bucket()),
        "LOG_FORMAT": "json",
        "UPLOADS_PER_MINUTE": "100000",
    }
    service = Service(tmp_path_factory.mktemp(request.param), settings)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in store.credentials.items():
            environment.setenv(name, value)
        service.start()
        yield Engines(request.param, service, *servers)
        assert service.stop() == 0
        assert "Traceback" not in service.log


@pytest.fixture
def client(engines: Engines) -> Iterator[httpx.Client]:
    with engines.service.client(engines.service.new_token()) as client:
        wait_for(lambda: upload(client).status_code, lambda status: status == 200)
        yield client


def answer(response: httpx.Response) -> tuple[int, object]:
    return response.status_code, response.json()


def at_once(client: httpx.Client) -> set[str]:
    """Send uploads at the same time. Return the distinct replies."""
    with ThreadPoolExecutor(REQUESTS) as threads:
        replies = list(threads.map(lambda _: upload(client), range(REQUESTS)))
    return {json.dumps(answer(reply)) for reply in replies}


def test_uploads_get_503_while_the_database_is_away_and_the_log_two_lines(
    engines: Engines, client: httpx.Client
) -> None:
    with engines.away(engines.database):
        for _ in range(2):
            assert at_once(client) == {json.dumps(DATABASE_DOWN)}
        assert len(engines.logged("database unavailable")) == 1
    wait_for(lambda: upload(client).status_code, lambda status: status == 200)
    # Every operation that failed has to work again; the readiness check reads.
    wait_until(
        lambda: (
            httpx.get(f"{engines.service.base_url}/readyz").status_code == 200
            and engines.logged("database is back")
        ),
        lambda: engines.service.log,
    )
    [back] = engines.logged("database is back")
    assert back["failed_requests"] >= 2 * REQUESTS
    assert back["seconds"] > 0
    assert engines.logged("database unavailable, retry later") == []


def merge_of_new_shot(client: httpx.Client) -> dict[str, object]:
    """Compare a pull request with one new shot. Return the request to expire it after its merge."""
    base, commit, pr_number = sha("base"), sha("commit"), 8
    upload(client, path="/v1/baseline", name="home", branch="main", commit_sha=base).raise_for_status()
    upload(client, pr_number=pr_number, commit_sha=commit).raise_for_status()
    asked = {"pr_number": pr_number, "commit_sha": commit, "branch": "main", "commits": [base]}
    assert client.post("/v1/compare", json=asked).json()["counts"]["new"] == 1
    return {"pr_number": pr_number, "merged_as": sha("merge"), "branch": "main"}


def test_without_a_store_uploads_and_merges_get_503_and_the_rest_of_the_api_works(
    engines: Engines, client: httpx.Client
) -> None:
    uploaded, merged = upload(client).json(), merge_of_new_shot(client)
    with engines.away(engines.store):
        with ThreadPoolExecutor(1) as thread:
            merging = thread.submit(client.post, "/v1/expire", json=merged)
            assert at_once(client) == {json.dumps(STORE_DOWN)}
            assert answer(merging.result()) == STORE_DOWN
        assert answer(client.delete(f"/v1/images/{uploaded['id']}")) == EXPIRE_FAILED
        assert client.get("/v1/comment", params={"pr_number": 7}).status_code == 200
        ready = wait_for(
            lambda: httpx.get(f"{engines.service.base_url}/readyz", timeout=30),
            lambda reply: reply.json()["checks"]["store"] != "ok",
        )
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert fetch(uploaded["view_url"]).status_code == 503
        assert len(engines.logged("storage unavailable")) == 1
    wait_for(lambda: upload(client).status_code, lambda status: status == 200)
    assert engines.logged("storage unavailable, retry later", "expiry did not complete") == []
    # The outage lost no baseline of the merge.
    expired = client.post("/v1/expire", json=merged).json()
    assert (expired["expired"], expired["baselines"]) == (1, 1)
    # The mark was written, so the sweep finishes the delete.
    engines.service.run("sweep")
    assert fetch(uploaded["view_url"]).status_code == 410
