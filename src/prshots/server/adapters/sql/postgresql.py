"""The records on a PostgreSQL server, 15 to 18: how it is reached, how long for, and what is tried again.

Threads, as for SQLite: a connection belongs to one thread for the time of one operation. Nobody asks first
whether a connection from the pool still lives. One that turns out dead is replaced, and the work done again.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import Buffer, Dumper
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Engine, Select, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from prshots.contract.errors import RecordsError, RecordsUnsureError, SettingsError
from prshots.server.adapters.sql.database import LOOK_UP, Database, timed

LOOKERS, READERS, WRITERS = 2, 3, 3
"""Threads, and so connections at most, of each process. Look-ups, which every request begins with, have their
own: they never wait behind a list for the dashboard. Eight are few enough for a dozen processes on a server
that takes a hundred, and uploads need no more: those that arrive together are committed together."""

ATTEMPTS = 4
"""How often a transaction is tried that another one got in the way of."""

MIGRATION_LOCK = 0x7072_7368_6F74_7301
"""The number of the lock that one migrates under: any, but ours alone in this database."""

_AGAIN = {"40001", "40P01"}  # could not serialize, deadlock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long, in seconds, before the database counts as gone. Each is there for another way to hang."""

    connect: int = 3
    lock: float = 5  # another transaction that does not end
    statement: float = 10  # a query that takes too long; the server ends it
    answer: float = 12  # a server that says nothing; longer, so that one that can still speak does
    queue: float = 12  # threads of ours that all wait for one of the above
    idle_in_transaction: float = 30  # a process of ours that hangs: the server takes its locks away


def open_postgresql(url: str, timeouts: Timeouts | None = None) -> Database:
    """Open the database at an address as libpq takes it. Connects to nothing yet; raises SettingsError."""
    timeouts = timeouts or Timeouts()
    parameters = _parameters(url, timeouts)

    def connect() -> _ImpatientConnection:
        connection = _ImpatientConnection.connect(**parameters)
        connection.patience = timeouts.answer
        connection.adapters.register_dumper(str, _TextDumper)
        return connection

    engine = create_engine(
        "postgresql+psycopg://",
        creator=connect,
        pool_size=LOOKERS + READERS + WRITERS,
        max_overflow=0,
        use_native_hstore=False,  # we have none, and asking for it is a round trip
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("migrates"):
            _wait_for_the_others(connection)

    return _PostgresqlDatabase(engine, timeouts.queue)


def _parameters(url: str, timeouts: Timeouts) -> dict[str, Any]:
    """Return libpq's parameters: what the address says, and for the rest what is right for us."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # it may quote the password
        raise SettingsError(
            "PRSHOTS_DATABASE_URL: got a value, takes postgresql://<user>:<password>@<host>:<port>/<name>; "
            "in a password, anything but letters and digits is written as %XX"
        ) from None
    limits = {
        "statement_timeout": timeouts.statement,
        "lock_timeout": timeouts.lock,
        "idle_in_transaction_session_timeout": timeouts.idle_in_transaction,
    }
    options = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items())
    ours = {
        "application_name": "prshots",
        "connect_timeout": timeouts.connect,
        # A machine that vanished says nothing. The kernel finds out: by asking while we wait, by what it
        # sent and nobody confirmed.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": int(timeouts.answer * 1000),
    }
    return ours | given | {"client_encoding": "UTF8", "options": f"{options} {given.get('options', '')}"}


def _wait_for_the_others(connection: Connection) -> None:
    """Let one process migrate at a time, for as long as it takes; the connection is not used again."""
    driven: Any = connection.connection.driver_connection
    driven.patience = math.inf
    connection.detach()
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SET LOCAL lock_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})


class NoAnswerError(psycopg.OperationalError):
    """The server holds the connection and says nothing."""


class _ImpatientConnection(psycopg.Connection[Any]):
    """Waits no longer than this for the server, which may hang and have its kernel confirm what we send."""

    patience = math.inf

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        patience = self.patience if timeout is None else timeout
        try:
            return super().wait(gen, interval, None if patience == math.inf else patience)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001 - the only name there is for it
            self.pgconn.finish()  # whatever it says later is the answer to another question
            raise NoAnswerError(f"no answer within {patience:g} s") from None


class _TextDumper(Dumper):
    """Sends text as it is but for NUL, which PostgreSQL takes in no text: what has one is found nowhere."""

    def dump(self, obj: str) -> Buffer:
        return obj.replace("\0", "\ufffd").encode()


class _PostgresqlDatabase(Database):
    def __init__(self, engine: Engine, longest_in_queue: float) -> None:
        super().__init__(engine, READERS, WRITERS)
        self._reading_engine = engine.execution_options(isolation_level="AUTOCOMMIT")  # no BEGIN, no ROLLBACK
        self._lookers = ThreadPoolExecutor(LOOKERS, thread_name_prefix="records-look-up")
        self._longest_in_queue = longest_in_queue

    async def look_up(self, query: Select[Any], **parameters: object) -> Sequence[Any] | None:
        """Read a row by its key, in a thread: the network is never waited for on the event loop."""

        def first(connection: Connection) -> Sequence[Any] | None:
            return connection.execute(query, parameters).first()

        with timed(LOOK_UP):
            return await self._in_thread(self._lookers, lambda: self._read(first))

    async def close(self) -> None:
        self._lookers.shutdown()
        await super().close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        def read() -> T:
            with self._reading_engine.connect() as connection:
                return work(connection)

        return _with_another_connection(read)

    def _write(self, work: Callable[[Connection], T]) -> T:
        def write() -> T:
            with self.engine.connect() as connection:
                done = work(connection)
                _commit(connection)
                return done

        for attempt in range(1, ATTEMPTS):
            try:
                return _with_another_connection(write)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _AGAIN:
                    raise
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - so that they do not meet again
        return _with_another_connection(write)

    async def _in_thread(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        latest = time.monotonic() + self._longest_in_queue

        def unless_too_late() -> T:
            if time.monotonic() > latest:
                raise RecordsError(f"the database had no time for it within {self._longest_in_queue:g} s")
            return work()

        return await super()._in_thread(threads, unless_too_late)


def _with_another_connection(work: Callable[[], T]) -> T:
    """Do the work again if its connection was dead, as all in the pool are after the server has restarted.

    Once: SQLAlchemy empties the pool when it sees such an error, so the next connection is a new one.
    """
    try:
        return work()
    except DBAPIError as error:
        if not error.connection_invalidated or isinstance(error.orig, NoAnswerError):
            raise
    return work()


def _commit(connection: Connection) -> None:
    """Commit. Raises RecordsUnsureError when the connection is lost meanwhile.

    Then the server may have committed, and only the word of it been lost: the same work once more could count
    an upload twice, or fail on its own record.
    """
    try:
        connection.commit()
    except DBAPIError as error:
        if error.connection_invalidated:
            raise RecordsUnsureError("the database was lost while it committed") from error
        raise
