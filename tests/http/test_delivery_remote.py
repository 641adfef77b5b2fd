"""Delivery from a remote store over real sockets: sent in chunks, and a partial image never looks complete."""

import asyncio
import contextlib
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Iterator

import pytest
import structlog

from prshots.contract.errors import StoreError
from prshots.contract.object_names import origin_key
from prshots.server.adapters.objects.cloud import CloudStore
from prshots.server.adapters.objects.cloud_client import RequestLimits
from prshots.server.adapters.objects.hot_copies import HotReader
from prshots.server.links import ObjectStream
from prshots.server.observability import metrics
from support.delivery_sockets import EXP, RING, DeliveryInThread, get
from support.engine_servers import SeaweedFS, running_seaweedfs

pytestmark = pytest.mark.slow

MB = 1_000_000
PATIENT = RequestLimits(silence_seconds=3600, total_seconds=3600)
IMPATIENT = RequestLimits(silence_seconds=3600, total_seconds=0.5)
"""Gives up quickly on a store that never answers."""


class CountingReader(HotReader):
    """The real reader. It counts the bytes read, and the open streams."""

    def __init__(self, url: str, limits: RequestLimits) -> None:
        super().__init__(url, 32 * MB, limits)
        self.taken = self.open_streams = self.largest_chunk = 0

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        found = await super().stream(key, part)
        return None if found is None else ObjectStream(found.size, self._counted(found.chunks))

    async def _counted(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        self.open_streams += 1
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    self.taken += len(chunk)
                    self.largest_chunk = max(self.largest_chunk, len(chunk))
                    yield chunk
        finally:
            self.open_streams -= 1


class Place:
    """A bucket, and a delivery server that reads from it."""

    def __init__(self, server: SeaweedFS) -> None:
        url = server.new_store_url()
        self._store = CloudStore(url, PATIENT)
        self.reader = CountingReader(url, PATIENT)
        self.served = DeliveryInThread(self.reader)

    def put(self, content: bytes) -> str:
        """Put an image into the store, and return its signed target."""
        image_id = secrets.token_hex(16)
        asyncio.run(self._store.put(origin_key(image_id, "png"), [content]))
        return RING.sign(image_id, "png", EXP, "k1")

    def replace(self, target: str, content: bytes) -> None:
        asyncio.run(self._store.put(origin_key(target[3:35], "png"), [content]))

    def delete(self, target: str) -> None:
        assert asyncio.run(self._store.delete([origin_key(target[3:35], "png")])) == set()

    def close(self) -> None:
        self.served.end()
        assert self.is_at_rest()

    def is_at_rest(self) -> bool:
        copies = self.reader.copies
        kept = sum(len(copy.content) for copy in copies._copies.values())
        return kept == copies.bytes and not (self.reader.open_streams or self.served.server._relays)


@pytest.fixture
def place(seaweedfs: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    with contextlib.closing(Place(seaweedfs)) as made:
        yield made


def cache_reads() -> tuple[float, float]:
    hits, misses = (metrics.CACHED_READS.labels(result)._value.get() for result in ("hit", "miss"))
    return hits, misses


def test_a_copy_is_sent_only_if_the_store_still_has_the_same_object(place: Place) -> None:
    content, other = secrets.token_bytes(300_000), secrets.token_bytes(300_000)
    target = place.put(content)
    with place.served.client() as client:
        assert client.get(target).content == content
        hits, misses = cache_reads()
        for _ in range(2):
            assert client.get(target).content == content
        part = client.get(target, headers={"Range": "bytes=5-9"})
        assert (part.status_code, part.content) == (206, content[5:10])
        assert part.headers["content-range"] == "bytes 5-9/300000"
        assert cache_reads() == (hits + 3, misses)
        place.replace(target, other)
        assert client.get(target, headers={"Range": "bytes=5-9"}).content == other[5:10]
        assert [client.get(target).content for _ in range(2)] == [other] * 2
        assert cache_reads() == (hits + 4, misses + 2)
        place.delete(target)
        assert client.get(target).status_code == 410
        assert place.reader.copies.bytes == 0
        place.replace(target, content)
        assert client.get(target).content == content


def test_pipelined_requests_are_answered_in_order(place: Place) -> None:
    sizes = [10, 2 * MB, 0, 100_000]
    targets = [place.put(secrets.token_bytes(size)) for size in sizes]
    requests = [get(target) for target in targets]
    requests[2:2] = [get("/healthz"), get(targets[1], method="HEAD"), get("/nothing")]
    with place.served.exchange(b"".join(requests) + get(targets[0], "Connection: close")) as wire:
        bodies = [len(wire.reply()[2]) for _ in range(2)]
        assert wire.reply()[0] == 200
        assert wire.reply(has_body=False)[1]["Content-Length"] == str(2 * MB)
        assert wire.reply()[0] == 404
        bodies += [len(wire.reply()[2]) for _ in range(2)]
        assert bodies == sizes
        assert wire.reply()[1]["Connection"] == "close"
        assert wire.is_ended()


def test_a_slow_client_slows_down_reading_and_gets_its_replies_even_after_a_stop(place: Place) -> None:
    content = secrets.token_bytes(16 * MB)
    target = place.put(content)
    with place.served.connect(receive_buffer=4096) as wire:
        wire.sock.sendall(get(target) + get("/healthz"))
        wire.rest = wire.sock.recv(1000)
        taken = -1
        while taken != place.reader.taken:  # until the kernel's buffers are full
            taken = place.reader.taken
            time.sleep(0.2)
        assert place.reader.open_streams == 1
        assert taken < 10 * MB  # the kernel's buffers grow to a few megabytes
        connection = next(iter(place.served.server._connections))
        assert len(connection._unsent) <= place.reader.largest_chunk + 1000
        assert place.reader.largest_chunk < 2 * MB
        stopped = asyncio.run_coroutine_threadsafe(place.served.server.stop(60), place.served.loop)
        assert wire.reply()[2] == content
        assert wire.reply()[1]["Connection"] == "close"
    stopped.result(30)
    assert not place.served.server._connections


@pytest.mark.parametrize("reset", [True, False])
def test_a_client_that_disconnects_ends_reading_from_the_store(place: Place, reset: bool) -> None:
    target = place.put(bytes(16 * MB))
    for read in (0, 1000):
        wire = place.served.connect(receive_buffer=4096)
        wire.sock.sendall(get(target) + get(target))
        if read:
            wire.sock.recv(read)
        if reset:  # the client sends a reset instead of closing
            wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        wire.sock.close()
    place.served.settle(lambda: not place.served.server._connections)
    place.served.settle(place.is_at_rest)
    assert place.reader.taken < 4 * 16 * MB  # reading stops when the client disconnects


def test_a_stop_closes_streams_that_do_not_finish_in_time(place: Place) -> None:
    target = place.put(bytes(16 * MB))
    with place.served.connect(receive_buffer=4096) as wire:
        wire.sock.sendall(get(target))
        wire.sock.recv(100)
        place.served.run(place.served.server.stop(0.1))
        assert not place.served.server._connections
        assert place.is_at_rest()


def test_a_store_that_hangs_or_stops_is_503_and_blocks_no_other_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_seaweedfs())
        for name, value in server.credentials.items():
            monkeypatch.setenv(name, value)
        place = stack.enter_context(contextlib.closing(Place(server)))
        target, large = place.put(b"image"), place.put(bytes(16 * MB))
        with place.served.client() as client, structlog.testing.capture_logs() as logs:
            with place.served.connect() as waiting:
                with server.frozen():
                    waiting.sock.sendall(get(target))  # may wait for an hour; the next requests do not
                    assert client.get("/healthz").status_code == 200
                    assert client.get("/i/").status_code == 404
                assert waiting.reply()[2] == b"image"
            place.reader._limits = IMPATIENT
            with server.frozen(), place.served.exchange(get(target)) as waiting:
                status, fields, body = waiting.reply()
                assert (status, fields["Retry-After"]) == (503, "5")
                assert body == b'{"error":"storage unavailable, retry later"}'
                assert client.head(target).status_code == 503
            place.reader._limits = PATIENT
            assert client.get(target).content == b"image"
            with place.served.connect(receive_buffer=4096) as wire:
                wire.sock.sendall(get(large))
                wire.sock.recv(1000)
                server.kill()  # in the middle of a stream
                assert len(wire.read_to_end()) < 16 * MB
            assert client.get(target).status_code == 503
            server.start()
            assert client.get(target).content == b"image"
        events = [entry["event"] for entry in logs]
        assert set(events) == {"storage unavailable", "storage is back"}
        assert events.count("storage unavailable") == 2  # one line for each outage


class ScriptedReader:
    """A store that claims to have ten bytes, and sends what the test scripts."""

    def __init__(self, *script: bytes | Exception) -> None:
        self.script = script

    async def size(self, _: str) -> int | None:
        return 10

    async def stream(self, _: str, __: range | None = None) -> ObjectStream | None:
        return ObjectStream(10, self._chunks())

    async def check(self) -> None: ...

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            yield step


@pytest.mark.parametrize(
    ("script", "event"),
    [
        ([b"12345"], None),
        ([], None),
        ([b"1234567890", b"1"], None),
        ([b"12345", StoreError("gone")], "storage unavailable"),
        ([StoreError("gone")], "storage unavailable"),
        ([b"12345", ZeroDivisionError()], "internal error"),
    ],
)
def test_a_stream_that_fails_or_has_the_wrong_size_ends_the_connection(
    script: list[bytes | Exception], event: str | None
) -> None:
    target = RING.sign("ab" * 16, "png", EXP, "k1")
    with (
        structlog.testing.capture_logs() as logs,
        DeliveryInThread(ScriptedReader(*script)) as served,
        served.exchange(get(target) + get("/healthz")) as wire,
    ):
        came = wire.read_to_end()
    head, _, body = came.partition(b"\r\n\r\n")
    assert b'"status"' not in came  # the pipelined request is not answered either
    assert not head or b"Content-Length: 10\r\n" in head
    assert len(body) <= 10
    assert len(body) < 10 or script[0] == b"1234567890"  # the ten bytes are complete, the rest is cut
    assert [entry["event"] for entry in logs] == ([event] if event else [])


def test_empty_and_uneven_chunks_are_delivered() -> None:
    reader = ScriptedReader(b"", b"123", b"", b"4567", b"890", b"")
    with (
        DeliveryInThread(reader) as served,
        served.exchange(get(RING.sign("ab" * 16, "png", EXP, "k1")) * 3) as wire,
    ):
        assert [wire.reply()[2] for _ in range(3)] == [b"1234567890"] * 3
