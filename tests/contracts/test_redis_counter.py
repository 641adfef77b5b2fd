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

from prshots.contract.errors import CounterUnavailableError, SettingsError
from prshots.server.adapters.counters.memory import WINDOW_SECONDS
from prshots.server.adapters.counters.redis import HIT_SECONDS, RedisCounter
from prshots.server.observability.metrics import COUNTER_OUTAGES, ENGINE_FAILURES, UNLIMITED_UPLOADS
from support.engine_servers import Valkey, running_valkey
from support.free_ports import free_port
from support.waiting import HANGS_AFTER_SECONDS, eventually

PASSWORD = "swordfish-71"
NEVER = 3600.0
"""A limit in seconds that no test reaches."""

PATIENT = (NEVER,)
IMPATIENT = (0.02, 0.01)
"""For a server that never answers, so the length of the wait makes no difference."""


@pytest.fixture
def own_valkey() -> Iterator[Valkey]:
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
            return await counter.hit(project_id)
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


def test_an_upload_loses_at_most_50_ms() -> None:
    assert sum(HIT_SECONDS) < 0.05


class TestOneServerForAll:
    async def test_exact_over_several_processes(self, valkey: Valkey, project: str) -> None:
        async with (
            counting(valkey.url) as one,
            counting(valkey.url) as two,
            counting(valkey.url) as three,
        ):
            answers = await asyncio.gather(*(hits(each, 60, project) for each in (one, two, three)))
        assert sum(answers, Counter()) == Counter({True: 120, False: 60})

    async def test_its_keys_expire(self, valkey: Valkey, project: str) -> None:
        async with counting(valkey.url) as counter:
            assert await hits(counter, 3, project) == {True: 3}
            with valkey.client() as client:
                (key,) = client.scan_iter(f"*{project}*")
                assert 0 < client.pttl(key) <= 1000 * WINDOW_SECONDS

    async def test_a_clock_that_was_set_back(self, valkey: Valkey, project: str) -> None:
        """An upload recorded at a future time does not count until then."""
        async with counting(valkey.url, 2) as counter:
            await hits(counter, 2, project)
            with valkey.client() as client:
                (key,) = client.scan_iter(f"*{project}*")
                for index in (0, 1):
                    client.lset(key, index, str(int(time.time() + 3600) * 1_000_000))
            assert await hits(counter, 3, project) == {True: 2, False: 1}

    async def test_one_connection(self, own_valkey: Valkey, project: str) -> None:
        with own_valkey.client() as client:
            before = client.info("stats")["total_connections_received"]
            async with counting(own_valkey.url) as counter:
                await hits(counter, 500, project)
                assert client.info("stats")["total_connections_received"] == before + 1
            await eventually(lambda: len(client.client_list()) == 1, "the server to see it close")

    async def test_scripts_that_were_flushed(self, valkey: Valkey, project: str) -> None:
        async with counting(valkey.url, 2) as counter:
            assert await hits(counter, 1, project) == {True: 1}
            with valkey.client() as client:
                client.script_flush()
            assert await hits(counter, 2, project) == {True: 1, False: 1}

    async def test_connections_that_it_closed(self, own_valkey: Valkey, project: str) -> None:
        """A server closes idle connections. That is not an outage."""
        async with counting(own_valkey.url) as counter:
            assert await hits(counter, 1, project) == {True: 1}
            with own_valkey.client() as client:
                client.client_kill_filter(_type="normal", skipme=True)
                await eventually(lambda: len(client.client_list()) == 1, "the server to close it")
            for _ in range(3):  # lets the event loop read the end of the connection
                await asyncio.sleep(0)
            assert await hits(counter, 1, project) == {True: 1}

    async def test_an_event_loop_that_was_held_up(
        self, valkey: Valkey, project: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An answer that arrived while the event loop was busy is read, even though the timeout has passed."""
        loop, held_up = asyncio.get_running_loop(), 0.0
        clock = loop.time
        monkeypatch.setattr(loop, "time", lambda: clock() + held_up)
        async with counting(valkey.url, patience=(60.0, 60.0)) as counter:
            await counter.hit(project)
            answer = asyncio.create_task(counter.hit(project))
            await asyncio.sleep(0)
            held_up = 200.0
            assert await answer

    @pytest.mark.parametrize("scheme", ["redis", "valkey"])
    async def test_schemes(self, valkey: Valkey, project: str, scheme: str) -> None:
        async with counting(valkey.url.replace("redis", scheme)) as counter:
            assert await hits(counter, 1, project) == {True: 1}

    @pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
    async def test_tls(self, valkey: Valkey, project: str, scheme: str, tmp_path: Path) -> None:
        async with behind_tls(valkey, tmp_path) as (port, certificate):
            url = f"{scheme}://localhost:{port}?ssl_ca_certs={certificate}"
            async with counting(url) as counter:
                assert await hits(counter, 1, project) == {True: 1}
            async with counting(f"{scheme}://localhost:{port}") as counter:
                with pytest.raises(CounterUnavailableError, match="certificate"):
                    await counter.check()


class TestOutages:
    async def test_it_is_stopped_and_comes_back(self, own_valkey: Valkey) -> None:
        async with counting(own_valkey.url) as counter:
            assert await hits(counter, 1, "before") == {True: 1}
            own_valkey.stop()
            for _ in range(3):
                assert "111" in uncounted(await hits(counter, 200))
            own_valkey.start()
            await limited_again(counter)

    async def test_it_is_frozen_and_thaws(self, own_valkey: Valkey) -> None:
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

    async def test_an_answer_that_comes_late(self, own_valkey: Valkey) -> None:
        """The upload that timed out is not counted. A late answer is not a failure: the next upload asks at once."""
        patience = list(PATIENT)
        async with counting(own_valkey.url, patience=patience, retry_seconds=NEVER) as counter:
            assert await hits(counter, 1, "before") == {True: 1}
            with own_valkey.frozen():
                patience[:] = IMPATIENT
                uncounted(await hits(counter, 1))
            patience[:] = PATIENT
            await call_over(counter)
            assert False in await hits(counter, 140)

    async def test_while_one_upload_waits_for_it_no_other_does(self, own_valkey: Valkey) -> None:
        patience = list(IMPATIENT)
        async with counting(own_valkey.url, patience=patience) as counter:
            with own_valkey.frozen():
                uncounted(await hits(counter, 1))
                patience[:] = PATIENT  # an upload that waits would wait for an hour
                for _ in range(1000):
                    uncounted(await hits(counter, 1))

    async def test_after_a_failure_nobody_asks_for_a_while(self, own_valkey: Valkey) -> None:
        async with counting(own_valkey.url, retry_seconds=NEVER) as counter:
            own_valkey.stop()
            uncounted(await hits(counter, 1))
            own_valkey.start()
            uncounted(await hits(counter, 200))
            assert counter._call is None

    async def test_it_is_full(self, own_valkey: Valkey) -> None:
        with own_valkey.client() as client:
            async with counting(own_valkey.url) as counter:
                client.config_set("maxmemory", 1)  # the eviction policy evicts nothing
                assert "maxmemory" in uncounted(await hits(counter, 50))
                with pytest.raises(CounterUnavailableError, match="maxmemory"):
                    await counter.check()
                client.config_set("maxmemory", 0)
                await limited_again(counter)

    async def test_it_is_a_replica(self, own_valkey: Valkey) -> None:
        with own_valkey.client() as client:
            client.replicaof("127.0.0.1", free_port())
            async with counting(own_valkey.url) as counter:
                assert "replica" in uncounted(await hits(counter, 5))
                client.replicaof("NO", "ONE")
                await limited_again(counter)

    async def test_passwords(self, own_valkey: Valkey) -> None:
        with own_valkey.client() as client:
            client.config_set("requirepass", "p@ss/word")
        for user in ("", f":{PASSWORD}@", f"somebody:{PASSWORD}@"):
            async with counting(own_valkey.url.replace("//", f"//{user}")) as counter:
                assert uncounted(await hits(counter, 5))
        async with counting(own_valkey.url.replace("//", "//:p%40ss%2Fword@")) as counter:
            assert await hits(counter, 1) == {True: 1}

    @pytest.mark.parametrize("scheme", ["redis", "rediss"])
    async def test_a_socket_that_never_answers(self, scheme: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"{scheme}://:{PASSWORD}@127.0.0.1:{server.getsockname()[1]}"
            async with counting(url, patience=IMPATIENT) as counter:
                assert "no answer" in uncounted(await hits(counter, 200))
            async with counting(url, server_seconds=0.05) as counter:
                with pytest.raises(CounterUnavailableError):
                    await counter.check()

    async def test_a_network_that_swallows_everything(self) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as server, contextlib.ExitStack() as stack:
            for _ in range(4):  # once its queue is full, the kernel does not answer
                filling = stack.enter_context(socket.socket())
                filling.setblocking(False)
                filling.connect_ex(server.getsockname())
            url = f"redis://127.0.0.1:{server.getsockname()[1]}"
            async with counting(url, patience=IMPATIENT) as counter:
                assert "no answer" in uncounted(await hits(counter, 200))

    async def test_something_else_answers(self) -> None:
        async def speak_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(speak_http, "127.0.0.1", 0)
        async with server, counting(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as counter:
            assert uncounted(await hits(counter, 5))

    async def test_a_name_that_does_not_exist(self) -> None:
        async with counting("redis://nowhere.invalid", patience=IMPATIENT) as counter:
            assert uncounted(await hits(counter, 5))

    async def test_name_servers_that_do_not_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
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

    async def test_clients_that_hang_up(self, own_valkey: Valkey) -> None:
        """A client that disconnects cancels its upload. The others get their answers."""
        async with counting(own_valkey.url, 6) as counter:
            going = [asyncio.create_task(counter.hit("project")) for _ in range(5)]
            staying = asyncio.create_task(counter.hit("project"))
            await asyncio.sleep(0)
            for task in going:
                task.cancel()
            assert await staying
            await asyncio.gather(*going, return_exceptions=True)

    async def test_metrics(self, own_valkey: Valkey) -> None:
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
def test_invalid_addresses(rest: str) -> None:
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
