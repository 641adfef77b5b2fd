"""The counter on a real Valkey, and on one that is gone, frozen, full, read-only or not a Valkey at all.

The timeouts are injected. Where the server answers, a test waits as long as it takes. Where it never answers, a
test gives up early.
"""

import asyncio
import contextlib
import secrets
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
from starlette.requests import Request

from prshots.contract.errors import CounterUnavailableError, SettingsError
from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.adapters.counters import redis
from prshots.server.adapters.counters.redis import HIT_SECONDS, RedisCounter, wait_patiently
from prshots.server.api.upload import count_against_limit
from prshots.server.domain.images.models import Hit
from prshots.server.observability.metrics import COUNTER_OUTAGES, ENGINE_FAILURES, UNLIMITED_UPLOADS
from support.engine_servers import Valkey, running_valkey
from support.free_ports import free_port
from support.stores_and_records import a_project
from support.waiting import HANGS_AFTER_SECONDS, eventually

pytestmark = pytest.mark.slow

PASSWORD = "swordfish-71"
NEVER = 3600.0
"""A limit in seconds that no test reaches."""

PATIENT = (NEVER,)
IMPATIENT = (0.02, 0.01)
"""For a server that never answers, so the length of the wait makes no difference."""


@pytest.fixture(scope="module")
def own_valkey() -> Iterator[Valkey]:
    """Start a server that tests may stop and reconfigure. They leave it running, with its own settings."""
    with running_valkey() as server:
        yield server


@pytest.fixture
def project() -> str:
    return secrets.token_hex(8)


@contextlib.asynccontextmanager
async def counting(
    url: str,
    limit: int = 120,
    *,
    patience: Sequence[float] = PATIENT,
    server_seconds: float = NEVER,
    retry_seconds: float = 0.0,
) -> AsyncIterator[RedisCounter]:
    counter = RedisCounter(
        url, limit, patience=patience, server_seconds=server_seconds, retry_seconds=retry_seconds
    )
    try:
        yield counter
    finally:
        await counter.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, "it left something running"


async def hits(counter: RedisCounter, times: int, project_id: str = "project") -> Counter[object]:
    """Count concurrent uploads. Return how many had each outcome."""

    async def hit() -> object:
        try:
            return (await counter.hit(project_id)).is_counted
        except CounterUnavailableError as error:
            return str(error)

    return Counter(await asyncio.gather(*(hit() for _ in range(times))))


def uncounted(answers: Counter[object]) -> str:
    """Check that no upload was counted, and return the reasons."""
    assert not {True, False} & set(answers), answers
    assert PASSWORD not in str(answers)
    return " / ".join(map(str, answers))


async def limited_again(counter: RedisCounter) -> None:
    """Wait until a project reaches its limit again."""
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while False not in await hits(counter, 140, secrets.token_hex(8)):
        assert time.monotonic() < until, "it did not come back"
        await asyncio.sleep(0.05)


async def call_over(counter: RedisCounter) -> None:
    await eventually(lambda: counter._call is None, "the end of the call")


def test_an_upload_waits_less_than_50_ms_for_the_counter() -> None:
    assert sum(HIT_SECONDS) < 0.05


@pytest.mark.parametrize(("busy_seconds", "turns", "is_answered"), [(NEVER, 8, True), (0.1, 30, False)])
async def test_busy_process_waits_until_it_can_read_the_answer_or_gives_up(
    monkeypatch: pytest.MonkeyPatch, busy_seconds: float, turns: int, *, is_answered: bool
) -> None:
    """Each turn of the event loop takes longer than two steps of the patience."""
    monkeypatch.setattr(redis, "BUSY_SECONDS", busy_seconds)
    answer: asyncio.Future[Hit | None] = asyncio.get_running_loop().create_future()

    async def other_uploads() -> None:
        for _ in range(turns):
            time.sleep(2.5 * max(HIT_SECONDS))
            await asyncio.sleep(0)
        answer.set_result(Hit(is_counted=True, limit=1, remaining=0, free_in=60))

    busy = asyncio.create_task(other_uploads())
    await wait_patiently(answer, HIT_SECONDS)
    assert answer.done() == is_answered
    await busy


class TestSharedServer:
    async def test_keys_expire_and_uploads_recorded_in_the_future_do_not_count(
        self, valkey: Valkey, project: str
    ) -> None:
        """The server's clock may be set back. Uploads recorded before that are then in the future."""
        async with counting(valkey.url, 2) as counter:
            await hits(counter, 2, project)
            with valkey.client() as client:
                (key,) = client.scan_iter(f"*{project}*")
                assert 0 < client.pttl(key) <= 1000 * WINDOW_SECONDS
                for index in (0, 1):
                    client.lset(key, index, str(int(time.time() + 3600) * 1_000_000))
            assert await hits(counter, 3, project) == {True: 2, False: 1}

    async def test_all_uploads_share_one_connection(self, own_valkey: Valkey, project: str) -> None:
        with own_valkey.client() as client:
            before = client.info("stats")["total_connections_received"]
            async with counting(own_valkey.url) as counter:
                await hits(counter, 500, project)
                assert client.info("stats")["total_connections_received"] == before + 1
            await eventually(lambda: len(client.client_list()) == 1, "the server to see it close")

    async def test_counting_continues_after_a_script_flush_and_a_closed_connection(
        self, own_valkey: Valkey, project: str
    ) -> None:
        """A server closes idle connections. That is not an outage."""
        async with counting(own_valkey.url, 2) as counter:
            assert await hits(counter, 1, project) == {True: 1}
            with own_valkey.client() as client:
                client.script_flush()
                assert await hits(counter, 1, project) == {True: 1}
                client.client_kill_filter(_type="normal", skipme=True)
                await eventually(lambda: len(client.client_list()) == 1, "the server to close it")
            for _ in range(3):  # lets the event loop read the end of the connection
                await asyncio.sleep(0)
            assert await hits(counter, 1, project) == {False: 1}

    async def test_valkey_url_scheme_is_accepted(self, valkey: Valkey, project: str) -> None:
        async with counting(valkey.url.replace("redis", "valkey")) as counter:
            assert await hits(counter, 1, project) == {True: 1}

    async def test_tls_url_schemes_verify_the_certificate(
        self, valkey: Valkey, project: str, tmp_path: Path
    ) -> None:
        async with behind_tls(valkey, tmp_path) as (port, certificate):
            for scheme in ("rediss", "valkeys"):
                url = f"{scheme}://localhost:{port}"
                async with counting(f"{url}?ssl_ca_certs={certificate}") as counter:
                    assert await hits(counter, 1, project) == {True: 1}
                async with counting(url) as counter:
                    with pytest.raises(CounterUnavailableError, match="certificate"):
                        await counter.check()


class TestOutages:
    async def test_uploads_are_not_counted_while_the_server_is_frozen(self, own_valkey: Valkey) -> None:
        patience = list(PATIENT)
        async with counting(own_valkey.url, patience=patience, server_seconds=0.5) as counter:
            await limited_again(counter)
            with own_valkey.frozen():
                patience[:] = IMPATIENT
                for _ in range(3):  # first on the open connection, later on new ones
                    uncounted(await hits(counter, 1))
                    uncounted(await hits(counter, 200))
                    await call_over(counter)
            patience[:] = PATIENT
            await limited_again(counter)

    async def test_after_a_late_answer_the_next_upload_is_counted(self, own_valkey: Valkey) -> None:
        """The upload that timed out is not counted. A late answer is not a failure: the next upload is counted."""
        patience = list(PATIENT)
        async with counting(own_valkey.url, patience=patience, retry_seconds=NEVER) as counter:
            assert await hits(counter, 1, "before") == {True: 1}
            with own_valkey.frozen():
                patience[:] = IMPATIENT
                uncounted(await hits(counter, 1))
            patience[:] = PATIENT
            await call_over(counter)
            assert False in await hits(counter, 140)

    async def test_only_one_upload_at_a_time_waits_for_a_frozen_server(self, own_valkey: Valkey) -> None:
        patience = list(IMPATIENT)
        async with counting(own_valkey.url, patience=patience) as counter:
            with own_valkey.frozen():
                uncounted(await hits(counter, 1))
                patience[:] = PATIENT  # an upload that waits would wait for an hour
                for _ in range(1000):
                    uncounted(await hits(counter, 1))

    async def test_after_a_failure_no_call_is_made_within_the_retry_interval(
        self, own_valkey: Valkey
    ) -> None:
        async with counting(own_valkey.url, retry_seconds=NEVER) as counter:
            own_valkey.stop()
            uncounted(await hits(counter, 1))
            own_valkey.start()
            uncounted(await hits(counter, 200))
            assert counter._call is None

    @pytest.mark.parametrize(
        ("reason", "refuse", "allow"),
        [
            ("maxmemory", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),  # nothing can be evicted
            ("replica", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
        ],
    )
    async def test_uploads_are_not_counted_while_the_server_refuses_writes(
        self, own_valkey: Valkey, reason: str, refuse: str, allow: str
    ) -> None:
        with own_valkey.client() as client:
            async with counting(own_valkey.url) as counter:
                client.execute_command(*refuse.split())
                assert reason in uncounted(await hits(counter, 50))
                with pytest.raises(CounterUnavailableError, match=reason):
                    await counter.check()
                client.execute_command(*allow.split())
                await limited_again(counter)

    async def test_uploads_are_counted_only_with_the_right_password(
        self, own_valkey: Valkey, project: str
    ) -> None:
        with own_valkey.client() as client:
            client.config_set("requirepass", "p@ss/word")  # this connection keeps its rights
            for user in ("", f":{PASSWORD}@", f"somebody:{PASSWORD}@"):
                async with counting(own_valkey.url.replace("//", f"//{user}")) as counter:
                    assert uncounted(await hits(counter, 5))
            async with counting(own_valkey.url.replace("//", "//:p%40ss%2Fword@")) as counter:
                assert await hits(counter, 1, project) == {True: 1}
            client.config_set("requirepass", "")

    @pytest.mark.parametrize("scheme", ["redis", "rediss"])
    async def test_a_socket_that_never_answers_times_out(self, scheme: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"{scheme}://:{PASSWORD}@127.0.0.1:{server.getsockname()[1]}"
            async with counting(url, patience=IMPATIENT) as counter:
                assert "no answer" in uncounted(await hits(counter, 200))
            async with counting(url, server_seconds=0.05) as counter:
                with pytest.raises(CounterUnavailableError):
                    await counter.check()

    async def test_uploads_are_not_counted_by_a_server_that_is_not_valkey(self) -> None:
        async def speak_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(speak_http, "127.0.0.1", 0)
        async with server, counting(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as counter:
            assert uncounted(await hits(counter, 5))

    async def test_only_one_dns_lookup_runs_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only one lookup runs at a time, however long it takes. More would use up the threads for lookups."""
        asked = 0

        async def never(*_: object, **__: object) -> None:
            nonlocal asked
            asked += 1
            await asyncio.sleep(NEVER)

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
        async with counting("redis://counter.example", patience=IMPATIENT) as counter:
            for _ in range(3):
                uncounted(await hits(counter, 20))
        assert asked == 1

    async def test_a_cancelled_upload_does_not_cancel_the_others(self, own_valkey: Valkey) -> None:
        """A client that disconnects cancels its upload. The others get their answers."""
        async with counting(own_valkey.url, 6) as counter:
            going = [asyncio.create_task(counter.hit("project")) for _ in range(5)]
            staying = asyncio.create_task(counter.hit("project"))
            await asyncio.sleep(0)
            for task in going:
                task.cancel()
            assert (await staying).is_counted
            await asyncio.gather(*going, return_exceptions=True)

    async def test_uploads_pass_and_their_replies_say_no_limit(self) -> None:
        async with counting(f"redis://127.0.0.1:{free_port()}", 1, patience=IMPATIENT) as counter:
            added: list[tuple[bytes, bytes]] = []
            request = Request({"type": "http", "prshots.reply_headers": added})
            for _ in range(3):
                await count_against_limit(request, counter, a_project())
        assert added == []

    async def test_metrics_count_outages_failures_and_unlimited_uploads(self, own_valkey: Valkey) -> None:
        async with counting(own_valkey.url) as counter:
            assert await hits(counter, 3) == {True: 3}
            own_valkey.stop()
            with (
                counted(COUNTER_OUTAGES, 1),
                counted(UNLIMITED_UPLOADS, 300),
                counted(ENGINE_FAILURES.labels("counter"), 3),
            ):
                for _ in range(3):
                    await hits(counter, 100)
            own_valkey.start()
            await limited_again(counter)
            own_valkey.stop()
            with counted(COUNTER_OUTAGES, 1):
                await hits(counter, 10)


@pytest.mark.parametrize("rest", ["host?nonsense=1", "host?db=many", "host?socket_timeout=soon"])
def test_an_invalid_counter_url_is_refused_without_its_password(rest: str) -> None:
    with pytest.raises(
        SettingsError, match="PRSHOTS_COUNTER_URL: got an invalid value, takes redis://"
    ) as raised:
        RedisCounter(f"redis://:{PASSWORD}@{rest}", 120)
    assert PASSWORD not in str(raised.value)


@contextlib.contextmanager
def counted(metric: object, times: int) -> Iterator[None]:
    def now() -> float:
        return float(metric._value.get())  # type: ignore[attr-defined]

    before = now()
    yield
    assert now() - before == times


@contextlib.asynccontextmanager
async def behind_tls(server: Valkey, folder: Path) -> AsyncIterator[tuple[int, Path]]:
    """Put TLS in front of a server that has none, with a self-signed certificate for localhost."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    front = await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)
    async with front:
        yield front.sockets[0].getsockname()[1], certificate
