"""`/readyz`: what it checks, how long it waits, and what it replies, with fake and with real engines."""

import asyncio
import gc
import re

import httpx
import pytest
import structlog

from prshots.contract.errors import DegradedError, RecordsError
from prshots.server.http import readiness
from prshots.server.http.readiness import Readiness
from prshots.server.observability import metrics
from support.raw_requests import running_service
from support.service import Service
from support.stores_and_records import small_disk
from support.waiting import eventually, wait_for
from support.web_component import FILES, WebComponent, scripted_api


class Engine:
    """Replies as the test says, and counts the calls."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.asked = error, 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def check(self) -> None:
        self.asked += 1
        await self.may_answer.wait()
        if self.error:
            raise self.error


def ready(optional: tuple[str, ...] = (), **engines: Engine) -> Readiness:
    return Readiness({name: engine.check for name, engine in engines.items()}, optional)


async def test_an_engine_that_is_down_is_reported_without_secrets() -> None:
    down = Engine(RecordsError("postgresql://ann:hunter2@db/x: refused"))
    status, content = await ready(database=down, store=Engine()).report()
    assert (status, content["error"]) == (503, "not ready: database")
    assert content["checks"] == {"database": "down: postgresql://ann:[hidden]@db/x: refused", "store": "ok"}


async def test_an_unexpected_error_is_logged_but_not_shown() -> None:
    with structlog.testing.capture_logs() as log:
        _, content = await ready(store=Engine(ZeroDivisionError("inside"))).report()
    assert content["checks"] == {"store": "down: internal error"}
    assert any(entry.get("exc_info") for entry in log)


async def test_without_an_optional_engine_it_is_ready_but_degraded() -> None:
    counter = Engine(RecordsError("gone"))
    status, content = await ready(("counter",), database=Engine(), counter=counter).report()
    assert (status, content["status"]) == (200, "degraded")
    assert content["checks"]["counter"] == "down: gone"
    both = ready(("counter",), database=Engine(RecordsError("gone")), counter=counter)
    assert (await both.report())[1]["error"] == "not ready: database"


async def test_an_engine_that_needs_attention_is_degraded_but_never_not_ready() -> None:
    filling = Engine(DegradedError("0 bytes free"))
    with structlog.testing.capture_logs() as log:
        status, content = await ready(database=Engine(), store=filling).report()
    assert (status, content) == (
        200,
        {"status": "degraded", "checks": {"database": "ok", "store": "degraded: 0 bytes free"}},
    )
    assert [(entry["event"], entry["log_level"]) for entry in log] == [("ready, but degraded", "warning")]


async def test_concurrent_and_repeated_requests_share_one_check(monkeypatch) -> None:
    monkeypatch.setattr(readiness, "KEPT_SECONDS", 3600)
    store = Engine()
    state = ready(store=store)
    await asyncio.gather(*(state.report() for _ in range(50)))
    await state.report()
    assert store.asked == 1


async def test_the_start_and_end_of_an_outage_are_logged_once_each(monkeypatch) -> None:
    monkeypatch.setattr(readiness, "KEPT_SECONDS", -1)
    store = Engine()
    state = ready(store=store)
    with structlog.testing.capture_logs() as log:
        for error, status in ((None, 200), (RecordsError("x"), 503), (RecordsError("x"), 503), (None, 200)):
            store.error = error
            shown = (await state.render_metrics()).decode()
            assert (await state.report())[0] == status
            assert f'prshots_ready{{process="{metrics.SLOT}"}} {float(status == 200)}' in shown
    assert [entry["event"] for entry in log] == ["not ready", "ready again"]


async def test_the_end_of_an_outage_is_noticed_even_if_nobody_asks(monkeypatch) -> None:
    monkeypatch.setattr(readiness, "KEPT_SECONDS", -1)
    monkeypatch.setattr(readiness, "RECHECK_SECONDS", 0.01)
    store = Engine(RecordsError("gone"))
    with structlog.testing.capture_logs() as log:
        assert (await ready(store=store).report())[0] == 503
        store.error = None
        await eventually(lambda: log[-1]["event"] == "ready again", "the end of the outage")


async def test_an_engine_that_hangs_counts_as_down_and_is_asked_only_once(monkeypatch) -> None:
    monkeypatch.setattr(readiness, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(readiness, "KEPT_SECONDS", -1)
    store, database = Engine(), Engine()
    store.may_answer.clear()
    state = ready(store=store, database=database)
    for _ in range(3):
        status, content = await state.report()
        assert (status, content["checks"]["database"]) == (503, "ok")
        assert content["checks"]["store"].startswith("down: no answer within")
    assert (store.asked, database.asked) == (1, 3)
    [running] = state._running.values()
    store.may_answer.set()
    await running  # ends while nobody asks: its result is old at the next request
    store.error = RecordsError("gone since")
    assert (await state.report())[1]["checks"]["store"] == "down: gone since"
    store.error = None
    assert (await state.report())[0] == 200


async def test_a_check_that_fails_when_nobody_asks_any_more_is_not_logged(monkeypatch) -> None:
    monkeypatch.setattr(readiness, "CHECK_SECONDS", 0.05)
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    store = Engine(RecordsError("gone"))
    store.may_answer.clear()
    state = ready(store=store)
    assert (await state.report())[0] == 503
    running = list(state._running.values())
    store.may_answer.set()
    await asyncio.wait(running)
    del state, running
    gc.collect()
    assert unhandled == []


async def test_a_cancelled_request_does_not_cancel_the_others() -> None:
    store = Engine()
    store.may_answer.clear()
    state = ready(store=store)
    first, second = asyncio.create_task(state.report()), asyncio.create_task(state.report())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    store.may_answer.set()
    assert (await second)[0] == 200


async def test_while_stopping_it_is_not_ready_and_checks_no_engine() -> None:
    store = Engine()
    state = ready(store=store)
    state.is_stopping = True
    assert await state.report() == (503, {"error": "not ready: stopping", "checks": {}})
    assert store.asked == 0


@pytest.mark.slow
def test_a_service_on_a_full_disk_is_degraded(tmp_path) -> None:
    with small_disk(tmp_path / "data", "20m"), running_service(tmp_path) as service:
        reply = wait_for(
            lambda: readyz(service.base_url).json(),
            lambda reply: all(reply["checks"][name] != "ok" for name in ("store", "database")),
        )
        assert reply["status"] == "degraded"
        assert reply["checks"]["store"].startswith("degraded: only ")
        shown = httpx.get(f"{service.web_url}/metrics", trust_env=False).text
        free = re.findall(r'prshots_free_bytes{volume="(\w+)"} (\S+)', shown)
        assert {volume for volume, _ in free} == {"database", "images"}
        assert all(0 < float(value) < 20 * 1024**2 for _, value in free)


# The running service


def readyz(address: str) -> httpx.Response:
    return httpx.get(f"{address}/readyz", timeout=30, trust_env=False)


def test_every_component_reports_that_it_is_ready(shared_service: Service) -> None:
    checked = {
        shared_service.base_url: {"database": "ok", "keys": "ok", "store": "ok", "counter": "ok"},
        shared_service.img_url: {"keys": "ok", "store": "ok"},
        shared_service.web_url: {"api": "ok"},
    }
    for address, checks in checked.items():
        reply = readyz(address)
        assert (reply.status_code, reply.json()) == (200, {"status": "ok", "checks": checks})
        assert reply.headers["cache-control"] == "no-store"
        assert httpx.head(f"{address}/readyz", trust_env=False).status_code == 200
        refused = httpx.post(f"{address}/readyz", trust_env=False)
        assert (refused.status_code, refused.json()) == (405, {"error": "method not allowed"})


@pytest.mark.slow
@pytest.mark.parametrize("said", [b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", b"no HTTP at all\r\n\r\n"])
def test_without_a_working_api_web_is_ready_but_degraded(tmp_path, said: bytes) -> None:
    with scripted_api() as api, WebComponent(tmp_path, api.port, FILES) as web:
        api.act = lambda peer: peer.read_head() and peer.send(said)
        reply = readyz(web.url)
        assert (reply.status_code, reply.json()["status"]) == (200, "degraded")
        assert reply.json()["checks"]["api"].startswith("down: ")
