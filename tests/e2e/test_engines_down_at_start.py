"""A service that starts while its engines are down: it says so, answers 503, and recovers by itself."""

import httpx
import pytest

from support.engine_servers import running_postgresql
from support.free_ports import free_port
from support.service import Service, upload
from support.service_processes import change_database, component_pids, is_ready, kill
from support.waiting import wait_until

UNAVAILABLE = {"error": "database unavailable, retry later"}


def ask(address: str) -> tuple[int, dict[str, object]]:
    reply = httpx.get(address, timeout=60, trust_env=False)
    return reply.status_code, reply.json()


def assert_only_the_database_is_missed(service: Service, token: str) -> None:
    assert ask(f"{service.base_url}/healthz")[0] == 200
    status, readiness = ask(f"{service.base_url}/readyz")
    assert (status, readiness["error"]) == (503, "not ready: database")
    with service.client(token) as client:
        for reply in (upload(client), client.get("/v1/comment?pr_number=1")):
            assert (reply.status_code, reply.json()) == (503, UNAVAILABLE)
            assert reply.headers["retry-after"] == "5"


@pytest.mark.slow
def test_without_postgresql_it_answers_503_until_the_server_is_back(service: Service) -> None:
    """First at the start of the service, on a database that is still empty, then at the restart of a worker."""
    with running_postgresql() as postgresql:
        service.settings["DATABASE_URL"] = postgresql.new_database()
        postgresql.stop()
        service.start()
        assert_only_the_database_is_missed(service, token=f"msr_{'0' * 64}")
        assert "] ready " not in service.log
        postgresql.start()
        wait_until(lambda: is_ready(service.base_url), "the database to be migrated")
        wait_until(lambda: "] ready " in service.log, "the log line")
        token = service.new_token()
        with service.client(token) as client:
            view_url = upload(client).json()["view_url"]

            postgresql.stop()
            kill(component_pids(service)["api"])
            assert_only_the_database_is_missed(service, token)
            assert ask(f"{service.img_url}/readyz")[0] == 200
            assert httpx.get(view_url, trust_env=False).status_code == 200
            assert service.log.count("the database is not available; answering 503 and trying again") == 2

            postgresql.start()
            wait_until(lambda: is_ready(service.base_url), "the API to be ready")
            assert upload(client).status_code == 200
        assert service.log.count("the database is available") == 2
        assert service.stop() == 0
    assert "Traceback" not in service.log


@pytest.mark.slow
def test_on_a_schema_that_is_too_new_it_answers_503_until_the_schema_fits(service: Service) -> None:
    service.run("project", "create", "demo")
    token = service.new_token()
    change_database(service, "UPDATE alembic_version SET version_num = '9999'")
    change_database(service, "UPDATE installation SET oldest_schema = '9999'")
    service.start()
    assert_only_the_database_is_missed(service, token)
    assert service.log.count("from a newer version of prshots: install that version") >= 1
    assert service.log.count("the database is not available; answering 503") == 1
    change_database(service, "UPDATE installation SET oldest_schema = '0011'")
    wait_until(lambda: is_ready(service.base_url), "the API to be ready")
    assert service.stop() == 0


@pytest.mark.slow
def test_without_any_engine_every_component_starts(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    nothing = f"127.0.0.1:{free_port()}"
    service.settings |= {
        "DATABASE_URL": f"postgresql://prshots@{nothing}/prshots",
        "STORE_URL": f"s3://shots?endpoint=http://{nothing}&region=x",
        "COUNTER_URL": f"redis://{nothing}",
    }
    service.start()
    status, readiness = ask(f"{service.base_url}/readyz")
    assert status == 503
    assert "database" in str(readiness["error"])
    # The API creates the keys, once it has a database.
    assert ask(f"{service.img_url}/readyz")[1]["error"] == "not ready: keys, store"
    wait_until(lambda: "sweep failed; the next one tries again" in service.log, "the first sweep")
    assert service.stop() == 0
    assert "Traceback" not in service.log
