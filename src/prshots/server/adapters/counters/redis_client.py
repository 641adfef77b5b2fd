"""The connection to Valkey or Redis."""

from redis.asyncio import ConnectionPool, Redis, SSLConnection
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from prshots.contract.errors import SettingsError


class _OneConnection(ConnectionPool):
    """A pool with one connection object, created at startup but not connected yet.

    So invalid options fail at startup, and the trusted certificates are not read on the event loop.
    """

    def create_connection(self) -> None:
        self.max_connections = 1
        self._only: AbstractConnection = super().make_connection()  # type: ignore[no-untyped-call]
        if isinstance(self._only, SSLConnection):
            self._only.ssl_context.get()

    def make_connection(self) -> AbstractConnection:
        return self._only


def open_client(url: str, server_seconds: float) -> Redis:
    """Raise SettingsError if redis-py rejects the URL. The message leaves it out: it may hold a password."""
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
