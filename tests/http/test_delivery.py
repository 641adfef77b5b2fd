"""Delivery's decisions, with real signatures, on real files and on a real S3 server."""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prshots.contract.errors import StoreError
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server.adapters.keys import FixedKeys, KeyFile
from prshots.server.adapters.objects.cloud import CloudReader, CloudStore
from prshots.server.adapters.objects.disk import DiskReader, DiskStore
from prshots.server.delivery.decision import Delivery
from prshots.server.delivery.replies import Reply, Request
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.links import (
    FileReader,
    Key,
    KeyRing,
    KeySource,
    ObjectStream,
    OpenObject,
    RemoteReader,
)
from support.engine_servers import SeaweedFS
from support.open_files import open_files

NOW = 1_800_000_000
EXP = NOW + 365 * 86_400
IMAGE_ID = "00112233445566778899aabbccddeeff"
CONTENT = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
RING = KeyRing([Key("k2", b"2" * 32), Key("k1", b"1" * 32)])
TARGET = RING.sign(IMAGE_ID, "png", EXP, "k1")
OWN_TAG = f'"{IMAGE_ID}"'


class Client:
    """Sends requests to a `Delivery`, and reads each reply's body to the end."""

    def __init__(self, reader: FileReader | RemoteReader, store: ObjectStore) -> None:
        self.store = store
        self.now = float(NOW)
        self.runner = asyncio.Runner()
        self.use(reader)

    def use(self, reader: FileReader | RemoteReader, keys: KeySource | None = None) -> None:
        self.reader = reader
        self.delivery = Delivery(reader, keys or FixedKeys(RING), 3600, lambda: self.now)

    def put(self, content: bytes, ext: str = "png") -> None:
        self.runner.run(self.store.put(origin_key(IMAGE_ID, ext), [content]))

    def delete(self) -> None:
        assert self.runner.run(self.store.delete([origin_key(IMAGE_ID, "png")])) == set()

    def ask(
        self, target: str = TARGET, method: str = "GET", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = self.reply(Request(method, target, named))
        answer = reply.status, fields_of(reply), self.body(reply)
        plain = self.delivery.send_plainly(target) if method == "GET" and not named else None
        if plain is not None:  # the short path must give the same answer
            assert (plain.status, fields_of(plain), self.body(plain)) == answer
        return answer

    def reply(self, request: Request) -> Reply:
        reply = self.delivery.respond(request)
        return reply if isinstance(reply, Reply) else self.runner.run(reply())

    def body(self, reply: Reply) -> bytes:
        if isinstance(reply.body, bytes):
            return reply.body
        if isinstance(reply.body, OpenObject):
            body = os.pread(reply.body.fd, reply.body.size, reply.body.offset)
            os.close(reply.body.fd)
            assert len(body) == reply.body.size
        else:
            body = self.runner.run(joined(reply.body.chunks))
            assert len(body) == reply.body.length
        return body


async def joined(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


def fields_of(reply: Reply) -> dict[str, str]:
    assert reply.fields.endswith("\r\n")
    return dict(line.split(": ", 1) for line in reply.fields[:-2].split("\r\n"))


@pytest.fixture(scope="module")
def bucket_url(seaweedfs: SeaweedFS) -> str:
    return seaweedfs.store_url(seaweedfs.new_bucket(), "PREFIX")


@pytest.fixture
def disk_client(tmp_path: Path) -> Iterator[Client]:
    store = DiskStore(tmp_path)
    client = Client(DiskReader(tmp_path), store)
    client.put(CONTENT)
    yield client
    assert not {name for name in open_files() if str(tmp_path) in name}
    client.runner.close()
    store.close()


@pytest.fixture
def s3_client(seaweedfs: SeaweedFS, bucket_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    url = bucket_url.replace("PREFIX", secrets.token_hex(8))
    client = Client(CloudReader(url), CloudStore(url))
    client.put(CONTENT)
    yield client
    client.runner.close()


@pytest.fixture(params=["disk", pytest.param("s3", marks=pytest.mark.slow)])
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.getfixturevalue(f"{request.param}_client")
    return made


def assert_error(answer: tuple[int, dict[str, str], bytes], status: int, message: str) -> None:
    assert answer[0] == status
    assert json.loads(answer[2]) == {"error": message}
    assert answer[1]["Content-Type"] == "application/json"
    assert answer[1]["Cache-Control"] == "no-store"
    assert answer[1]["X-Content-Type-Options"] == "nosniff"
    assert answer[1]["Content-Length"] == str(len(answer[2]))


def test_a_valid_url_gives_the_image(client: Client) -> None:
    status, fields, body = client.ask()
    assert status == 200
    assert body == CONTENT
    assert fields == {
        "Content-Type": "image/png",
        "Content-Length": str(len(CONTENT)),
        "ETag": OWN_TAG,
        "Accept-Ranges": "bytes",
        "Cache-Control": "public, max-age=3600",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }


def test_a_thumbnail_has_its_own_url_content_and_etag(client: Client) -> None:
    target = RING.sign(IMAGE_ID, THUMBNAIL_EXT, EXP, "k1")
    assert_error(client.ask(target), 410, "expired")
    client.put(b"small", THUMBNAIL_EXT)
    status, fields, body = client.ask(target)
    assert (status, body) == (200, b"small")
    assert fields == client.ask()[1] | {
        "Content-Type": "image/webp",
        "Content-Length": "5",
        "ETag": f'"{IMAGE_ID}.thumb"',
    }
    assert client.ask(target, if_none_match=fields["ETag"])[0] == 304
    assert client.ask(target, if_none_match=OWN_TAG)[0] == 200
    assert client.ask(if_none_match=fields["ETag"])[0] == 200
    assert client.ask(target, range="bytes=1-2", if_range=fields["ETag"])[::2] == (206, b"ma")
    assert client.ask(target, range="bytes=1-2", if_range=OWN_TAG)[0] == 200


def test_head_returns_the_same_headers_as_get_without_a_body(client: Client) -> None:
    status, fields, _ = client.ask()
    assert client.ask(method="HEAD") == (status, fields, b"")
    assert client.ask(method="HEAD", range="bytes=0-9") == (status, fields, b"")
    assert client.ask(method="HEAD", if_none_match=OWN_TAG)[0] == 304


def test_a_url_signed_with_a_new_key_works_immediately(client: Client, tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys")
    keys.create_if_missing()
    client.use(client.reader, keys)
    client.ask()  # reads the key ring
    other = KeyFile(tmp_path / "keys")
    kid = other.rotate()
    assert client.ask(other.fresh_ring().sign(IMAGE_ID, "png", EXP, kid))[0] == 200


def test_an_expired_url_is_410_only_with_a_valid_signature(client: Client) -> None:
    assert client.ask()[0] == 200  # now its signature is remembered as valid
    client.now = EXP
    assert_error(client.ask(), 410, "expired")
    assert_error(client.ask(TARGET[:-1] + ("0" if TARGET[-1] != "0" else "1")), 403, "invalid signature")


def test_a_deleted_image_is_410_for_every_kind_of_request(client: Client) -> None:
    client.delete()
    assert_error(client.ask(), 410, "expired")
    assert_error(client.ask(if_none_match=OWN_TAG), 410, "expired")
    assert_error(client.ask(range="bytes=0-1"), 410, "expired")
    assert client.ask(method="HEAD")[0] == 410


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "get"])
@pytest.mark.parametrize("target", [TARGET, "/", "/healthz"])
def test_methods_other_than_get_and_head_are_405(disk_client: Client, method: str, target: str) -> None:
    answer = disk_client.ask(target, method)
    assert_error(answer, 405, "method not allowed")
    assert answer[1]["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("target", ["/healthz", "/healthz?deep=1"])
def test_healthz_is_200_and_is_not_cached(disk_client: Client, target: str) -> None:
    status, fields, body = disk_client.ask(target)
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert fields["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("*", 304),
        (OWN_TAG, 304),
        (f"W/{OWN_TAG}", 304),
        (f'"a", W/"b,c" ,{OWN_TAG}', 304),
        ('"a", "b"', 200),
        (IMAGE_ID, 200),
        (f'"{IMAGE_ID[:-1]}"', 200),
        ("", 200),
        ('"' * 9_999, 200),
    ],
)
def test_a_matching_if_none_match_is_304_without_a_body(client: Client, condition: str, status: int) -> None:
    answer = client.ask(if_none_match=condition, range="bytes=0-1" if status == 304 else "")
    assert answer[0] == status
    assert answer[1]["ETag"] == OWN_TAG
    assert answer[1]["Cache-Control"] == "public, max-age=3600"
    if status == 304:
        assert answer[2] == b""
        assert "Content-Length" not in answer[1]


SIZE = len(CONTENT)


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=5-9", 5, 9),
        ("Bytes=5-", 5, SIZE - 1),
        ("bytes=-7", SIZE - 7, SIZE - 1),
        (f"bytes=-{SIZE * 2}", 0, SIZE - 1),
        (f"bytes={SIZE - 1}-{'9' * 30}", SIZE - 1, SIZE - 1),
    ],
)
def test_a_valid_range_is_206_with_only_those_bytes(
    client: Client, asked: str, first: int, last: int
) -> None:
    status, fields, body = client.ask(range=asked)
    assert status == 206
    assert body == CONTENT[first : last + 1]
    assert fields["Content-Range"] == f"bytes {first}-{last}/{SIZE}"
    assert fields["Content-Length"] == str(len(body))
    assert fields["Content-Type"] == "image/png"


@pytest.mark.parametrize(
    "asked", [f"bytes={SIZE}-", f"bytes={SIZE + 9}-{SIZE + 10}", "bytes=-0", f"bytes={'9' * 30}-"]
)
def test_a_range_past_the_end_is_416(client: Client, asked: str) -> None:
    answer = client.ask(range=asked)
    assert_error(answer, 416, "range not satisfiable")
    assert answer[1]["Content-Range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "bytes=-",
        "bytes=9-5",
        "bytes=0-1,3-4",
        "lines=0-1",
        "bytes= 0-1",
        "bytes=\u0660-\u0661",
        f"bytes={'9' * 5000}-",
    ],
)
def test_an_invalid_or_unsupported_range_is_ignored(client: Client, asked: str) -> None:
    status, _, body = client.ask(range=asked)
    assert (status, body) == (200, CONTENT)


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        (OWN_TAG, 206),
        (f"W/{OWN_TAG}", 200),
        ("Sat, 29 Oct 1994 19:43:31 GMT", 200),
    ],
)
def test_a_range_is_ignored_unless_if_range_matches_the_etag(
    client: Client, condition: str, status: int
) -> None:
    assert client.ask(range="bytes=0-1", if_range=condition)[0] == status


@given(st.text(max_size=40) | st.from_regex(r"bytes=[0-9]{0,5}-[0-9]{0,5}", fullmatch=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_range_header_gets_a_consistent_reply(client: Client, asked: str) -> None:
    status, fields, body = client.ask(range=asked)
    assert status in {200, 206, 416}
    assert fields["Content-Length"] == str(len(body))
    if status == 206:
        first, last = map(int, fields["Content-Range"].removeprefix("bytes ").split("/")[0].split("-"))
        assert body == CONTENT[first : last + 1]


def test_an_internal_error_after_opening_the_file_closes_it(disk_client: Client) -> None:
    with structlog.testing.capture_logs():
        assert disk_client.ask(range=None)[0] == 500  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 1])
def test_images_of_0_and_1_bytes_are_delivered(client: Client, size: int) -> None:
    client.put(CONTENT[:size])
    assert client.ask()[0::2] == (200, CONTENT[:size])
    assert client.ask(range="bytes=0-")[0] == (206 if size else 416)


@pytest.mark.parametrize(
    ("seconds_left", "max_age"), [(86_400, 3600), (3600, 3600), (3599, 3599), (59.9, 59), (0.1, 0)]
)
def test_max_age_never_exceeds_the_time_until_the_url_expires_with_or_without_a_condition(
    client: Client, seconds_left: float, max_age: int
) -> None:
    client.now = EXP - seconds_left
    for answer in (client.ask(), client.ask(if_none_match='"x"')):
        assert answer[::2] == (200, CONTENT)
        assert answer[1]["Cache-Control"] == f"public, max-age={max_age}"


def test_retiring_a_key_invalidates_urls_that_were_verified_before(client: Client, tmp_path: Path) -> None:
    """Verified URLs are cached, but only as long as the keys that verified them."""
    keys = KeyFile(tmp_path / "keys")
    keys.path.write_text(RING.format())
    client.use(client.reader, keys)
    assert client.ask()[0] == 200
    KeyFile(keys.path).retire("k1")
    keys.fresh_ring()
    assert client.ask()[0] == 403


class FailingReader:
    """A reader of a remote store, with a bug or with a store that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def size(self, _: str) -> int | None:
        raise self.error

    async def stream(self, _: str, __: range | None = None) -> ObjectStream | None:
        raise self.error

    async def check(self) -> None:
        raise self.error


class FailingFiles(FailingReader):
    def open(self, _: str) -> OpenObject | None:
        raise self.error


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("reader", [FailingReader, FailingFiles])
def test_an_internal_error_reveals_only_its_request_id(
    disk_client: Client, reader: type[FailingReader], method: str
) -> None:
    disk_client.use(reader(ZeroDivisionError("token")))
    with structlog.testing.capture_logs() as logs:
        answer = disk_client.ask(method=method)
    assert answer[0] == 500
    if method == "GET":
        assert_error(answer, 500, "internal error")
    assert logs[0]["request_id"] == answer[1]["X-Request-Id"]
    with structlog.testing.capture_logs() as logs:
        disk_client.reply(Request(method, TARGET, {}, request_id="from-a-proxy.1"))
    assert logs[0]["request_id"] == "from-a-proxy.1"
    assert "token=" not in str(logs)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("reader", [FailingReader, FailingFiles])
def test_a_failing_store_is_503_and_is_logged_once(
    disk_client: Client, reader: type[FailingReader], method: str
) -> None:
    disk_client.use(reader(StoreError("down")))
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            answer = disk_client.ask(method=method)
            assert (answer[0], answer[1]["Retry-After"]) == (503, "5")
            if method == "GET":
                assert_error(answer, 503, "storage unavailable, retry later")
    assert [entry["event"] for entry in logs] == ["storage unavailable"]


def test_head_304_and_416_read_no_bytes_from_a_remote_store(s3_client: Client) -> None:
    class SizesOnly(CloudReader):
        async def stream(self, key: str, _: range | None = None) -> ObjectStream | None:
            raise AssertionError(key)

    s3_client.reader.__class__ = SizesOnly
    assert s3_client.ask(method="HEAD")[0] == 200
    assert s3_client.ask(if_none_match=OWN_TAG)[0] == 304
    assert s3_client.ask(range=f"bytes={SIZE}-")[0] == 416


CHECKED = f"/check{TARGET}"


@pytest.mark.parametrize(
    ("seconds_left", "status", "cache_control"),
    [
        (3660, 305, "max-age=59"),
        (3659.9, 421, "no-store"),
        (0.1, 421, "no-store"),
    ],
)
def test_check_tells_the_proxy_whether_it_or_delivery_sends_the_image(
    disk_client: Client, seconds_left: float, status: int, cache_control: str
) -> None:
    """The proxy caches the reply for a minute and clients cache the image for an hour, never past `exp`."""
    disk_client.use(FailingFiles(StoreError("the check reads nothing")))
    disk_client.now = EXP - seconds_left
    expected = (status, {"Content-Length": "0", "Cache-Control": cache_control}, b"")
    assert disk_client.ask(CHECKED) == expected
    assert disk_client.ask(CHECKED, method="HEAD") == expected


@pytest.mark.parametrize(
    ("target", "now", "message", "status"),
    [
        (CHECKED, EXP, "expired", 410),
        (CHECKED.replace("token=k1", "token=k9"), NOW, "invalid signature", 403),
        (f"/check/check{TARGET}", NOW, "not found", 404),
        ("/check/healthz", NOW, "not found", 404),
        ("/check", NOW, "not found", 404),
    ],
)
def test_check_refuses_an_invalid_url_with_the_error_for_the_client(
    disk_client: Client, target: str, now: float, message: str, status: int
) -> None:
    disk_client.now = now
    assert_error(disk_client.ask(target), status, message)
