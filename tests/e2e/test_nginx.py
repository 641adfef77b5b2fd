"""nginx as a reverse proxy, with the files in deploy/nginx/: one public address, and nginx sends the images."""

import hashlib
import json
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import obstore
import pytest

from prshots.contract.object_names import CONTENT_TYPES
from prshots.server.links import KeyRing
from support.engine_servers import S3_KEY, S3_SECRET, SeaweedFS, Server
from support.free_ports import free_port
from support.nginx_front import NGINX, NGINX_VERSIONS, Nginx, last_log, raw, running_nginx, started
from support.service import MAX_BYTES, PNG, PRSHOTS, Service, png, upload
from support.service_processes import is_ready, records, wait_until

pytestmark = pytest.mark.slow

DAY = 86_400
NOT_ABOUT_THE_IMAGE = {"x-request-id", "date", "server", "connection", "keep-alive"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service whose three public addresses are all nginx's."""
    service = Service(tmp_path_factory.mktemp("nginx"))
    url = f"http://127.0.0.1:{free_port()}"
    service.settings = dict.fromkeys(("BASE_URL", "IMG_URL", "WEB_URL"), url) | {"UPLOADS_PER_MINUTE": "1000"}
    yield service.start()
    assert service.stop() == 0


@pytest.fixture(scope="module", params=NGINX_VERSIONS)
def front(service: Service, request: pytest.FixtureRequest) -> Iterator[Nginx]:
    port = int(service.settings["WEB_URL"].rpartition(":")[2])
    folder = service.folder / f"nginx-{request.param}"
    made = Nginx.of(service, folder, program=NGINX[request.param], port=port)
    made.service = service
    with running_nginx(made):
        yield made
    assert "token=" not in made.logs  # no log contains a signature, of good requests and of bad ones
    assert "exp=" not in made.logs


@pytest.fixture(scope="module")
def client(front: Nginx) -> Iterator[httpx.Client]:
    with front.service.client(front.service.new_token(), front.url) as made:
        yield made


def let_everybody_read(seaweedfs: SeaweedFS, bucket: str) -> None:
    """Allow reading objects without a signature, as nginx does, but not listing or writing them."""
    reading = {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [reading]})
    digest = hashlib.sha256(policy.encode()).hexdigest()
    put = ["curl", "-sS", "-f", "-X", "PUT", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
           f"{S3_KEY}:{S3_SECRET}", "-H", f"x-amz-content-sha256: {digest}", "-d", policy,
           f"{seaweedfs.endpoint}/{bucket}?policy="]  # fmt: skip
    subprocess.run(put, check=True, capture_output=True)


def get(url: str, method: str = "GET", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.request(method, url, headers=named, timeout=30, trust_env=False)


def about_the_image(reply: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in reply.headers.items() if name not in NOT_ABOUT_THE_IMAGE}


def own_image(front: Nginx, ext: str, exp: float, content: bytes = PNG) -> str:
    """Write an image directly into the store, and return its URL with this `exp`."""
    service, image_id = front.service, secrets.token_hex(16)
    ring = KeyRing.parse((service.data_dir / "signing-keys").read_text())
    path = service.images_dir / image_id[:2] / f"{image_id}.{ext}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return front.url + ring.sign(image_id, ext, int(exp), ring.signing_kid)


@pytest.mark.parametrize("version", NGINX_VERSIONS)
def test_the_shipped_files_are_valid(tmp_path: Path, version: str) -> None:
    done = Nginx(tmp_path / "nginx", [1], [2], [3], tmp_path, program=NGINX[version]).check()
    assert (done.returncode, "[warn]" in done.stderr) == (0, False), done.stderr


def test_nginx_sends_an_image_with_the_same_headers_as_delivery(front: Nginx, client: httpx.Client) -> None:
    image = png(300_000)
    url = upload(client, image).json()["view_url"]
    assert url.startswith(f"{front.url}/i/")
    for asked in ("status=305 check=MISS", "status=- check=HIT"):
        reply = get(url)
        assert (reply.status_code, reply.content) == (200, image)
        assert asked in last_log(front, reply.url.path)
        (front.folder / "access.log").write_text("")
    direct = get(url.replace(front.url, front.service.img_url))
    assert about_the_image(reply) == about_the_image(direct)
    head = get(url, "HEAD")
    assert (head.status_code, head.content, about_the_image(head)) == (200, b"", about_the_image(direct))


def test_every_image_type_is_sent_from_disk(front: Nginx) -> None:
    for ext, content_type in CONTENT_TYPES.items():
        reply = get(own_image(front, ext, time.time() + DAY))
        assert (reply.status_code, reply.headers["content-type"]) == (200, content_type)
        assert "status=305 " in last_log(front, reply.url.path)


def test_range_and_conditional_requests_get_the_same_replies_as_from_delivery(
    front: Nginx, client: httpx.Client
) -> None:
    made = upload(client, png(5000)).json()
    url, tag = made["view_url"], f'"{made["id"]}"'
    direct = url.replace(front.url, front.service.img_url)
    asked: list[tuple[int, dict[str, str]]] = [
        (206, {"Range": "bytes=0-9"}),
        (206, {"Range": "bytes=-10", "If-Range": tag}),
        (200, {"Range": "bytes=0-9", "If-Range": '"other"'}),
        (200, {"Range": "bytes=0-9,20-29"}),
        (416, {"Range": "bytes=5000-"}),
        (304, {"If-None-Match": tag}),
        (304, {"If-None-Match": "*"}),
        (200, {"If-None-Match": '"other"'}),
        (200, {"If-Match": '"other"'}),
        (200, {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}),
        (200, {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    ]
    for status, headers in asked:
        reply, own = get(url, **headers), get(direct, **headers)
        assert (reply.status_code, reply.content) == (status, own.content), headers
        expected = about_the_image(own)
        if status == 304:  # nginx adds the content type
            expected["content-type"] = "image/png"
        assert about_the_image(reply) == expected, headers


def test_a_delete_takes_effect_immediately(front: Nginx, client: httpx.Client) -> None:
    made = upload(client).json()
    assert [get(made["view_url"]).status_code for _ in range(2)] == [200, 200]
    assert client.delete(f"/v1/images/{made['id']}").json() == {"ok": True, "id": made["id"]}
    reply = get(made["view_url"])
    assert (reply.status_code, reply.json()) == (410, {"error": "expired"})
    assert reply.headers["cache-control"] == "no-store"
    assert "status=410 " in last_log(front, f'{reply.url.path} HTTP/1.1" 410')  # delivery was asked once


def test_in_a_urls_last_hour_nginx_asks_delivery_each_time(front: Nginx) -> None:
    """This way no cache keeps the image after the URL expires."""
    exp = int(time.time()) + 1800
    url = own_image(front, "png", exp)
    for _ in range(2):
        asked_at = time.time()
        reply = get(url)
        assert reply.status_code == 200
        assert int(reply.headers["cache-control"].removeprefix("public, max-age=")) <= exp - asked_at
        assert "status=421 : 200 " in last_log(front, f'{reply.url.path} HTTP/1.1" 200')
        (front.folder / "access.log").write_text("")


def test_refusals_come_from_delivery_and_are_not_cached(front: Nginx, client: httpx.Client) -> None:
    url = upload(client).json()["view_url"]
    assert get(url).status_code == 200  # nginx caches this
    past = own_image(front, "png", time.time() - 10)
    for _ in range(2):
        for wrong, status, message in [
            (f"{url[:-1]}{'0' if url[-1] != '0' else '1'}", 403, "invalid signature"),
            (f"{url}&x=1", 403, "invalid signature"),
            (url.partition("?")[0], 403, "invalid signature"),
            (past, 410, "expired"),
            (f"{front.url}/i/nothing", 404, "not found"),
            (f"{front.url}/i/", 404, "not found"),
        ]:
            reply = get(wrong)
            assert (reply.status_code, reply.json()) == (status, {"error": message})
            assert (reply.headers["cache-control"], reply.headers["content-type"]) == (
                "no-store",
                "application/json",
            )
            assert "HIT" not in last_log(front, f"{httpx.URL(wrong).path} ")


def test_other_spellings_of_an_image_url_do_not_get_the_image(front: Nginx, client: httpx.Client) -> None:
    """Nginx decodes a path before it looks for a file. Delivery checks the raw bytes."""
    url = upload(client).json()["view_url"]
    assert get(url).status_code == 200  # nginx caches delivery's reply
    target = url.removeprefix(front.url)
    path, _, query = target.partition("?")
    name = path.removeprefix("/i/")
    for other in [
        target.replace("/i/", "/i%2f", 1),
        target.replace("/i/", "/%69/", 1),
        target.replace("/i/", "//i/", 1),
        target.replace("/i/", "/i//", 1),
        target.replace("/i/", "/x/../i/", 1),
        target.replace("/i/", "/i/./", 1),
        target.replace("/i/", "/i/../i/", 1),
        f"/i/%{ord(name[0]):02x}{name[1:]}?{query}",
        f"{path}%0a?{query}",
        f"{path}%00?{query}",
        f"{path}/?{query}",
        f"{path}/../{name}?{query}",
        f"{path};x?{query}",
        f"{path}.png?{query}",
        f"{target}#x",
        f"{target}%20",
        f"/i/{name.upper()}?{query}",
        f"/check{target}",
        target.replace("/i/", f"/prshots-image/{name[:2]}/", 1),
    ]:
        reply = raw(front.port, f"GET {other} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = reply.partition(b"\r\n\r\n")
        assert b"image/" not in head, other
        assert PNG not in body, other
        if not other.startswith("/check"):  # a dashboard page
            assert re.match(rb"HTTP/1.1 40[034] ", head), (other, head)
    absolute = f"GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    assert raw(front.port, absolute).startswith(b"HTTP/1.1 200 ")  # the same URL in absolute form


def test_an_image_accepts_only_get_and_head(client: httpx.Client) -> None:
    url = upload(client).json()["view_url"]
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"):
        for content in (b"", b"x" * 60_000):
            reply = httpx.request(method, url, content=content, timeout=30, trust_env=False)
            assert (reply.status_code, reply.json()) == (405, {"error": "method not allowed"}), method
            assert reply.headers["allow"] == "GET, HEAD"


def test_concurrent_requests_all_get_the_image(client: httpx.Client) -> None:
    image = png(100_000)
    url = upload(client, image).json()["view_url"]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(get, [url] * 48))
    assert all((reply.status_code, reply.content) == (200, image) for reply in replies)


def test_a_file_that_nginx_cannot_find_is_sent_by_delivery(
    front: Nginx, client: httpx.Client, tmp_path: Path
) -> None:
    """A wrong or unreadable folder only makes it slower."""
    image = png()
    url = upload(client, image).json()["view_url"]
    with running_nginx(Nginx.of(front.service, tmp_path / "nginx", images=tmp_path / "elsewhere")) as other:
        reply = get(url.replace(front.url, other.url))
        assert (reply.status_code, reply.content) == (200, image)
        assert "status=305 : 200 " in last_log(other, reply.url.path)


def test_images_of_another_store_come_from_delivery(
    front: Nginx, client: httpx.Client, tmp_path: Path
) -> None:
    made = upload(client, png(200_000)).json()
    change = {
        "include prshots/images-from-disk.conf;": "",
        "# include prshots/images-from-delivery.conf;": "include prshots/images-from-delivery.conf;",
    }
    with running_nginx(Nginx.of(front.service, tmp_path / "nginx", changes=change)) as other:
        url = made["view_url"].replace(front.url, other.url)
        direct = get(made["view_url"].replace(front.url, front.service.img_url))
        assert about_the_image(get(url)) == about_the_image(direct)
        assert get(url).content == direct.content
        assert get(f"{url}0").json() == {"error": "invalid signature"}
        assert get(url, "POST").status_code == 405


BUCKET = {
    "include prshots/images-from-disk.conf;": "include prshots/images-from-bucket.conf;",
    "set $prshots_images /var/lib/prshots/images;": "set $prshots_bucket /{bucket}/shots;",
    "include prshots/http.conf;": "include prshots/http.conf; upstream prshots_bucket {{ server {server}; keepalive 8; }}",
}
CACHED = {
    "#cache ": "",
    "proxy_cache_valid 200 60s;": "proxy_cache_valid 200 2s;",
    "use_temp_path=off;": "use_temp_path=off; proxy_cache_path {folder}/bucket keys_zone=prshots_bucket:1m;",
}


def test_nginx_sends_images_from_a_bucket(front: Nginx, seaweedfs: SeaweedFS, tmp_path: Path) -> None:
    """Without a cache a delete applies immediately, with a cache when the entry expires."""
    bucket = seaweedfs.new_bucket()
    store = seaweedfs.client(bucket)
    let_everybody_read(seaweedfs, bucket)
    keys = front.service.data_dir / "signing-keys"
    service = Service(
        tmp_path, {"STORE_URL": seaweedfs.store_url(bucket, "shots"), "SIGNING_KEYS_FILE": str(keys)}
    )
    delivery = Server(
        tmp_path,
        [PRSHOTS, "serve", "delivery"],
        lambda: is_ready(service.img_url),
        env=service.env | seaweedfs.credentials,
    )
    values = {"bucket": bucket, "server": f"127.0.0.1:{seaweedfs.port}", "folder": tmp_path}

    def in_front(name: str, changes: dict[str, str]) -> Nginx:
        filled = {old: new.format(**values) for old, new in changes.items()}
        return Nginx.of(service, tmp_path / name, changes=filled, program=front.program)

    with (
        running_nginx(in_front("plain", BUCKET)) as plain,
        running_nginx(in_front("cached", BUCKET | CACHED)) as cached,
        started(delivery),
    ):
        ring = KeyRing.parse(keys.read_text())
        image_id, image = secrets.token_hex(16), png(300_000)
        key = f"shots/{image_id[:2]}/{image_id}.png"
        target = ring.sign(image_id, "png", int(time.time()) + DAY, ring.signing_kid)
        assert get(plain.url + target).json() == {"error": "expired"}
        obstore.put(store, key, image, attributes={"Content-Type": "image/png"})
        direct = get(service.img_url + target)
        for through in (plain, cached):
            reply = get(through.url + target)
            assert (reply.status_code, reply.content) == (200, image)
            assert about_the_image(reply) == about_the_image(direct)
            assert get(f"{through.url}{target}0").json() == {"error": "invalid signature"}
        obstore.delete(store, key)
        assert get(plain.url + target).json() == {"error": "expired"}
        assert get(cached.url + target).content == image
        wait_until(lambda: get(cached.url + target).status_code == 410, "the cache's time to be over", 10)


def test_dashboard_api_and_images_share_one_address(front: Nginx, client: httpx.Client) -> None:
    page = get(f"{front.url}/")
    assert "<!doctype html>" in page.text.lower()
    asset = re.search(r'src="(/assets/[^"]+)"', page.text)
    assert asset is not None
    assert get(front.url + asset[1]).headers["cache-control"].endswith("immutable")
    assert get(f"{front.url}/p/any/page").text == page.text
    assert get(f"{front.url}/auth/providers").json()["web_url"] == front.url
    assert get(f"{front.url}/openapi.json").json()["openapi"]
    assert get(f"{front.url}/docs").headers["content-type"].startswith("text/html")
    assert get(f"{front.url}/v1/dashboard/projects").status_code == 401
    assert client.get("/v1/comment?pr_number=7").status_code == 200
    for path in ("/metrics", "/readyz", "/%6detrics", "//metrics", "/x/../readyz"):
        reply = raw(front.port, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert reply.startswith(b"HTTP/1.1 404 "), path
        assert reply.endswith(b'{"error":"not found"}')
    refused = get(f"{front.url}/v1/comment?pr_number=7")
    request_id = refused.headers["x-request-id"]  # the same everywhere
    assert request_id in last_log(front, '/v1/comment HTTP/1.1" 401')
    ours = {"X-Request-Id": "from-a-client.1"}
    for path in ("/v1/comment?pr_number=7", f"/i/{'0' * 32}.png?exp=1&sig=k1.0"):
        assert httpx.get(front.url + path, headers=ours).headers["x-request-id"] == "from-a-client.1", path


def test_https_works_and_http_redirects_to_it(front: Nginx, client: httpx.Client, tmp_path: Path) -> None:
    image, tls_port = png(), free_port()
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=shots.example.com", "-keyout", key, "-out", certificate]  # fmt: skip
    subprocess.run(make, check=True, capture_output=True)
    changes = {
        "    listen 80;\n    # With": "    # With",
        "#tls listen 443": f"listen 127.0.0.1:{tls_port}",
        "/etc/ssl/prshots/fullchain.pem": str(certificate),
        "/etc/ssl/prshots/privkey.pem": str(key),
        "#tls ": "",
    }
    url = upload(client, image).json()["view_url"].removeprefix(front.url)
    nginx = Nginx.of(front.service, tmp_path / "nginx", changes=changes, program=front.program)
    with running_nginx(nginx) as secure:
        moved = get(secure.url + url, "POST")
        assert (moved.status_code, moved.headers["location"]) == (308, f"https://127.0.0.1{url}")
        for path, status, content in (
            (url, 200, image),  # nginx sends it
            (f"{url}0", 403, b'{"error":"invalid signature"}'),  # delivery
            ("/healthz", 200, b'{"status":"ok"}'),  # the dashboard
            ("/v1/comment", 401, b'{"error":"unauthorized"}'),  # the API
            ("/readyz", 404, b'{"error":"not found"}'),  # nginx itself
        ):
            curl = ["curl", "-sS", "--insecure", "--http2", "-D", "-", f"https://127.0.0.1:{tls_port}{path}"]
            said = subprocess.run(curl, capture_output=True, check=True).stdout
            head, _, body = said.partition(b"\r\n\r\n")
            assert head.startswith(f"HTTP/2 {status}".encode())
            assert body == content
            assert head.count(b"strict-transport-security: max-age=31536000") == 1, path


def test_uploads_pass_up_to_the_size_limit(client: httpx.Client) -> None:
    assert upload(client, png(MAX_BYTES - 1)).status_code == 200
    too_large = {"error": "payload too large (max 5MB)"}
    for size in (MAX_BYTES, 6 * MAX_BYTES):  # the API refuses the first, nginx the second
        reply = upload(client, PNG + bytes(size - len(PNG)))
        assert (reply.status_code, reply.json()) == (413, too_large)

    with httpx.Client(base_url=client.base_url, timeout=30, trust_env=False) as stranger:
        reply = upload(stranger, PNG + bytes(MAX_BYTES))  # the API says who may upload
        assert (reply.status_code, reply.json()) == (401, {"error": "unauthorized"})

    def chunks() -> Iterator[bytes]:
        for _ in range(6 * 5):
            yield bytes(1024 * 1024)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = client.post("/v1/upload", content=chunks(), headers=headers)
    assert reply.status_code in {400, 413}  # it has no boundary and is too large
    assert reply.json()["error"]
    assert client.get("/v1/comment?pr_number=7").status_code == 200


def test_errors_of_nginx_itself_are_json(front: Nginx) -> None:
    def ask(head: str) -> tuple[int, bytes]:
        reply = raw(front.port, head.encode())
        assert b"\r\nContent-Type: application/json\r\n" in reply
        assert b"\r\nCache-Control: no-store\r\n" in reply
        assert b"nginx/" not in reply
        return int(reply.split()[1]), reply.partition(b"\r\n\r\n")[2]

    end, too_long = "Host: x\r\nConnection: close\r\n\r\n", "a" * 9000
    for head, status, error in [
        (f"GET /{too_long} HTTP/1.1\r\n{end}", 414, "uri too long"),
        (f"GET / HTTP/1.1\r\nX: {too_long}\r\n{end}", 431, "request header fields too large"),
        ("GET / HTTP/1.1\r\n\r\n", 400, "bad request"),
        (f"TRACE / HTTP/1.1\r\n{end}", 405, "method not allowed"),
    ]:
        assert ask(head) == (status, f'{{"error":"{error}"}}'.encode())


def test_a_component_that_is_down_is_named_in_the_error(front: Nginx, tmp_path: Path) -> None:
    nobody = [free_port()]
    url = own_image(front, "png", time.time() + DAY)
    with running_nginx(
        Nginx(tmp_path / "nginx", nobody, nobody, nobody, front.service.images_dir, program=front.program)
    ) as alone:
        for address, status, part in [
            (url.replace(front.url, alone.url), 503, "delivery"),
            (f"{alone.url}/i/x", 503, "delivery"),
            (f"{alone.url}/v1/comment?pr_number=1", 502, "api"),
            (f"{alone.url}/auth/callback/github?code=very-secret&state=very-secret", 502, "api"),
            (f"{alone.url}/", 502, "dashboard"),
        ]:
            for headers in ({}, {"If-None-Match": "*"}):
                reply = get(address, **headers)
                assert (reply.status_code, reply.json()) == (status, {"error": f"{part} unavailable"})
                assert (reply.headers["retry-after"], reply.headers["cache-control"]) == ("5", "no-store")
        assert "very-secret" not in alone.logs
        assert "token=" not in alone.logs


def test_no_request_fails_while_one_replica_is_down(
    front: Nginx, client: httpx.Client, tmp_path: Path
) -> None:
    service, dead = front.service, free_port()
    both = Nginx(
        tmp_path / "nginx",
        [dead, service.web_port],
        [dead, service.api_port],
        [dead, service.img_port],
        service.images_dir,
        program=front.program,
    )
    known = len(records(service))
    with running_nginx(both), httpx.Client(base_url=both.url, headers=client.headers, timeout=30) as through:
        urls = [upload(through).json()["view_url"].replace(front.url, both.url) for _ in range(8)]
        assert {get(url).status_code for url in urls} == {200}
        assert {get(f"{both.url}/").status_code for _ in range(4)} == {200}
    assert len(records(service)) == known + 8
