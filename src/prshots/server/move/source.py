"""The source database: the log of changes, snapshots, and the stop of writes."""

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator

from sqlalchemy import Connection, Engine, select, text

from prshots.contract.errors import MoveError, RecordsError
from prshots.server import wiring
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.database.database import calls_after_commit, translating
from prshots.server.adapters.sql.database.found_schema import found_schema
from prshots.server.adapters.sql.database.schema import images, installation, metadata
from prshots.server.adapters.sql.move.change_log import (
    Changes,
    count_changes,
    forget,
    install_log,
    remove_log,
    silence_log,
)
from prshots.server.adapters.sql.move.move_state import MoveState, drop_state, read_state, write_state
from prshots.server.adapters.sql.move.write_refusal import install_refusal, remove_refusal
from prshots.server.config.settings import Settings
from prshots.server.domain.audit.models import Action
from prshots.server.move.plan import MovePlan, require_our_schema

MOVE_LOCK = 0x7072_7368_6F74_7302
"""The number of the advisory lock on PostgreSQL. Any number works, as long as nothing else uses it."""

ATTEMPTS = 5
"""Attempts for a write that waits too long for other writers."""

HOLD_ATTEMPTS = 30
"""Attempts to stop the writers. Each attempt delays them by less than a second."""


@contextlib.contextmanager
def open_source(settings: Settings) -> Iterator["SourceDatabase"]:
    """Open the database in the settings. Raises RecordsError, or MoveError if this version can't move it."""
    if settings.on_sqlite and not settings.database_path.exists():
        raise RecordsError(f"there is no database at {settings.database_path}")
    engine = wiring.open_for_move(settings)
    try:
        with translating(), engine.connect() as connection:
            if found_schema(connection).version is None:
                raise MoveError(f"there is no prshots database at {settings.database_place}")
            require_our_schema(connection)
        yield SourceDatabase(engine)
    finally:
        engine.dispose()


class SourceDatabase:
    """The database to copy from. All methods raise RecordsError if it doesn't answer."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._is_postgresql = engine.dialect.name == "postgresql"

    @contextlib.contextmanager
    def lock(self, settings: Settings) -> Iterator[None]:
        """Prevent other moves. The lock ends with this process. Raises MoveError."""
        busy = MoveError(
            f"another `prshots move` process is using {settings.database_place}: wait until it ends"
        )
        if not self._is_postgresql:
            folder = os.open(settings.database_path.absolute().parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise busy from None
            else:
                yield
            finally:
                os.close(folder)
            return
        with translating():
            connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            with connection:
                asking = text("SELECT pg_try_advisory_lock(:lock)")
                if not connection.execute(asking, {"lock": MOVE_LOCK}).scalar_one():
                    raise busy
                yield
                connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": MOVE_LOCK})

    def installation_id(self) -> str:
        with translating(), self.engine.connect() as connection:
            return str(connection.execute(select(installation.c.id)).scalar_one())

    def state(self) -> MoveState | None:
        with translating(), self.engine.connect() as connection:
            return read_state(connection)

    def begin(self, plan: MovePlan) -> MoveState:
        """Start logging changes."""
        state = MoveState(secrets.token_hex(16), "copying", plan.database_place, plan.store_place)

        def begin(connection: Connection) -> None:
            drop_state(connection)  # left by a completed move of the store
            write_state(connection, state)
            record(connection, Action.MOVE_STARTED, target=state.destination)
            install_log(connection, metadata.sorted_tables if plan.moves_database else [images])

        self._write(begin)
        return state

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Read everything as of one moment, without blocking writers."""
        with translating(), self.engine.connect() as connection:
            if self._is_postgresql:
                connection = connection.execution_options(  # noqa: PLW2901 - the same connection
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            else:
                connection.exec_driver_sql("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    def forget(self, changes: Changes, state: MoveState) -> None:
        """Remove these changes from the log, and store the copy's progress."""

        def write(connection: Connection) -> None:
            forget(connection, changes.entries)
            write_state(connection, state)

        self._write(write)

    def waiting_changes(self) -> int:
        with translating(), self.engine.connect() as connection:
            return count_changes(connection)

    @contextlib.contextmanager
    def hold_writers(self) -> Iterator[Connection]:
        """Hold all writers. The connection sees all commits so far, and no more follow until the end.

        Reads continue. A writer waits, and gets an error after its own timeout.
        """
        for attempt in range(HOLD_ATTEMPTS):
            with translating(), self.engine.execution_options(writes=True).connect() as connection:
                try:
                    transaction = connection.begin()
                    if self._is_postgresql:
                        self._set_lock_timeout(connection)
                        names = ", ".join(table.name for table in metadata.sorted_tables)
                        connection.exec_driver_sql(f"LOCK TABLE {names} IN EXCLUSIVE MODE")
                except Exception:
                    if attempt == HOLD_ATTEMPTS - 1:
                        raise
                else:
                    with transaction:
                        yield connection
                    return
            time.sleep(0.2)  # gives the writers time to finish

    def switch(self, connection: Connection, state: MoveState) -> None:
        """Refuse all writes from now on, in the transaction that holds the writers."""
        silence_log(connection)
        write_state(connection, state)
        install_refusal(connection, state)

    def clean_up(self) -> None:
        """Drop the log after a switch, unless readers block that. Nothing uses the log any more."""

        def drop(connection: Connection) -> None:
            self._set_lock_timeout(connection)
            remove_log(connection)

        with contextlib.suppress(RecordsError):
            self._write(drop)

    def cancel(self) -> MoveState | None:
        """Remove everything that a move added to this database. Return the state of that move."""
        state = self.state()
        if state is None:
            return None

        def cancel(connection: Connection) -> None:
            remove_log(connection)
            remove_refusal(connection)
            drop_state(connection)
            record(connection, Action.MOVE_CANCELED, target=state.destination)

        self._write(cancel)
        return state

    def _set_lock_timeout(self, connection: Connection) -> None:
        """Give up on a lock before PostgreSQL looks for deadlocks after 1 s, which might end a writer."""
        if self._is_postgresql:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '700ms'")

    def _write(self, work: Callable[[Connection], None]) -> None:
        for attempt in range(ATTEMPTS):
            try:
                writing = self.engine.execution_options(writes=True)
                with (
                    translating(),
                    writing.connect() as connection,
                    calls_after_commit(connection),
                    connection.begin(),
                ):
                    work(connection)
            except RecordsError:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.2)
            else:
                return
