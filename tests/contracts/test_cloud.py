"""The S3 store: failures that only a bucket can have, on a real S3 server."""

import asyncio
import contextlib
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import obstore
import pytest
import structlog

from prshots.contract.errors import SettingsError, StoreError, StoreFullError
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server.adapters.objects import cloud
from prshots.server.adapters.objects.cloud import CloudReader, CloudStore
from prshots.server.adapters.objects.cloud_client import RequestLimits, open_client
from support.engine_servers import S3_SECRET, SeaweedFS, running_seaweedfs
from support.http_server import Answer, answering
from support.waiting import HANGS_AFTER_SECONDS

IMPATIENT = RequestLimits(silence_seconds=0.3, total_seconds=1)
"""For a store that never answers."""
PATIENT = RequestLimits(silence_seconds=3600, total_seconds=3600)
"""For a store that answers. A busy machine may be slow."""


def a_key(ext: str = "png") -> str:
    return origin_key(secrets.token_hex(16), ext)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set any credentials: without them, the client asks the machine for some."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")


@pytest.fixture
def bucket(seaweedfs: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    return seaweedfs.new_bucket()


async def listed(store: CloudStore) -> list[list[str]]:
    return [list(page) async for page in store.stored_before(time.time() + 60)]


async def everything_fails(store: CloudStore, reader: CloudReader) -> list[str]:
    """Call every operation of a store. Each must fail; return the error messages."""
    key = a_key()
    told = await asyncio.gather(
        store.read(key),
        reader.size(key),
        reader.stream(key),
        listed(store),
        store.owner("somebody"),
        store.check(),
        reader.check(),
        return_exceptions=True,
    )
    assert {type(answer) for answer in told} == {StoreError}
    assert all(answer.count_request for answer in told if isinstance(answer, StoreError))
    with structlog.testing.capture_logs() as logs:
        assert await store.delete([key, a_key()]) >= {key}
    assert logs == []  # the outage has its line
    return [str(error) for error in told]


async def test_objects_have_their_content_type(seaweedfs: SeaweedFS, bucket: str) -> None:
    store = CloudStore(seaweedfs.store_url(bucket), PATIENT)
    for ext, content_type in (("jpg", "image/jpeg"), (THUMBNAIL_EXT, "image/webp")):
        key = a_key(ext)
        await store.put(key, [b"some", b"thing"])
        assert obstore.get(seaweedfs.client(bucket), key).attributes["Content-Type"] == content_type


async def test_two_prefixes_do_not_see_each_other(seaweedfs: SeaweedFS, bucket: str) -> None:
    one, other = (
        CloudStore(seaweedfs.store_url(bucket, prefix), PATIENT) for prefix in ("one", "one/other/")
    )
    key = a_key()
    await one.put(key, [b"x"])
    assert await other.read(key) is None
    assert await other.delete([key]) == set()
    assert await one.read(key) == b"x"
    await other.put(key, [b"y"])
    assert await one.read(key) == b"x"
    assert await listed(one) == [[key]]
    assert await listed(other) == [[key]]
    assert (await one.owner("one"), await other.owner("other")) == ("one", "other")
    lies = [entry["path"] for page in obstore.list(seaweedfs.client(bucket)) for entry in page]
    assert sorted(lies) == sorted(
        f"{prefix}/{name}" for prefix in ("one", "one/other") for name in (key, ".installation")
    )


async def test_foreign_objects_are_not_listed(seaweedfs: SeaweedFS, bucket: str) -> None:
    for name in ("README", "ab/notes.txt", f"ab/{'AB' * 16}.png", f"abc/{'ab' * 16}.png", f"{'ab' * 16}.png"):
        obstore.put(seaweedfs.client(bucket), name, b"x")
    assert not any(await listed(CloudStore(seaweedfs.store_url(bucket), PATIENT)))


async def test_a_missing_bucket_is_an_error_not_a_missing_image(seaweedfs: SeaweedFS, bucket: str) -> None:
    del bucket
    url = seaweedfs.store_url("no-such-bucket")
    told = await everything_fails(CloudStore(url, PATIENT), CloudReader(url, PATIENT))
    assert set(told) == {"the store answered 404 NoSuchBucket"}


async def test_a_wrong_secret_key_fails_without_leaking_the_secret(
    seaweedfs: SeaweedFS, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = a_key()
    await CloudStore(seaweedfs.store_url(bucket), PATIENT).put(key, [b"x"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-" + S3_SECRET)
    url = seaweedfs.store_url(bucket)
    told = await everything_fails(CloudStore(url, PATIENT), CloudReader(url, PATIENT))
    assert {text for text in told if "Signature" in text} == {"the store answered 403 SignatureDoesNotMatch"}
    assert S3_SECRET not in str(told)
    with pytest.raises(StoreError):
        await CloudStore(url, PATIENT).put(key, [b"y"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", S3_SECRET)
    assert await CloudStore(url, PATIENT).read(key) == b"x"


@pytest.mark.slow
async def test_calls_to_a_hung_or_stopped_server_fail_and_later_recover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running_seaweedfs() as server:
        for name, value in server.credentials.items():
            monkeypatch.setenv(name, value)
        url = server.store_url(server.new_bucket())
        store, reader, key = CloudStore(url, IMPATIENT), CloudReader(url, IMPATIENT), a_key()
        await CloudStore(url, PATIENT).put(key, [b"x"])
        with server.frozen():
            await everything_fails(store, reader)
            with pytest.raises(StoreError, match="in time"):
                await store.put(a_key(), [b"y"])
        await answers_again(reader, key)
        server.kill()
        await everything_fails(store, reader)
        with pytest.raises(StoreError):
            await store.put(a_key(), [b"y"])
        server.start()
        assert await CloudStore(url, PATIENT).read(key) == b"x"
        await answers_again(reader, key)  # the same client, with new connections


async def answers_again(reader: CloudReader, key: str) -> None:
    """Retry until the store answers: a busy machine may be slower than an impatient reader's timeout."""
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(StoreError):
            assert await reader.size(key) == 1
            return
    pytest.fail("it does not answer")


async def test_deletes_are_batched_and_listings_are_paged(
    seaweedfs: SeaweedFS, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cloud.DELETES, "s3", 40)
    monkeypatch.setattr(cloud, "PAGE", 30)
    store = CloudStore(seaweedfs.store_url(bucket), PATIENT)
    keys = [a_key() for _ in range(100)]
    await asyncio.gather(*(store.put(key, [b"x"]) for key in keys))
    pages = await listed(store)
    assert [len(page) for page in pages] == [30, 30, 30, 10]
    assert sorted(key for page in pages for key in page) == sorted(keys)
    assert await store.delete([*keys[:95], *(a_key() for _ in range(100))]) == set()
    assert sorted(key for page in await listed(store) for key in page) == sorted(keys[95:])


@contextlib.contextmanager
def store_that(answers: Callable[[str, bytes], tuple[int, str]]) -> Iterator[str]:
    """Give replies that the S3 protocol allows, but that no server available here can be made to give."""

    def answer(asked: BaseHTTPRequestHandler, body: bytes) -> Answer:
        status, text = answers(asked.command, body)
        return status, {}, text.encode()

    with answering(answer) as address:
        yield f"s3://bucket?endpoint={address}&region=r"


def error(code: str) -> str:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message></Error>'


async def test_a_batch_delete_returns_exactly_the_keys_that_failed() -> None:
    keys = [a_key() for _ in range(100)]
    held = {keys[0], keys[41], keys[42], keys[99]}
    requests = []

    def answer(_: str, body: bytes) -> tuple[int, str]:
        asked = re.findall(r"<Key>(.*?)</Key>", body.decode())
        requests.append(asked)
        done = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in asked if key not in held)
        refused = "".join(
            f"<Error><Key>{key}</Key><Code>AccessDenied</Code><Message>held</Message></Error>"
            for key in asked
            if key in held
        )
        return 200, f'<?xml version="1.0"?><DeleteResult>{done}{refused}</DeleteResult>'

    with store_that(answer) as url, structlog.testing.capture_logs() as logs:
        assert await CloudStore(url, PATIENT).delete(keys) == held
    assert len(requests) < 50  # far fewer than one request per key
    assert len(logs) == len(held)
    assert "AccessDenied" in logs[0]["reason"]


async def test_deletes_that_wait_for_others_share_their_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cloud.DELETES, "s3", 1)  # as on Google and Azure
    keys, asked, may_end = [a_key() for _ in range(100)], [], threading.Event()

    def answer(_: str, body: bytes) -> tuple[int, str]:
        asked.append(body)
        may_end.wait(HANGS_AFTER_SECONDS)
        return 200, "<DeleteResult></DeleteResult>"

    with store_that(answer) as url:
        assert await CloudStore(url, replace(PATIENT, total_seconds=0.5)).delete(keys) == set(keys)
        may_end.set()
    assert len(asked) <= cloud.DELETES_AT_ONCE


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_failed_put_is_not_sent_again(*, hangs: bool) -> None:
    """A first PUT that arrives late could bring a deleted image back."""
    received, may_end = [], threading.Event()

    def answer(_: str, body: bytes) -> tuple[int, str]:
        received.append(body)
        if hangs:
            may_end.wait(HANGS_AFTER_SECONDS)
        return 503, ""

    with store_that(answer) as url:
        with pytest.raises(StoreError):
            await CloudStore(url, IMPATIENT).put(a_key(), [b"image"])
        may_end.set()
    assert received == [b"image"]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (507, "XMinioStorageFull", StoreFullError),
        (507, "", StoreFullError),
        (403, "QuotaExceeded", StoreFullError),
        (500, "InternalError", StoreError),
        (503, "SlowDown", StoreError),
        (403, "AccessDenied", StoreError),
        (404, "NoSuchBucket", StoreError),
        (301, "PermanentRedirect", StoreError),
    ],
)
async def test_a_failed_put_raises_store_full_only_when_the_store_is_full(
    status: int, code: str, kind: type[StoreError]
) -> None:
    with store_that(lambda *_: (status, error(code))) as url:
        store = CloudStore(url, PATIENT)
        with pytest.raises(StoreError) as raised:
            await store.put(a_key(), [b"x"])
        assert type(raised.value) is kind
        with pytest.raises(StoreError):
            await store.read(a_key())


async def test_a_404_without_nosuchkey_is_an_error_not_a_missing_image() -> None:
    with store_that(lambda *_: (404, "<html>a proxy in between</html>")) as url:
        reader = CloudReader(url, PATIENT)
        with pytest.raises(StoreError, match="404"):
            await reader.stream(a_key())
        with pytest.raises(StoreError):
            await reader.size(a_key())
    with store_that(lambda *_: (404, error("NoSuchKey"))) as url:
        reader = CloudReader(url, PATIENT)
        assert await reader.stream(a_key()) is None
        assert await reader.size(a_key()) is None


async def test_claiming_a_store_without_conditional_put_fails() -> None:
    def answer(method: str, _: bytes) -> tuple[int, str]:
        return (404, error("NoSuchKey")) if method == "GET" else (501, error("NotImplemented"))

    with store_that(answer) as url, pytest.raises(StoreError, match="501 NotImplemented"):
        await CloudStore(url, PATIENT).owner("somebody")


GIVES_UP = """
import asyncio, os, sys
from prshots.server.adapters.objects.cloud import CloudStore

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # on one core, the store's threads lag behind

async def read() -> None:
    store = CloudStore(sys.argv[1])
    reading = [asyncio.create_task(store.read(f"{number:032x}.png")) for number in range(40)]
    await asyncio.wait(reading, timeout=0.3)

asyncio.run(read())
sys.exit("no answer")
"""


def test_a_process_that_gives_up_on_the_store_prints_only_what_it_has_to_say() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        url = f"s3://bucket?endpoint=http://127.0.0.1:{silent.getsockname()[1]}&region=us-east-1"
        ended = subprocess.run(
            [sys.executable, "-c", GIVES_UP, url], capture_output=True, text=True, check=False, timeout=60
        )
    assert (ended.returncode, ended.stderr) == (1, "no answer\n")


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket",
        "s3://bucket/",
        "s3://bucket/a/b/",
        "s3://bucket.with.dots/a?region=eu-central-1",
        "s3://bucket?endpoint=https://s3.example.org:9000&addressing=virtual",
        "s3://bucket?endpoint=http://[::1]:9000",
        "gs://bucket/a/b",
        "az://container/a/b?account=name",
        "az://container?account=name&endpoint=https://blob.example.org",
    ],
)
def test_a_valid_store_url_opens_a_client(url: str) -> None:
    assert open_client(url, IMPATIENT).prefix in {None, "a", "a/b"}


@pytest.mark.parametrize(
    ("url", "is_signed"),
    [
        ("s3://shots", False),
        ("s3://shots?endpoint=https://s3.example.com", False),
        ("s3://shots?endpoint=http://127.0.0.1:8333", False),
        ("s3://shots?endpoint=http://s3.internal:9000", True),
    ],
)
def test_a_body_is_signed_where_someone_could_change_it(url: str, *, is_signed: bool) -> None:
    config: Any = open_client(url, IMPATIENT).config
    assert config["unsigned_payload"] == str(not is_signed).lower()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("s3://key:hidden@bucket", "credentials belong in the environment"),
        ("s3://bucket:80", "name of the bucket"),
        ("s3://bucket#hidden", "name of the bucket"),
        ("s3://bucket?secret_access_key=hidden", "option is unknown"),
        ("s3://bucket?region=a&region=b", "option is unknown, empty or given twice"),
        ("s3://bucket?region=", "empty"),
        ("s3://bucket?endpoint=hidden", "endpoint is not"),
        ("s3://bucket?endpoint=ftp://hidden", "endpoint is not"),
        ("s3://bucket?endpoint=http://a:hidden@b", "endpoint is not"),
        ("s3://bucket?endpoint=http://a/hidden", "endpoint is not"),
        ("s3://bucket?endpoint=http://a:99999", "PRSHOTS_STORE_URL"),
        ("s3://bucket?addressing=hidden", "addressing"),
        ("s3://bucket/a//b", "empty path segment"),
        ("s3://bucket/../b", "illegal character sequence"),
        ("gs://bucket?region=hidden", "without options"),
        ("az://container", "Account must be specified"),
    ],
)
def test_an_invalid_store_url_is_refused_in_one_line_without_secrets(url: str, reason: str) -> None:
    with pytest.raises(SettingsError) as raised:
        CloudStore(url)
    assert str(raised.value).startswith("PRSHOTS_STORE_URL: ")
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "hidden" not in str(raised.value)
    with pytest.raises(SettingsError):
        CloudReader(url)
