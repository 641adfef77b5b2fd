"""Upload counters in Valkey or Redis: one moving minute per project, however many API processes there are."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from redis.asyncio import ConnectionPool, Redis, SSLConnection
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from prshots.contract.errors import CounterUnavailableError, SettingsError
from prshots.server.adapters.counters.memory import WINDOW_SECONDS
from prshots.server.observability.metrics import COUNTER_OUTAGES, ENGINE_FAILURES, UNLIMITED_UPLOADS

HIT_SECONDS = (0.02, 0.01, 0.005, 0.005)
"""How long an upload waits for its answer, a little less than the 50 ms that it may lose.

In parts: an event loop that is busy with other uploads has to get round some times before an answer is read,
and what it is late for is not the server's fault."""

SERVER_SECONDS = 1.0
"""How long the server may take for a connection, and for an answer, before the connection is given up.

Nobody waits for that long, but a handshake over TLS may well take more than an upload's patience."""

RETRY_SECONDS = 0.5
"""How long nobody asks after a failure. So an outage costs few uploads anything, and its end is soon seen.

An answer that comes too late is no failure: who waited for it goes uncounted, and the next one asks again."""

# In one hash slot, where a server has those, because one call counts for several projects.
_KEY = "{prshots}:uploads:"

# By the server's own clock, so that those of the API's machines do not matter. A list holds the times of a
# project's counted uploads, oldest first. A time to come was written before that clock was set back: it would
# stay for as long as it was set back by.
_COUNT = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local passed = {}
for i, key in ipairs(KEYS) do
    local oldest = tonumber(redis.call('LINDEX', key, 0))
    while oldest and (oldest <= now - window or oldest > now) do
        redis.call('LPOP', key)
        oldest = tonumber(redis.call('LINDEX', key, 0))
    end
    passed[i] = math.max(0, math.min(tonumber(ARGV[2 + i]), limit - redis.call('LLEN', key)))
    for _ = 1, passed[i] do
        redis.call('RPUSH', key, string.format('%.0f', now))
    end
    if passed[i] > 0 then
        redis.call('PEXPIRE', key, math.ceil(window / 1000))
    end
end
return passed
"""


class RedisCounter:
    """Counts on a server, over one connection and one call at a time.

    What arrives while a call is under way goes together with the next one. So a burst takes two round trips,
    and however many uploads come during an outage, one call is all that waits for the server.
    """

    def __init__(
        self,
        url: str,
        uploads_per_minute: int,
        *,
        patience: Sequence[float] = HIT_SECONDS,
        server_seconds: float = SERVER_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._client = _client(url, server_seconds)
        self._patience = patience
        self._server_seconds = server_seconds
        self._retry_seconds = retry_seconds
        self._count = self._client.register_script(_COUNT)
        self._limits = (round(WINDOW_SECONDS * 1_000_000), uploads_per_minute)
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 6379
        self._waiting: list[tuple[str, asyncio.Future[bool | None]]] = []
        self._call: asyncio.Task[None] | None = None
        self._is_connected = False
        self._is_down = False  # since no upload got its answer in time
        self._is_silent = False  # since it was last heard of
        self._asks_again_at = 0.0
        self._reason = ""

    async def hit(self, project_id: str) -> bool:
        if self._is_to_be_left_alone():
            UNLIMITED_UPLOADS.inc()
            raise CounterUnavailableError(self._reason)
        try:
            allowed = await self._ask(project_id, self._patience)
        except CounterUnavailableError:
            if not self._is_down:
                COUNTER_OUTAGES.inc()
            self._is_down = self._is_silent = True
            UNLIMITED_UPLOADS.inc()
            raise
        self._is_down = False
        return allowed

    async def check(self) -> None:
        """Count something that is nobody's: a server that answers may still take no writes."""
        await self._ask("", [self._server_seconds])

    async def close(self) -> None:
        if self._call:
            self._call.cancel()
            await asyncio.wait({self._call})
        await self._client.aclose(close_connection_pool=True)

    def _is_to_be_left_alone(self) -> bool:
        """Tell whether it failed a moment ago, or somebody is finding out whether it is back."""
        pauses = asyncio.get_running_loop().time() < self._asks_again_at
        return self._is_silent and (pauses or self._call is not None)

    async def _ask(self, project_id: str, patience: Sequence[float]) -> bool:
        answer: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((project_id, answer))
        if self._call is None:
            self._call = asyncio.create_task(self._call_while_any_wait())
        try:
            for seconds in patience:
                await asyncio.wait({answer}, timeout=seconds)
            if not answer.done():
                waited = round(sum(patience) * 1000)
                self._reason = f"no answer from {self._host}:{self._port} within {waited} ms"
            allowed = answer.result() if answer.done() else None
        finally:
            answer.cancel()  # who waits no longer is not counted, if that is not under way already
        if allowed is None:
            raise CounterUnavailableError(self._reason)
        return allowed

    async def _call_while_any_wait(self) -> None:
        try:
            while batch := [(project, answer) for project, answer in self._waiting if not answer.done()]:
                self._waiting = []
                await self._answer(batch)
        finally:
            self._waiting, self._call = [], None

    async def _answer(self, batch: list[tuple[str, asyncio.Future[bool | None]]]) -> None:
        asked = Counter(project_id for project_id, _ in batch)
        passed: dict[str, int] | None = None
        try:
            passed = await self._passed(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, each waiting upload must hear of it
            ENGINE_FAILURES.labels("counter").inc()
            self._is_connected = False
            self._asks_again_at = asyncio.get_running_loop().time() + self._retry_seconds
            self._reason = str(error) or type(error).__name__
        for project_id, answer in batch:
            if passed is not None:
                passed[project_id] -= 1
            if not answer.done():
                answer.set_result(None if passed is None else passed[project_id] >= 0)

    async def _passed(self, asked: Counter[str]) -> dict[str, int]:
        """Return how many uploads of each project are within its limit, and now counted."""
        if not self._is_connected:
            # Without a limit of time, unlike what follows: given up, a look-up of a name goes on in its
            # thread, and while no name server answers they would become more and more.
            await asyncio.get_running_loop().getaddrinfo(self._host, self._port)
        keys = [_KEY + project_id for project_id in asked]
        passed = await self._count(keys=keys, args=[*self._limits, *asked.values()])
        self._is_connected, self._is_silent = True, False
        return dict(zip(asked, passed, strict=True))


class _OneConnection(ConnectionPool):
    """A pool of one connection, which is made, though not connected, before anybody waits for it.

    So wrong options show at the start, and the certificates to trust are not read on the event loop.
    """

    def prepare(self) -> None:
        self.max_connections = 1
        self._only: AbstractConnection = super().make_connection()  # type: ignore[no-untyped-call]
        if isinstance(self._only, SSLConnection):
            self._only.ssl_context.get()

    def make_connection(self) -> AbstractConnection:
        return self._only


def _client(url: str, server_seconds: float) -> "Redis":
    """Raise SettingsError for what redis-py does not take, without a word of it: it may hold a password."""
    scheme, _, rest = url.partition("://")
    same = {"valkey": "redis", "valkeys": "rediss"}.get(scheme, scheme)
    try:
        pool = _OneConnection.from_url(
            f"{same}://{rest}",
            socket_connect_timeout=server_seconds,
            socket_timeout=server_seconds,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        pool.prepare()
    except (ValueError, TypeError, RedisError, OSError) as error:
        raise SettingsError(
            "PRSHOTS_COUNTER_URL: got a value, takes redis://<user>:<password>@<host>:<port>/<number> with "
            f"options that redis-py knows, such as ?ssl_ca_certs=<file> ({type(error).__name__})"
        ) from error
    return Redis(connection_pool=pool)
