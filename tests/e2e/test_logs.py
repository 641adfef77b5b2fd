"""The service's logs: their format, and that they never contain a token, a cookie, a key or a signed URL."""

import json
import re
import textwrap
from datetime import datetime

import httpx
import pytest

from support.service import SHA, Service, png, upload
from support.service_processes import fetch, wait_for_first_sweep, wait_until

pytestmark = pytest.mark.slow

FAULT = """
import logging, warnings

from prshots.server.domain.projects.service import Projects

authenticate = Projects.authenticate

async def faulty(self, secret):
    if secret.startswith("fault-"):
        logging.getLogger("some.library").warning("asked for /i/x.png?exp=1&sig=%s", secret)
        logging.getLogger("some.library").info("not worth a line")
        warnings.warn(f"an old call with Bearer {secret}", stacklevel=1)
        raise ZeroDivisionError(f"in the middle of it: Bearer {secret}")
    return await authenticate(self, secret)

Projects.authenticate = faulty
"""


@pytest.fixture(params=["json", "console"])
def logging_service(request, service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Run a service that logs everything, with a fault that a request can trigger."""
    (service.folder / "sitecustomize.py").write_text(textwrap.dedent(FAULT))
    monkeypatch.setenv("PYTHONPATH", str(service.folder))
    service.settings |= {"LOG_FORMAT": request.param, "LOG_REQUESTS": "true"}
    return service.start()


def sign_in(service: Service) -> tuple[str, str]:
    """Sign in with a link, and return its code and the cookie's value."""
    code = service.run("login-link").stdout.strip().rpartition("#")[2]
    with httpx.Client(base_url=service.web_url, trust_env=False) as browser:
        headers = {"Origin": service.web_url}
        assert browser.post("/auth/link", json={"code": code}, headers=headers).status_code == 200
        (cookie,) = browser.cookies.jar
        assert browser.get("/v1/dashboard/me").status_code == 200
        assert browser.post("/auth/link", json={"code": code}, headers=headers).status_code == 403
        browser.get(f"/auth/callback/github?code={code}&state=s3cretstate")
    return code, str(cookie.value)


def use_it_all(service: Service) -> list[str]:
    """Use every feature, cause many errors, and return the secrets involved."""
    token, wrong, fault = service.new_token(), "msr_" + "0123456789abcdef" * 4, "fault-" + "f00d" * 16
    with service.client(token) as client:
        uploaded = upload(client).json()
        assert client.get("/v1/comment?pr_number=7").status_code == 200
        assert fetch(uploaded["view_url"]).status_code == 200
        assert fetch(f"{uploaded['view_url']}0").status_code == 403
        assert upload(client, name=None).status_code == 400
        for secret, status in ((wrong, 401), (fault, 500)):
            for address in (service.base_url, service.web_url):
                headers = {"Authorization": f"Bearer {secret}", "Cookie": f"prshots_session={secret}"}
                reply = httpx.get(
                    f"{address}/v1/comment?pr_number=7&token={secret}", headers=headers, trust_env=False
                )
                assert reply.status_code == status
        client.delete(f"/v1/images/{token}")
        puts = use_a_put_url(service, client)
        with service.broken_store():
            assert upload(client).status_code == fetch(uploaded["view_url"]).status_code == 503
    code, cookie = sign_in(service)
    keys = re.findall(r":([0-9a-f]{32,})", (service.data_dir / "signing-keys").read_text())
    signature = uploaded["view_url"].rpartition(".")[2]
    assert keys
    return [token, token.removeprefix("msr_"), wrong, fault, code, cookie, signature, *keys, *puts]


def use_a_put_url(service: Service, client: httpx.Client) -> list[str]:
    """Upload with one-time URLs, through the web component too, and return their secrets."""
    about = {"name": "cart", "viewport": "1x1", "commit_sha": SHA, "content_type": "image/png"}
    asked = about | {"pr_number": 7, "with_before": True}
    urls = client.post("/v1/put-urls", json=asked).json()
    before, after = urls["before_put_url"], urls["put_url"].replace(service.base_url, service.web_url)
    for url, status in ((after, 409), (before, 200), (after, 200), (after, 404)):
        headers = {"Content-Type": "image/png"}
        assert httpx.put(url, content=png(), headers=headers, trust_env=False).status_code == status
    return [url.rpartition("/")[2] for url in (before, after)]


def follow_a_request(service: Service) -> None:
    """Send a request through the web component, and find it in the log of both components."""
    reply = httpx.get(
        f"{service.web_url}/v1/comment?pr_number=7",
        headers={"X-Request-Id": "from-a-proxy.1", "traceparent": f"00-{'5e' * 16}-{'7a' * 8}-01"},
        trust_env=False,
    )
    assert reply.headers.get_list("x-request-id") == ["from-a-proxy.1"]
    hostile = httpx.get(f"{service.base_url}/a%0aline%1b[31m", trust_env=False)
    wait_until(
        lambda: hostile.headers["x-request-id"] in service.log and service.log.count('"from-a-proxy.1"') == 2,
        "the lines of both requests",
    )
    entries = [json.loads(line) for line in service.log.splitlines() if '"request"' in line]
    followed = [entry for entry in entries if entry["request_id"] == "from-a-proxy.1"]
    assert sorted(
        (entry["component"], entry["method"], entry["path"], entry["status"]) for entry in followed
    ) == [
        ("api", "GET", "/v1/comment", 401),
        ("web", "GET", "/v1/comment", 401),
    ]
    assert all(entry["milliseconds"] > 0 for entry in followed)
    assert {entry["trace_id"] for entry in followed} == {"5e" * 16}
    assert "/a%0Aline%1B%5B31m" in {entry["path"] for entry in entries}


def test_the_log_has_every_request_and_no_secret(logging_service: Service) -> None:
    wait_for_first_sweep(logging_service)
    wait_until(lambda: "running" in logging_service.log or '"ready"' in logging_service.log, "the greeting")
    if logging_service.settings["LOG_FORMAT"] == "json":
        follow_a_request(logging_service)
    secrets = use_it_all(logging_service)
    assert logging_service.stop() == 0
    log = logging_service.log
    for words in (
        "ZeroDivisionError",
        "some.library",
        "an old call with",
        "storage unavailable",
        "/auth/link",
        "/v1/put/[hidden]",
    ):
        assert words in log, words  # logged, but without the secret
    assert "not worth a line" not in log
    assert {secret for secret in secrets if secret in log} == set()
    assert re.findall(r"sig=(?!\[hidden\])|s3cretstate|[?&](?:code|token)=(?!\[hidden\])", log) == []
    if logging_service.settings["LOG_FORMAT"] == "json":
        for line in log.splitlines():
            entry = json.loads(line)
            assert datetime.fromisoformat(entry["timestamp"]).utcoffset().total_seconds() == 0
            assert entry["level"] in {"info", "warning", "error"}
            assert entry["event"]
            assert entry["component"] in {"serve", "api", "web", "delivery", "sweep"}
            assert entry["pid"] > 0
        fault = next(json.loads(line) for line in log.splitlines() if "ZeroDivisionError" in line)
        assert "Traceback" in fault["exception"]
        assert fault["request_id"]


def test_requests_are_not_logged_by_default(shared_service: Service) -> None:
    for path in ("first", "second"):  # the second reply means that the first request is done
        assert (
            httpx.get(f"{shared_service.base_url}/v1/not-logged-{path}", trust_env=False).status_code == 404
        )
    assert "not-logged-first" not in shared_service.log
