"""The fingerprints of the signing keys in the database, to notice lost or foreign keys."""

import contextlib
import threading
import time
from collections.abc import Iterator

import structlog
from sqlalchemy import Connection, Engine, insert, select, text

from prshots.contract.errors import KeysError, RecordsError, SettingsError
from prshots.server.adapters.keys import RECHECK_SECONDS, KeyFile
from prshots.server.adapters.sql.database.database import Database, translating
from prshots.server.adapters.sql.database.schema import images, signing_keys
from prshots.server.links import KeyRing, KeySource

WHAT_TO_DO = (
    "restore the key file from a backup, or copy it from a machine that works. If the keys are lost, run "
    "`prshots keys create`, and copy its file to the other machines; the URLs of existing images stop working"
)


class SqlKeyFingerprints:
    """Signing keys registered in the database. All methods raise RecordsError if it doesn't answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def used_kids(self) -> set[str]:
        """Return all kids that ever signed. URLs, and replicas that have such a key, outlive a lost file."""
        with translating(), self._engine.connect() as connection:
            return {*fingerprints_in(connection), *connection.scalars(select(images.c.kid).distinct())}

    def agree(self, ring: KeyRing) -> None:
        """Register the ring's new keys. Raises KeysError if the ring isn't this installation's."""
        with translating(), self._engine.connect() as connection:
            known = fingerprints_in(connection)
        if all(known.get(key.kid) == key.fingerprint for key in ring.keys):
            return  # the usual case, without waiting for a lock
        with self._lock() as connection:
            known = fingerprints_in(connection)
            if difference := difference_between(ring, known):
                raise KeysError(f"{difference}: {WHAT_TO_DO}")
            _register(connection, ring, known)

    def register(self, ring: KeyRing) -> None:
        """Register the ring's new keys, even if none is known. Raises KeysError if a kid is in use."""
        with self._lock() as connection:
            known = fingerprints_in(connection)
            if reused := _reused_kid(ring, known):
                raise KeysError(f"{reused}: give the new key an id that was never used")
            _register(connection, ring, known)

    def create_first(self, keys: KeyFile) -> None:
        """Create the key file of a new installation. Raises KeysError if the installation had keys."""
        with self._lock() as connection:
            if keys.path.exists():  # another process was faster
                return
            has_images = connection.execute(select(images.c.seq).limit(1)).first() is not None
            if has_images or fingerprints_in(connection):
                raise KeysError(f"there are no signing keys in {keys.path}: {WHAT_TO_DO}")
            keys.create_if_missing()
            _register(connection, keys.fresh_ring(), {})

    @contextlib.contextmanager
    def _lock(self) -> Iterator[Connection]:
        with translating(), self._engine.execution_options(writes=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE"))
            yield connection


def fingerprints_in(connection: Connection) -> dict[str, str]:
    rows = connection.execute(select(signing_keys.c.kid, signing_keys.c.fingerprint)).all()
    return {kid: fingerprint for kid, fingerprint in rows}  # noqa: C416 - dict() would not be typed


def difference_between(ring: KeyRing, known: dict[str, str]) -> str:
    """Return why this ring can't belong to the installation, or "" if it can.

    A ring may have new keys, for example after a rotation, but at least one must be known.
    """
    if reused := _reused_kid(ring, known):
        return reused
    if known and not any(key.kid in known for key in ring.keys):
        return f"this installation never used these signing keys: {', '.join(key.kid for key in ring.keys)}"
    return ""


def _reused_kid(ring: KeyRing, known: dict[str, str]) -> str:
    for key in ring.keys:
        if known.get(key.kid, key.fingerprint) != key.fingerprint:
            return f"the signing key {key.kid} differs from the key {key.kid} that this installation uses"
    return ""


def _register(connection: Connection, ring: KeyRing, known: dict[str, str]) -> None:
    now = int(time.time())
    new = [
        {"kid": key.kid, "fingerprint": key.fingerprint, "created_at": now}
        for key in ring.keys
        if key.kid not in known
    ]
    if new:
        connection.execute(insert(signing_keys), new)


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

    def begin(self, *, refuses_wrong_keys: bool) -> None:
        """Compare the keys now, and continue in a thread. Raises KeysError if it refuses wrong keys."""
        self._compare()
        if refuses_wrong_keys and self._problem:
            raise KeysError(self._problem)
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
