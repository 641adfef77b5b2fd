"""The upload counter in Valkey or Redis: a moving 60 s window per project, shared by all API processes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from redis.asyncio import ConnectionPool, Redis, SSLConnection
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from prshots.contract.errors import CounterUnavailableError, SettingsError
from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.domain.images.models import Hit
from prshots.server.observability.metrics import COUNTER_OUTAGES, ENGINE_FAILURES, UNLIMITED_UPLOADS
from prshots.server.observability.outages import Outage

HIT_SECONDS = (0.02, 0.01, 0.005, 0.005)
"""How long an upload waits for the counter: 40 ms of the 50 ms that counting may add.

The wait has several steps, because a busy event loop needs several turns to read an answer that has already
arrived. The server isn't to blame for that delay."""

BUSY_SECONDS = 0.5
"""How long an upload waits for the counter in a process that is too busy to notice an answer.

A step that takes twice its time shows that this process was late, not the server. Such a step is repeated.
Without that, a burst of uploads from 48 threads let some pass uncounted: 126 instead of 120."""

SERVER_SECONDS = 1.0
"""The timeout for connecting and for an answer, after which the connection is closed.

No upload waits this long, but a TLS handshake can take longer than an upload waits."""

RETRY_SECONDS = 0.5
"""How long uploads skip the counter after a failure. An outage then slows down few uploads and ends soon
after the server is back.

A late answer isn't a failure: the upload that waited isn't counted, and the next one asks again."""

# The braces put all keys into one hash slot of a cluster, because one call counts for several projects.
_KEY = "{prshots}:uploads:"
_MICROSECONDS = 1_000_000

_COUNT = Path(__file__).with_name("count_uploads.lua").read_text("utf-8")


class _Waiting(NamedTuple):
    """An upload waiting for its answer, which is None if the server gave none."""

    project_id: str
    limit: int
    answer: "asyncio.Future[Hit | None]"


class RedisCounter:
    """Counts on a server, with one connection and one call at a time.

    Uploads that arrive during a call share the next one. A burst therefore takes two round trips, and during
    an outage only one call waits for the server.
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
        self._client = _open_client(url, server_seconds)
        self._patience = patience
        self._server_seconds = server_seconds
        self._retry_seconds = retry_seconds
        self._run_script = self._client.register_script(_COUNT)
        self._limit = uploads_per_minute
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 6379
        self._waiting: list[_Waiting] = []
        self._call: asyncio.Task[None] | None = None
        self._is_connected = False
        self._is_down = False  # the last upload got no answer in time
        self._is_silent = False  # the server hasn't answered since then
        self._asks_again_at = 0.0
        self._reason = ""
        self._outage = Outage(
            "rate counter unavailable, uploads are not limited",
            "rate counter is back, uploads are limited again",
        )

    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        if self._is_pausing():
            UNLIMITED_UPLOADS.inc()
            self._outage.count_request()
            raise CounterUnavailableError(self._reason)
        try:
            hit = await self._ask(project_id, limit or self._limit, self._patience)
        except CounterUnavailableError as error:
            if not self._is_down:
                COUNTER_OUTAGES.inc()
            self._is_down = self._is_silent = True
            UNLIMITED_UPLOADS.inc()
            self._outage.note("hit", error)
            self._outage.count_request()
            raise
        self._is_down = False
        self._outage.note_success("hit")
        return hit

    async def check(self) -> None:
        """Count for an empty project id, because a server that answers may still reject writes."""
        await self._ask("", self._limit, [self._server_seconds])

    async def close(self) -> None:
        if self._call:
            self._call.cancel()
            await asyncio.wait({self._call})
        await self._client.aclose(close_connection_pool=True)

    def _is_pausing(self) -> bool:
        """Return whether the server failed a moment ago, or a call is testing whether it is back."""
        failed_recently = asyncio.get_running_loop().time() < self._asks_again_at
        return self._is_silent and (failed_recently or self._call is not None)

    async def _ask(self, project_id: str, limit: int, patience: Sequence[float]) -> Hit:
        answer: asyncio.Future[Hit | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(project_id, limit, answer))
        if self._call is None:
            self._call = asyncio.create_task(self._answer_all_waiting())
        try:
            await wait_patiently(answer, patience)
            if not answer.done():
                waited = round(sum(patience) * 1000)
                self._reason = f"no answer from {self._host}:{self._port} within {waited} ms"
            hit = answer.result() if answer.done() else None
        finally:
            answer.cancel()  # an upload that stops waiting isn't counted, unless the call has been sent
        if hit is None:
            raise CounterUnavailableError(self._reason)
        return hit

    async def _answer_all_waiting(self) -> None:
        try:
            while batch := [upload for upload in self._waiting if not upload.answer.done()]:
                self._waiting = []
                await self._answer_batch(batch)
        finally:
            self._waiting, self._call = [], None

    async def _answer_batch(self, batch: list[_Waiting]) -> None:
        uploads_of: dict[str, list[_Waiting]] = {}
        for upload in batch:
            uploads_of.setdefault(upload.project_id, []).append(upload)
        hits: list[list[Hit]] | None = None
        try:
            hits = await self._count_uploads(uploads_of)
        except Exception as error:  # noqa: BLE001 - every waiting upload must get a result
            ENGINE_FAILURES.labels("counter").inc()
            self._is_connected = False
            self._asks_again_at = asyncio.get_running_loop().time() + self._retry_seconds
            self._reason = str(error) or type(error).__name__
        for number, uploads in enumerate(uploads_of.values()):
            for place, upload in enumerate(uploads):
                if not upload.answer.done():
                    upload.answer.set_result(hits[number][place] if hits else None)

    async def _count_uploads(self, uploads_of: dict[str, list[_Waiting]]) -> list[list[Hit]]:
        """Count the uploads of each project, up to its limit."""
        if not self._is_connected:
            # Without a timeout: an abandoned DNS lookup keeps its thread, and threads would pile up while no
            # name server answers.
            await asyncio.get_running_loop().getaddrinfo(self._host, self._port)
        keys = [_KEY + project_id for project_id in uploads_of]
        arguments = [
            number for uploads in uploads_of.values() for number in (len(uploads), uploads[-1].limit)
        ]
        answers = await self._run_script(keys=keys, args=[WINDOW_SECONDS * _MICROSECONDS, *arguments])
        self._is_connected, self._is_silent = True, False
        return [
            _hits_of(uploads, *answer) for uploads, answer in zip(uploads_of.values(), answers, strict=True)
        ]


def _hits_of(uploads: Sequence[_Waiting], passed: int, left: int, free_in: int) -> list[Hit]:
    """Return the hit of each upload in one call. The first `passed` uploads are within the limit."""
    limit, seconds = uploads[-1].limit, free_in / _MICROSECONDS
    return [
        Hit(place < passed, limit, left + max(0, passed - 1 - place), seconds)
        for place in range(len(uploads))
    ]


async def wait_patiently(answer: asyncio.Future[Any], patience: Sequence[float]) -> None:
    """Wait for the sum of `patience`, not counting the time when this process was busy."""
    loop = asyncio.get_running_loop()
    began = step_began = loop.time()
    for seconds in patience:
        is_late = True
        while is_late and not answer.done():
            await asyncio.wait([answer], timeout=seconds)
            step_began, previous = loop.time(), step_began
            is_late = step_began - previous > 2 * seconds and step_began - began < BUSY_SECONDS


class _OneConnection(ConnectionPool):
    """A pool with one connection object, created at startup but not yet connected.

    This makes invalid options fail at startup, and reads the trusted certificates outside the event loop.
    """

    def create_connection(self) -> None:
        self.max_connections = 1
        self._only: AbstractConnection = super().make_connection()  # type: ignore[no-untyped-call]
        if isinstance(self._only, SSLConnection):
            self._only.ssl_context.get()

    def make_connection(self) -> AbstractConnection:
        return self._only


def _open_client(url: str, server_seconds: float) -> Redis:
    """Open a client without connecting. Raises SettingsError if redis-py rejects the URL.

    The message omits the URL, because it may contain a password.
    """
    scheme, _, rest = url.partition("://")
    redis_scheme = {"valkey": "redis", "valkeys": "rediss"}.get(scheme, scheme)
    try:
        pool = _OneConnection.from_url(
            f"{redis_scheme}://{rest}",
            socket_connect_timeout=server_seconds,
            socket_timeout=server_seconds,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        pool.create_connection()
    except (ValueError, TypeError, RedisError, OSError) as error:
        raise SettingsError(
            "PRSHOTS_COUNTER_URL: got an invalid value, takes "
            "redis://<user>:<password>@<host>:<port>/<number> with options of redis-py, such as "
            f"?ssl_ca_certs=<file> ({type(error).__name__})"
        ) from error
    return Redis(connection_pool=pool)
