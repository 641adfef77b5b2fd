"""The sources of signing keys: a file that is re-read while the service runs, or a setting."""

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import structlog

from prshots.contract.errors import ConflictError, KeysError, NotFoundError, SettingsError
from prshots.server.adapters.objects.disk import sync_folder
from prshots.server.adapters.private_files import make_private_folder, write_synced
from prshots.server.links import Key, KeyRing

RECHECK_SECONDS = 2.0
"""The maximum age of the keys in use. A stat is cheap, and a rotation must take effect within 10 s."""

SECRET_BYTES = 32

_log = structlog.get_logger()


class FixedKeys:
    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def ring(self) -> KeyRing:
        return self._ring

    def fresh_ring(self) -> KeyRing:
        return self._ring


class KeyFile:
    """A file of `kid:hex` lines with mode 0600. The first key signs, and all keys verify."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self._ring: KeyRing | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._checked_at = 0.0

    def ring(self) -> KeyRing:
        if self._ring is None or self._clock() - self._checked_at > RECHECK_SECONDS:
            return self.fresh_ring()
        return self._ring

    def fresh_ring(self) -> KeyRing:
        """Re-read the file if it changed. If that fails, keep the current keys."""
        self._checked_at = self._clock()
        try:
            stamp = self._stat()
            if stamp != self._stamp:
                self._ring, self._stamp = self._read(), stamp
        except (OSError, UnicodeDecodeError, SettingsError) as error:
            if self._ring is None:
                reason = error.strerror if isinstance(error, OSError) else error
                raise KeysError(f"cannot read the signing keys in {self.path}: {reason}") from error
            _log.error(
                "cannot re-read the signing keys; keeping the current ones",
                file=str(self.path),
                reason=str(error),
            )
        assert self._ring is not None  # noqa: S101 - for the type checker: the lines above ensure it
        return self._ring

    def create_if_missing(self, taken: Collection[str] = ()) -> bool:
        """Create the file with one new key and an unused kid.

        Return False if the file exists, even if another process has just created it.
        """
        if self.path.exists():
            return False
        with self._locked():
            if self.path.exists():
                return False
            self._write(KeyRing([_new_key(_next_kid(taken))]))
            return True

    def rotate(self, taken: Collection[str] = ()) -> str:
        """Put a new key first and return its kid. URLs signed with the other keys stay valid."""
        with self._locked():
            keys = self._read().keys
            kid = _next_kid([*taken, *(key.kid for key in keys)])
            self._write(KeyRing([_new_key(kid), *keys]))
            return kid

    def retire(self, kid: str) -> None:
        """Remove a key. Every URL signed with it stops working. Raises NotFoundError, ConflictError."""
        with self._locked():
            ring = self._read()
            if kid not in ring:
                raise NotFoundError(f"no signing key {kid!r}: `prshots keys list` lists them")
            if kid == ring.signing_kid:
                raise ConflictError(f"key {kid!r} signs new URLs: run `prshots keys rotate` first")
            self._write(KeyRing(key for key in ring.keys if key.kid != kid))

    def _read(self) -> KeyRing:
        return KeyRing.parse(self.path.read_text("utf-8"))

    def _stat(self) -> tuple[int, int, int]:
        stat = self.path.stat()
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def _write(self, ring: KeyRing) -> None:
        unfinished = self.path.with_name(f"{self.path.name}.new")
        unfinished.unlink(missing_ok=True)
        write_synced(unfinished, [ring.format().encode()])
        unfinished.replace(self.path)
        sync_folder(self.path.parent)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Prevent concurrent writes. Raises SettingsError if writing fails."""
        lock_path = self.path.with_name(f"{self.path.name}.lock")
        try:
            make_private_folder(self.path.parent)
            lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise SettingsError(f"cannot write the signing keys to {self.path}: {error.strerror}") from error


def _new_key(kid: str) -> Key:
    return Key(kid, secrets.token_bytes(SECRET_BYTES))


def _next_kid(kids: Collection[str]) -> str:
    numbers = [int(match[1]) for kid in kids if (match := re.fullmatch(r"k([0-9]{1,9})", kid))]
    return f"k{max(numbers, default=0) + 1}"
