"""Opens the API's database, and keeps retrying while it is unavailable."""

import threading

import structlog

from prshots.contract.errors import MovedError, RecordsBusyError, RecordsError, SchemaTooNewError
from prshots.server.adapters.sql.database.database import Database
from prshots.server.config.settings import Settings
from prshots.server.wiring import database_to_migrate, migrate_opened

FIRST_TRY_SECONDS = 4.0
"""How long startup waits for the database. PostgreSQL has 3 s to accept a connection."""

PAUSE_SECONDS = 2.0

_log = structlog.get_logger()


class DatabaseOpening:
    """Migrates a database in the background. Until that is done, the database raises RecordsError.

    The migration has no timeout, because another process may be migrating for an hour. It runs in a daemon
    thread, so a stopping process doesn't wait for it.
    """

    def __init__(self, settings: Settings) -> None:
        """Create the database object. Raises SettingsError for an invalid URL."""
        self.database: Database = database_to_migrate(settings)
        self.database.not_open = f"{settings.database_place}: the database is not open yet"
        self._settings = settings
        self._stopped, self._tried = threading.Event(), threading.Event()
        self._last_failure: type[RecordsError] | None = None

    def begin(self, *, refuses_a_broken_file: bool) -> Database:
        """Return the database after the first attempt, regardless of its success.

        With `refuses_a_broken_file`, raises RecordsError if SQLite's file can't be opened, because waiting
        doesn't repair a file.
        """
        if refuses_a_broken_file and self._settings.on_sqlite:
            self._try(raises=True)
        if self.database.not_open:
            threading.Thread(target=self._keep_trying, name="database-opening", daemon=True).start()
            self._tried.wait(FIRST_TRY_SECONDS)
        return self.database

    def stop(self) -> None:
        self._stopped.set()

    def _keep_trying(self) -> None:
        while not self._stopped.is_set():
            self._try()
            self._tried.set()
            if not self.database.not_open:
                return
            self._stopped.wait(PAUSE_SECONDS)

    def _try(self, *, raises: bool = False) -> None:
        try:
            migrate_opened(self.database, self._settings)
        except RecordsError as error:
            # Another worker may be migrating it. After a move, delivery still serves the old images.
            if raises and not isinstance(error, SchemaTooNewError | RecordsBusyError | MovedError):
                raise
            self.database.not_open = str(error)
            self._log_once(error)
        except Exception:  # noqa: BLE001 - a bug in a migration must not end the thread
            _log.exception("internal error")
        else:
            self.database.not_open = ""
            if self._last_failure:
                _log.info("the database is available")

    def _log_once(self, error: RecordsError) -> None:
        """Log the first failure, and any failure of a different kind."""
        if type(error) is not self._last_failure:
            _log.error(
                "the database is not available; answering 503 and trying again until it is", reason=str(error)
            )
        self._last_failure = type(error)
