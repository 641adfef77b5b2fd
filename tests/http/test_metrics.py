"""`/metrics`: what is counted, under which names, and that no client can add new series."""

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from prshots.server.delivery.replies import Reply, Request
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.http.readiness import Readiness
from prshots.server.observability import metrics
from support.service import MAX_BYTES, SHA, Service, png, upload
from support.waiting import wait_for

PAGE = Path(__file__).parents[2] / "docs" / "run" / "observe.md"
STORED = 4
SWEPT = 'prshots_sweeps_total{result="ok"}'


@pytest.fixture(scope="module")
def observed(shared_service: Service) -> Service:
    # The first sweep might otherwise expire an image before a request does, or meet the store that a test breaks.
    wait_for_metrics(shared_service, lambda figures: figures[SWEPT] > 0)
    time.sleep(2)  # until the requests of other tests are counted: a reply's figures are up to 2 s old
    return shared_service


def shown(address: str) -> dict[str, float]:
    """Return every metric's value, keyed by its name with labels."""
    text = httpx.get(f"{address}/metrics", timeout=30, trust_env=False).text
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def wait_for_metrics(service: Service, condition: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """Retry until the condition holds: a reply is up to 1 s old, and delivery's figures up to 1 s older."""
    return wait_for(lambda: shown(service.base_url), condition)


def grown_by_result(
    what: str, results: Iterable[str], before: dict[str, float], after: dict[str, float]
) -> dict[str, float]:
    names = {result: f'prshots_{what}_total{{result="{result}"}}' for result in results}
    return {result: after[name] - before[name] for result, name in names.items()}


def test_uploads_are_counted_by_result(observed: Service) -> None:
    before = shown(observed.base_url)
    with observed.client(observed.new_token(uploads_per_minute=STORED + 1)) as client:
        for number in range(STORED):
            key = {"Idempotency-Key": str(number)}
            assert upload(client, png(1000), headers=key).status_code == 200
        assert upload(client, headers=key).status_code == 200
        with observed.broken_store():
            assert upload(client).status_code == 503
        assert upload(client).status_code == 429
        assert upload(client, name=None).status_code == 400
        assert upload(client, png(MAX_BYTES)).status_code == 413
        assert upload(client, b"no image", content_type="text/plain").status_code == 415
        client.headers["Authorization"] = "Bearer msr_wrong"
        assert upload(client).status_code == 401
    last = 'prshots_uploads_total{result="unauthorized"}'
    after = wait_for_metrics(observed, lambda figures: figures[last] > before[last])
    counted = grown_by_result("uploads", metrics.UPLOAD_RESULTS, before, after)
    others = ("repeated", "failed", "rate_limited", "invalid", "too_large", "unsupported", "unauthorized")
    assert counted == {
        "stored": STORED,
        "busy": 0,
        "over_quota": 0,
        "timed_out": 0,
        **dict.fromkeys(others, 1),
    }
    assert after["prshots_upload_bytes_total"] - before["prshots_upload_bytes_total"] == STORED * 1000


def test_deliveries_and_expired_images_are_counted(observed: Service) -> None:
    before = shown(observed.base_url)
    image = png(5000)
    with observed.client(observed.new_token()) as client:
        uploaded = upload(client, image).json()
        view_url = uploaded["view_url"]
        tag = f'"{uploaded["id"]}"'
        for url, headers, status in (
            (view_url, {}, 200),
            (view_url, {"Range": "bytes=0-9"}, 206),
            (view_url, {"If-None-Match": tag}, 304),
            (view_url, {"Range": "bytes=5000-"}, 416),
            (f"{view_url}0", {}, 403),
            (view_url.replace("/i/", "/check/i/"), {}, 305),
            (view_url.replace("/i/", "/check/i/") + "0", {}, 403),
            (f"{observed.img_url}/nothing", {}, 404),
            (f"{observed.img_url}/healthz", {}, 200),
        ):
            assert httpx.get(url, headers=headers, trust_env=False).status_code == status
        assert client.delete(f"/v1/images/{uploaded['id']}").status_code == 200
        assert httpx.get(view_url, trust_env=False).status_code == 410
        assert upload(client, pr_number=9).status_code == 200
        assert client.post("/v1/expire", json={"pr_number": 9}).json()["expired"] == 1
    last = 'prshots_deliveries_total{result="expired"}'
    after = wait_for_metrics(observed, lambda figures: figures[last] > before[last])
    counted = grown_by_result("deliveries", metrics.DELIVERY_RESULTS, before, after)
    assert {name: count for name, count in counted.items() if count} == {
        "sent": 2,
        "not_modified": 1,
        "unsatisfiable": 1,
        "invalid": 2,
        "expired": 1,
        "checked": 1,
    }
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown["prshots_delivery_bytes_total"] == len(image) + 10
    assert grown["prshots_delivery_seconds_count"] == 8  # one for each image request and check
    assert grown['prshots_delivery_seconds_bucket{le="+Inf"}'] == 8
    assert grown['prshots_expired_images_total{by="request"}'] == 2
    assert after["prshots_last_sweep_timestamp_seconds"] == pytest.approx(time.time(), abs=600)


def test_clients_cannot_add_new_series(observed: Service) -> None:
    unknown = 'prshots_requests_total{component="api",route="other",status="404"}'
    before = shown(observed.base_url).get(unknown, 0)
    with httpx.Client(trust_env=False, timeout=30) as client:
        for number in range(10, 20):
            for address in (observed.base_url, observed.web_url):
                client.get(f"{address}/v1/nothing/{number}")
                client.get(f"{address}/page-{number}")
                client.request(f"METHOD{number}", f"{address}/v1/upload")
                client.delete(f"{address}/v1/images/{number:032x}")
    # Sent to the API directly, and through web.
    figures = wait_for_metrics(observed, lambda figures: figures.get(unknown, 0) >= before + 30)
    routes = {
        re.findall(r'component="(\w+)",(?:le="[^"]+",)?route="([^"]+)"', name)[0]
        for name in figures
        if "route=" in name
    }
    assert ("api", "DELETE /v1/images/{image_id}") in routes
    assert ("web", "/v1/*") in routes
    assert not [route for route in routes if re.search(r"[0-9]{2}|page-|METHOD|nothing", route[1])]


def test_every_component_shows_the_metrics_of_all_components(observed: Service) -> None:
    for address in (observed.base_url, observed.img_url, observed.web_url):
        reply = httpx.get(f"{address}/metrics", trust_env=False)
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert reply.headers["cache-control"] == "no-store"
        for name in ("prshots_uploads_total", "prshots_deliveries_total", "prshots_sweeps_total"):
            assert f"# TYPE {name} counter" in reply.text
        assert 'component="web"' in reply.text
        figures = shown(address)
        for process in ("api-0", "delivery-0", "web-0"):
            assert figures[f'prshots_process_resident_bytes{{process="{process}"}}'] > 1024**2
            assert figures[f'prshots_process_cpu_seconds_total{{process="{process}"}}'] > 0
            assert figures[f'prshots_process_open_files{{process="{process}"}}'] > 3
        assert figures["prshots_database_pool_size"] > figures["prshots_database_operations_in_progress"]
        head = httpx.head(f"{address}/metrics", trust_env=False)
        assert (head.status_code, head.content) == (200, b"")
        refused = httpx.post(f"{address}/metrics", content=b"x", trust_env=False)
        assert (refused.status_code, refused.json()) == (405, {"error": "method not allowed"})


def test_the_docs_page_lists_exactly_the_existing_metrics(observed: Service) -> None:
    rows = dict(re.findall(r"^\| `(prshots_\w+)`[^|]*\|(.*)\|$", PAGE.read_text(), re.MULTILINE))
    made = set(re.findall(r"^# TYPE (\w+)", metrics.render().decode(), re.MULTILINE))
    assert set(rows) == made
    with observed.client(observed.new_token()) as client:
        assert upload(client, commit_sha=SHA).status_code == 200
    text = httpx.get(f"{observed.web_url}/metrics", trust_env=False).text
    assert set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) <= made
    for name, values in {
        "prshots_uploads_total": metrics.UPLOAD_RESULTS,
        "prshots_deliveries_total": metrics.DELIVERY_RESULTS,
        "prshots_expired_images_total": metrics.EXPIRED_BY,
        "prshots_sweeps_total": metrics.SWEEP_RESULTS,
    }.items():
        assert {value for value in values if f"`{value}`" not in rows[name]} == set()


async def test_delivery_counts_a_reply_that_it_waited_for() -> None:
    async def wait() -> Reply:
        return Reply(503, "", b"", "unavailable")

    def counted() -> float:
        return metrics.DELIVERIES.labels("unavailable")._value.get()

    before = counted()
    delivery: Any = SimpleNamespace(respond=lambda _: wait, send_plainly=None)
    telemetry = DeliveryTelemetry(delivery, Readiness({}))
    pending: Any = telemetry.respond(Request("GET", "/i/x.png", {}))
    await pending()
    telemetry.hand_over()
    assert counted() == before + 1
