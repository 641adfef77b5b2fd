"""The counter on a real Valkey, and on one that is gone, frozen, full, read-only or not one at all."""

import asyncio
import contextlib
import secrets
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from prshots.contract.errors import CounterUnavailableError, SettingsError
from prshots.server.adapters.counters.redis import RETRY_SECONDS, SERVER_SECONDS, RedisCounter
from prshots.server.observability.metrics import COUNTER_OUTAGES, ENGINE_FAILURES, UNLIMITED_UPLOADS
from support.engine_servers import Valkey, running_valkey
from support.free_ports import free_port

PASSWORD = "swordfish-71"
PROMISED_SECONDS = 0.05
SLACK_SECONDS = 0.1
"""For what else the event loop does; without a limit each of these would wait for a second, or for ever."""

PATIENCE = [10.0]
"""Where it is not the time that is tested, a busy machine is no outage."""


@pytest.fixture
def own_valkey() -> Iterator[Valkey]:
    with running_valkey() as server:
        yield server


@pytest.fixture
def project() -> str:
    return secrets.token_hex(8)


@contextlib.asynccontextmanager
async def counting(url: str, limit: int = 120, **options: Any) -> AsyncIterator[RedisCounter]:
    counter = RedisCounter(url, limit, **options)
    try:
        yield counter
    finally:
        await counter.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, "it left something running"


async def hits(counter: RedisCounter, times: int, project_id: str = "project") -> Counter[object]:
    """Count uploads that come at once, each within its time, and return how many ended how."""
    # The time is the event loop's: a machine that is busy wakes this one late as well.
    promised = asyncio.create_task(asyncio.sleep(PROMISED_SECONDS))
    over = promised.get_loop().create_future()
    promised.add_done_callback(lambda _: over.set_result(time.perf_counter()))

    async def hit() -> object:
        try:
            return await counter.hit(project_id)
        except CounterUnavailableError as error:
            return str(error)

    answers = Counter(await asyncio.gather(*(hit() for _ in range(times))))
    ended = time.perf_counter()
    if over.done() and counter._patience != PATIENCE:
        assert ended - over.result() < SLACK_SECONDS
    promised.cancel()
    await asyncio.wait([promised])
    return answers


def nobody(answers: Counter[object]) -> str:
    """Return the reason, one for all, why nobody was counted."""
    assert not {True, False} & set(answers), answers
    assert PASSWORD not in str(answers)
    return " / ".join(map(str, answers))


async def soon_limited(counter: RedisCounter) -> None:
    """Wait, for as long as it may take, until a project comes to its limit again."""
    until = time.monotonic() + RETRY_SECONDS + SERVER_SECONDS + 2
    while False not in await hits(counter, 140, secrets.token_hex(8)):
        assert time.monotonic() < until, "it did not come back"
        await asyncio.sleep(0.05)


class TestOneServerForAll:
    async def test_exact_over_several_processes(self, valkey: Valkey, project: str) -> None:
        patient = {"patience": PATIENCE}
        async with (
            counting(valkey.url, **patient) as one,
            counting(valkey.url, **patient) as two,
            counting(valkey.url, **patient) as three,
        ):
            answers = await asyncio.gather(*(hits(each, 60, project) for each in (one, two, three)))
        assert sum(answers, Counter()) == Counter({True: 120, False: 60})

    async def test_what_it_keeps_goes_by_itself(self, valkey: Valkey, project: str) -> None:
        async with counting(valkey.url, window_seconds=0.3, patience=PATIENCE) as counter:
            assert await hits(counter, 3, project) == {True: 3}
            with valkey.client() as client:
                (key,) = client.scan_iter(f"*{project}*")
                assert 0 < client.pttl(key) <= 300
                await asyncio.sleep(0.4)
                assert list(client.scan_iter(f"*{project}*")) == []

    async def test_a_clock_that_was_set_back(self, valkey: Valkey, project: str) -> None:
        """What was counted in a time to come does not count for as long as until then."""
        async with counting(valkey.url, 2, patience=PATIENCE) as counter:
            await hits(counter, 2, project)
            with valkey.client() as client:
                (key,) = client.scan_iter(f"*{project}*")
                for index in (0, 1):
                    client.lset(key, index, str(int(time.time() + 3600) * 1_000_000))
            assert await hits(counter, 3, project) == {True: 2, False: 1}

    async def test_one_connection(self, valkey: Valkey, project: str) -> None:
        with valkey.client() as client:
            before = len(client.client_list())
            async with counting(valkey.url, patience=PATIENCE) as counter:
                await hits(counter, 500, project)
                assert len(client.client_list()) == before + 1
            assert len(client.client_list()) == before

    async def test_scripts_that_were_flushed(self, valkey: Valkey, project: str) -> None:
        async with counting(valkey.url, 2, patience=PATIENCE) as counter:
            assert await hits(counter, 1, project) == {True: 1}
            with valkey.client() as client:
                client.script_flush()
            assert await hits(counter, 2, project) == {True: 1, False: 1}

    async def test_connections_that_it_closed(self, valkey: Valkey, project: str) -> None:
        """A server closes what was idle for long; that is no outage."""
        async with counting(valkey.url, patience=PATIENCE) as counter:
            assert await hits(counter, 1, project) == {True: 1}
            with valkey.client() as client:
                client.client_kill_filter(_type="normal", skipme=True)
            await asyncio.sleep(0.05)
            assert await hits(counter, 1, project) == {True: 1}

    async def test_an_event_loop_that_was_held_up(self, valkey: Valkey, project: str) -> None:
        async with counting(valkey.url) as counter:
            await counter.hit(project)
            answer = asyncio.create_task(counter.hit(project))
            await asyncio.sleep(0)
            time.sleep(2 * PROMISED_SECONDS)
            assert await answer

    @pytest.mark.parametrize("scheme", ["redis", "valkey"])
    async def test_schemes(self, valkey: Valkey, project: str, scheme: str) -> None:
        async with counting(valkey.url.replace("redis", scheme), patience=PATIENCE) as counter:
            assert await hits(counter, 1, project) == {True: 1}

    @pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
    async def test_tls(self, valkey: Valkey, project: str, scheme: str, tmp_path: Path) -> None:
        async with behind_tls(valkey, tmp_path) as (port, certificate):
            url = f"{scheme}://localhost:{port}?ssl_ca_certs={certificate}"
            async with counting(url, patience=PATIENCE) as counter:
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
                assert "111" in nobody(await hits(counter, 200))
                await asyncio.sleep(RETRY_SECONDS)
            own_valkey.start()
            await soon_limited(counter)

    async def test_it_is_frozen_and_thaws(self, own_valkey: Valkey) -> None:
        async with counting(own_valkey.url) as counter:
            assert await hits(counter, 1, "before") == {True: 1}
            with own_valkey.frozen():
                for _ in range(4):  # at first over the connection that there was, later over none
                    nobody(await hits(counter, 1))
                    nobody(await hits(counter, 200))
                    await asyncio.sleep(RETRY_SECONDS)
            await soon_limited(counter)

    async def test_an_answer_that_comes_late(self, own_valkey: Valkey) -> None:
        """Whoever waited for it is not counted, but all that come after it are."""
        async with counting(own_valkey.url) as counter:
            assert await hits(counter, 1, "before") == {True: 1}
            with own_valkey.frozen():
                nobody(await hits(counter, 1))
            await asyncio.sleep(RETRY_SECONDS / 5)
            assert False in await hits(counter, 140)

    async def test_during_an_outage_hardly_anybody_waits(self, own_valkey: Valkey) -> None:
        async with counting(own_valkey.url) as counter:
            with own_valkey.frozen():
                await hits(counter, 1)
                started = time.perf_counter()
                for _ in range(1000):
                    await hits(counter, 1)
                assert time.perf_counter() - started < 1000 * PROMISED_SECONDS / 10

    async def test_it_is_full(self, own_valkey: Valkey) -> None:
        with own_valkey.client() as client:
            async with counting(own_valkey.url) as counter:
                client.config_set("maxmemory", 1)  # and nothing may be evicted
                assert "maxmemory" in nobody(await hits(counter, 50))
                with pytest.raises(CounterUnavailableError, match="maxmemory"):
                    await counter.check()
                client.config_set("maxmemory", 0)
                await soon_limited(counter)

    async def test_it_is_a_replica(self, own_valkey: Valkey) -> None:
        with own_valkey.client() as client:
            client.replicaof("127.0.0.1", free_port())
            async with counting(own_valkey.url) as counter:
                assert "replica" in nobody(await hits(counter, 5))
                client.replicaof("NO", "ONE")
                await soon_limited(counter)

    async def test_passwords(self, own_valkey: Valkey) -> None:
        with own_valkey.client() as client:
            client.config_set("requirepass", "p@ss/word")
        for user in ("", f":{PASSWORD}@", f"somebody:{PASSWORD}@"):
            async with counting(own_valkey.url.replace("//", f"//{user}")) as counter:
                assert nobody(await hits(counter, 5))
        async with counting(own_valkey.url.replace("//", "//:p%40ss%2Fword@")) as counter:
            assert await hits(counter, 1) == {True: 1}

    @pytest.mark.parametrize("scheme", ["redis", "rediss"])
    async def test_a_socket_that_never_answers(self, scheme: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            async with counting(f"{scheme}://:{PASSWORD}@127.0.0.1:{server.getsockname()[1]}") as counter:
                assert "no answer" in nobody(await hits(counter, 200))
                with pytest.raises(CounterUnavailableError):
                    await counter.check()

    async def test_a_network_that_swallows_everything(self) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as server, contextlib.ExitStack() as stack:
            for _ in range(4):  # past its queue, the kernel answers nobody
                filling = stack.enter_context(socket.socket())
                filling.setblocking(False)
                filling.connect_ex(server.getsockname())
            async with counting(f"redis://127.0.0.1:{server.getsockname()[1]}") as counter:
                assert "no answer" in nobody(await hits(counter, 200))

    async def test_something_else_answers(self) -> None:
        async def speak_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(speak_http, "127.0.0.1", 0)
        async with server, counting(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as counter:
            assert nobody(await hits(counter, 5))

    async def test_a_name_that_is_none(self) -> None:
        async with counting("redis://nowhere.invalid") as counter:
            assert nobody(await hits(counter, 5))

    async def test_name_servers_that_do_not_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One look-up is under way, however long it takes: more would fill up the threads of all look-ups."""
        asked = 0

        async def never(*_: object, **__: object) -> None:
            nonlocal asked
            asked += 1
            await asyncio.sleep(60)

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
        async with counting("redis://counter.example") as counter:
            for _ in range(3):
                nobody(await hits(counter, 20))
                await asyncio.sleep(RETRY_SECONDS)
        assert asked == 1

    async def test_who_goes_away_meanwhile(self, own_valkey: Valkey) -> None:
        """A client that hangs up cancels its upload; the others get their answers."""
        async with counting(own_valkey.url, 6) as counter:
            going = [asyncio.create_task(counter.hit("project")) for _ in range(5)]
            staying = asyncio.create_task(counter.hit("project"))
            await asyncio.sleep(0)
            for task in going:
                task.cancel()
            assert await staying
            await asyncio.gather(*going, return_exceptions=True)

    async def test_figures(self, own_valkey: Valkey) -> None:
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
                    await asyncio.sleep(RETRY_SECONDS)
            own_valkey.start()
            await soon_limited(counter)
            own_valkey.stop()
            with counted(COUNTER_OUTAGES, 1):
                await hits(counter, 10)


@pytest.mark.parametrize("rest", ["host?nonsense=1", "host?db=many", "host?socket_timeout=soon"])
def test_addresses_that_are_none(rest: str) -> None:
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
    """Put TLS in front of a server that has none, with a certificate of our own for localhost."""
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
