"""Caddy as a reverse proxy, with deploy/caddy/Caddyfile. Only addresses differ."""

import contextlib
import socket
from pathlib import Path

import httpx
import pytest

from support.caddy_front import CADDY, SHIPPED, caddy, parts_of
from support.free_ports import free_port
from support.nginx_front import raw, started
from support.processes import completed
from support.service import MAX_BYTES, PNG, Service, png, upload
from support.service_processes import fetch
from support.waiting import wait_until


def test_the_shipped_caddyfile_is_valid_and_formatted(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    done = completed([CADDY, "validate", "--adapter", "caddyfile", "--config", SHIPPED], env=env)
    assert done.returncode == 0, done.stderr
    assert completed([CADDY, "fmt", SHIPPED], env=env).stdout == SHIPPED.read_text()


@pytest.mark.slow
def test_dashboard_api_and_images_share_one_address(shared_service: Service, tmp_path: Path) -> None:
    service, port = shared_service, free_port()
    with started(caddy(tmp_path / "caddy", port, parts_of(service))):
        image_id = use_everything(f"http://127.0.0.1:{port}", service)
    logged = (tmp_path / "caddy" / "server.log").read_text()
    assert image_id in logged
    assert "token=" not in logged
    assert "0a1b2c" not in logged
    assert "Bearer" not in logged


def use_everything(url: str, service: Service) -> str:
    """Send requests to all components through Caddy, and return the id of the uploaded image."""
    with service.client(service.new_token(), url) as client:
        image = png(MAX_BYTES - 1)
        made = upload(client, image).json()
        view_url = made["view_url"].replace(service.img_url, url)
        reply, direct = fetch(view_url), fetch(made["view_url"])
        assert (reply.status_code, reply.content) == (200, image)
        ours = {"date", "connection", "via"}
        assert {**reply.headers} | dict.fromkeys(ours) == {**direct.headers} | dict.fromkeys(ours)
        assert fetch(f"{view_url}0").json() == {"error": "invalid signature"}
        for name, is_kept in (("from-a-client.1", True), ("mine", False)):  # too short
            for address in (f"{view_url}0", f"{url}/auth/providers"):
                refused = httpx.get(address, headers={"X-Request-Id": name}, trust_env=False)
                assert (refused.headers["x-request-id"] == name) is is_kept
        assert fetch(view_url.replace("/i/", "/%69/")).json() == {"error": "not found"}

        for size in (MAX_BYTES, 6 * MAX_BYTES):  # the API refuses the first, Caddy the second
            refused = upload(client, PNG + bytes(size - len(PNG)))
            assert (refused.status_code, refused.json()) == (413, {"error": "payload too large (max 5MB)"})
        for path, limit, maximum in (
            ("/v1/staged", 2 * MAX_BYTES + 1024**2, "5MB"),
            ("/v1/baseline", MAX_BYTES + 1024**2, "5MB"),
            ("/v1/put/0a1b2c", MAX_BYTES + 1024**2, "5MB"),
            ("/v1/baseline/known", 4 * 1024**2, "4MB"),
            ("/v1/upload/known", 4 * 1024**2, "4MB"),
        ):
            too_large = {"error": f"payload too large (max {maximum})"}
            assert client.post(path, content=bytes(limit)).json() != too_large
            refused = client.post(path, content=bytes(limit + 1))
            assert (refused.status_code, refused.json()) == (413, too_large)
        for path in ("/v1/expire", "/v1/comment", "/"):
            refused = client.post(path, content=bytes(64 * 1024 + 1))
            assert (refused.status_code, refused.json()) == (413, {"error": "payload too large (max 64KB)"})
            assert refused.headers["content-type"] == "application/json"

        assert client.delete(f"/v1/images/{made['id']}").status_code == 200
        assert (fetch(view_url).status_code, fetch(view_url).json()) == (410, {"error": "expired"})
    assert "<!doctype html>" in fetch(f"{url}/").text.lower()
    assert fetch(f"{url}/auth/providers").json()["web_url"] == service.web_url
    assert fetch(f"{url}/openapi.json").json()["openapi"]
    assert "strict-transport-security" not in fetch(f"{url}/").headers  # browsers ignore it without TLS
    for path in ("/metrics", "/readyz", "/%6detrics"):
        assert (fetch(url + path).status_code, fetch(url + path).json()) == (404, {"error": "not found"})
    return str(made["id"])


@pytest.mark.slow
def test_a_component_that_is_down_is_named_a_dead_or_hung_replica_is_skipped_and_a_half_sent_head_is_closed(
    shared_service: Service, tmp_path: Path
) -> None:
    """Caddy ends the half-sent head after read_header, here a second. It checks replicas more often here."""
    port, nobody = free_port(), f"127.0.0.1:{free_port()}"
    url, parts = f"http://127.0.0.1:{port}", parts_of(shared_service)
    faster = {
        "read_header 10s": "read_header 1s",
        "health_interval 2s": "health_interval 100ms",
        "health_timeout 2s": "health_timeout 100ms",
    }

    def all_are_answered() -> bool:
        with contextlib.suppress(httpx.ReadTimeout):
            return {httpx.get(f"{url}/auth/providers", timeout=1).status_code for _ in range(6)} == {200}
        return False

    with contextlib.ExitStack() as stack:
        hung = stack.enter_context(socket.create_server(("127.0.0.1", 0)))  # connects, but never answers
        # The dashboard and delivery are down, and two of three API replicas.
        api = f"{nobody} 127.0.0.1:{hung.getsockname()[1]} {parts[8081]}"
        parts = {8080: nobody, 8081: api, 8082: nobody}
        stack.enter_context(started(caddy(tmp_path / "caddy", port, parts, faster)))
        wait_until(all_are_answered, "Caddy to skip the hung replica")
        for path, part in (("/", "dashboard"), ("/i/x", "delivery")):
            reply = fetch(url + path)
            assert reply.status_code in {502, 503}  # before and after the first health checks
            assert reply.json() == {"error": f"{part} unavailable"}
            assert reply.headers["retry-after"] == "5"
        assert b" 200 " not in raw(port, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")


@pytest.mark.slow
def test_every_reply_over_https_has_hsts(shared_service: Service, tmp_path: Path) -> None:
    port, parts = free_port(), parts_of(shared_service)
    on_tls = {"shots.example.com {": f"https://localhost:{port} {{\n\ttls internal"}
    redirects = {"\tservers {\n": "\tauto_https disable_redirects\n\tservers {\n"}
    server = caddy(tmp_path / "caddy", port, parts, on_tls | redirects)

    def get_securely(path: str) -> httpx.Response:
        return httpx.get(f"https://localhost:{port}{path}", timeout=30, trust_env=False, verify=False)

    def has_a_certificate() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return get_securely("/").is_success
        return False

    with started(server):
        wait_until(has_a_certificate, "Caddy's certificate")
        for path, status in (("/", 200), ("/v1/comment", 401), ("/i/x", 404), ("/metrics", 404)):
            reply = get_securely(path)
            assert reply.status_code == status
            assert reply.headers.get_list("strict-transport-security") == ["max-age=31536000"], path
