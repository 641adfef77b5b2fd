"""A PUT to a bucket is sent once: a first one that arrives late could bring a deleted image back."""

import socket
from collections.abc import Callable

import pytest

from prshots.contract.errors import StoreError
from prshots.contract.object_names import origin_key
from prshots.server.adapters.objects.cloud import CloudStore
from prshots.server.adapters.objects.cloud_client import RequestLimits
from support.http_server import QuietHandler, serving

KEY = origin_key("0" * 32, "png")
IMPATIENT = RequestLimits(silence_seconds=0.3, total_seconds=2)


def hang(handler: QuietHandler) -> None:
    handler.connection.settimeout(10)
    handler.rfile.read(1)  # until the client gives up


def cut(handler: QuietHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def refuse(handler: QuietHandler) -> None:
    handler.send_response(503)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


@pytest.mark.parametrize("answer", [hang, cut, refuse])
async def test_a_failed_put_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[QuietHandler], None]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    received: list[str] = []

    class Bucket(QuietHandler):
        def do_PUT(self) -> None:  # noqa: N802 - the library looks for this name
            self.rfile.read(int(self.headers["Content-Length"]))
            received.append(self.path)
            answer(self)
            self.close_connection = True

    with serving(Bucket) as url:
        store = CloudStore(f"s3://bucket?endpoint={url}&region=us-east-1", IMPATIENT)
        with pytest.raises(StoreError):
            await store.put(KEY, [b"image"])
    assert received == [f"/bucket/{KEY}"]
