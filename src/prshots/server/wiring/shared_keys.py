"""The API's signing keys for a database that several machines share."""

import threading

import structlog

from prshots.contract.errors import KeysError, RecordsError, SettingsError
from prshots.server.adapters.keys import RECHECK_SECONDS, KeyFile
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.upkeep.key_fingerprints import SqlKeyFingerprints
from prshots.server.links.ports import KeySource
from prshots.server.links.signing import KeyRing

_log = structlog.get_logger()


class SharedKeys:
    """Signs only with keys that the database knows, so every replica's delivery accepts the URLs.

    A thread compares the keys at startup and after each change of the file. New keys take effect once they
    are registered. Until the first successful comparison, no keys are available.
    """

    def __init__(self, source: KeySource, database: Database) -> None:
        self._source, self._database = source, database
        self._fingerprints = SqlKeyFingerprints(database.engine)
        self._agreed: KeyRing | None = None
        self._problem = ""
        self._stopped = threading.Event()

    def ring(self) -> KeyRing:
        if self._agreed is None:
            raise KeysError(self._problem or "the signing keys have not been compared with the database yet")
        return self._agreed

    fresh_ring = ring

    async def check(self) -> None:
        if self._problem:
            raise KeysError(self._problem)
        if not self._database.not_open:  # otherwise the database's own check reports the reason
            self.ring()

    def begin(self) -> None:
        """Compare the keys now, and continue to compare them in a thread."""
        self._compare()
        threading.Thread(target=self._keep_comparing, name="shared-keys", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _keep_comparing(self) -> None:
        while not self._stopped.wait(RECHECK_SECONDS):
            self._compare()

    def _compare(self) -> None:
        if self._database.not_open:
            return
        try:
            if isinstance(self._source, KeyFile) and not self._source.path.exists():
                self._fingerprints.create_first(self._source)
            ring = self._source.fresh_ring()
            if ring is not self._agreed:
                self._fingerprints.agree(ring)
                self._agreed = ring
        except RecordsError:
            return  # an outage: the database's own check reports it, and the next comparison retries
        except (SettingsError, OSError) as error:
            self._note(str(error))
        except Exception:  # noqa: BLE001 - a bug must not end the thread
            _log.exception("internal error")
        else:
            self._note("")

    def _note(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.error("the signing keys cannot be used", reason=problem)
        if self._problem and not problem:
            _log.info("the signing keys can be used")
        self._problem = problem
