"""The origin store on a local disk, which survives power cuts and lets delivery use sendfile."""

import asyncio
import contextlib
import errno
import math
import os
import re
import secrets
import stat
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from prshots.contract.errors import StoreError, StoreFullError
from prshots.contract.object_names import CLOSEUP_EXTS, DIFF_EXT, OBJECT_NAME, OWNER_MARK, THUMBNAIL_EXT
from prshots.server.adapters import deadlines
from prshots.server.adapters.private_files import FOLDER, IMAGE_FILE, IMAGE_FOLDER, write_synced
from prshots.server.bounded_cache import BoundedCache
from prshots.server.links import OpenObject
from prshots.server.observability.metrics import STORE_SECONDS, EngineTimer
from prshots.server.observability.outages import Outage

WRITERS = 8
"""The number of writing threads. They mostly wait for fsync, and a disk handles many fsyncs at once."""

REMEMBERED_SIZES = 4096
"""How many image sizes delivery remembers. They take 1 MB."""

NO_DEADLINE = math.inf
"""For the sweep's lists: a folder may hold any number of files, and no request waits."""

_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # opening a pipe must not wait for its writer
_REPLACED_EXTS = (THUMBNAIL_EXT, DIFF_EXT, *CLOSEUP_EXTS)
"""Objects that can be replaced by objects of a different size, unlike images."""

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
_SHARD = re.compile(r"[0-9a-f]{2}")
_UNFINISHED = re.compile(r"\.[0-9a-f]{32}\.[a-z]{3,4}")

T = TypeVar("T")
_log = structlog.get_logger()


class DiskReader:
    """Reads `<root>/<id[:2]>/<id>.<ext>`. Delivery has no other access."""

    def __init__(self, root: Path) -> None:
        self._root = f"{root}/"
        self._sizes: BoundedCache[str, int] = BoundedCache(REMEMBERED_SIZES)

    def open(self, key: str) -> OpenObject | None:
        try:
            fd = os.open(self._root + key, _READING)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot open {key}: {error.strerror}") from error
        size = self._sizes.get(key)
        if size is not None:
            return OpenObject(fd, size)
        try:  # os.fstat takes longer than these three calls, because it creates twenty objects
            os.read(fd, 0)  # fails if it is a folder
            size = os.lseek(fd, 0, os.SEEK_END)  # fails if it is a pipe
            os.lseek(fd, 0, os.SEEK_SET)
        except OSError as error:
            os.close(fd)
            raise StoreError(f"cannot read {key}: not a file") from error
        if not key.endswith(_REPLACED_EXTS):
            self._sizes.put(key, size)
        return OpenObject(fd, size)

    def check(self) -> None:
        """Look up a name, as for an image. Delivery needn't be allowed to list the folder."""
        try:
            os.stat(self._root + OWNER_MARK)
        except FileNotFoundError:
            pass  # nothing is stored yet
        except OSError as error:
            raise StoreError(f"cannot read {self._root}: {error.strerror}") from error


class DiskStore:
    """Writes a temporary file, fsyncs it, renames it into place and fsyncs the folder.

    The temporary file is in the same folder, with a random name that starts with a dot. If all temporary
    files shared one folder, uploads would wait for each other.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = f"{root}/"
        self._reader = DiskReader(root)
        self._ready_folders: set[str] = set()
        self._outage = store_outage()
        self._threads = ThreadPoolExecutor(WRITERS, thread_name_prefix="disk")

    def close(self) -> None:
        self._threads.shutdown()

    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        seconds = deadlines.for_bytes(sum(map(len, chunks)))
        await self._in_thread("put", lambda: self._put(key, chunks), seconds)

    async def read(self, key: str) -> bytes | None:
        def read() -> bytes | None:
            opened = self._reader.open(key)
            if opened is None:
                return None
            with os.fdopen(opened.fd, "rb") as file:
                return file.read()

        return await self._in_thread("get", read)

    async def check(self) -> None:
        """Raise StoreError unless the folder, or the one that will contain it, is readable and writable."""

        def check() -> None:
            folder = os.path.abspath(self.root)
            while not os.path.exists(folder):
                folder = os.path.dirname(folder)
            if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                raise StoreError(f"cannot read and write {folder}")

        await self._in_thread("list", check)

    async def exists(self, key: str) -> bool:
        def exists() -> bool:
            try:
                return stat.S_ISREG(os.stat(self._root + key).st_mode)
            except FileNotFoundError:
                return False

        return await self._in_thread("get", exists)

    async def time(self) -> float | None:
        """Touch the folder: a network disk sets its server's time. This works even on a full disk."""

        def touch() -> float | None:
            try:
                os.utime(self.root)
            except FileNotFoundError:
                return None  # nothing is stored yet
            return os.stat(self.root).st_mtime

        return await self._in_thread("put", touch)

    async def delete(self, keys: Collection[str]) -> set[str]:
        """Delete folder by folder, several at a time, because unlink and fsync wait for the disk."""
        by_shard: dict[str, list[str]] = {}
        for key in keys:
            by_shard.setdefault(key.rpartition("/")[0], []).append(key)
        seconds = deadlines.for_objects(len(keys))

        async def failed_in(shard: str, its_keys: list[str]) -> set[str]:
            failed: set[str] = set()
            try:
                await self._in_thread("delete", partial(self._delete_in, shard, its_keys, failed), seconds)
            except StoreError:
                return failed or set(its_keys)
            return failed

        return set().union(*await asyncio.gather(*(failed_in(*entry) for entry in by_shard.items())))

    async def stored_before(
        self, cutoff: float, shards: Sequence[str] | None = None
    ) -> AsyncIterator[dict[str, int]]:
        existing = await self._in_thread("list", lambda: sorted(_names(self.root, _SHARD)))
        for shard in existing if shards is None else sorted(set(existing).intersection(shards)):
            yield await self._in_thread("list", partial(self._sizes_in, shard, cutoff), NO_DEADLINE)

    async def sizes(self, shard: str) -> dict[str, int]:
        return await self._in_thread("list", partial(self._sizes_in, shard, math.inf), NO_DEADLINE)

    async def owner(self, claimant: str) -> str:
        def read_or_claim() -> str:
            mark = self.root / OWNER_MARK
            if not mark.exists():
                self._make_ready(str(self.root))
                claim = self.root / f".{secrets.token_hex(16)}.own"
                try:
                    write_synced(claim, [claimant.encode()], IMAGE_FILE)
                    with contextlib.suppress(FileExistsError):  # another process was faster
                        mark.hardlink_to(claim)
                finally:  # even on a full disk
                    claim.unlink(missing_ok=True)
            return mark.read_text("utf-8", errors="replace")

        return await self._in_thread("put", read_or_claim)

    async def discard_unfinished(self, cutoff: float) -> int:
        def discard() -> int:
            folders = [self.root, *(self.root / shard for shard in _names(self.root, _SHARD))]
            return sum(
                _try_to_unlink(f"{folder}/{name}")
                for folder in folders
                for name in _sizes(folder, _UNFINISHED, cutoff)
            )

        return await self._in_thread("delete", discard, NO_DEADLINE)

    async def _in_thread(
        self, operation: str, work: Callable[[], T], seconds: float = deadlines.STORE_SECONDS
    ) -> T:
        with EngineTimer(STORE_SECONDS, operation, "store"), self._outage.watch(operation):
            try:
                return await deadlines.in_thread(self._threads, work, seconds)
            except deadlines.OverdueError as error:
                raise StoreError(f"{self.root} did not answer: {error}") from error
            except OSError as error:
                kind = StoreFullError if error.errno in _DISK_FULL else StoreError
                raise kind(f"{error.strerror}: {error.filename or self.root}") from error

    def _sizes_in(self, shard: str, written_before: float) -> dict[str, int]:
        """Return the size by key of each object in this folder, in order."""
        sizes = _sizes(self.root / shard, OBJECT_NAME, written_before)
        return {f"{shard}/{name}": sizes[name] for name in sorted(sizes) if name.startswith(shard)}

    def _put(self, key: str, chunks: Sequence[bytes]) -> None:
        folder = self._root + key.rpartition("/")[0]
        written = unfinished = f"{folder}/.{secrets.token_hex(16)}.new"
        try:
            self._make_ready(folder)
            write_synced(unfinished, chunks, IMAGE_FILE)
            os.rename(unfinished, self._root + key)
            written = self._root + key
            sync_folder(folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(written)
            self._ready_folders.clear()  # a folder may have been removed
            raise

    def _make_ready(self, folder: str) -> None:
        if folder in self._ready_folders:
            return
        parent = os.path.dirname(folder)
        if not os.path.exists(parent):
            self._make_ready(parent)  # every new parent folder must survive a power cut
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, IMAGE_FOLDER if f"{folder}/".startswith(self._root) else FOLDER)
        sync_folder(parent)
        self._ready_folders.add(folder)

    def _delete_in(self, shard: str, keys: Collection[str], failed: set[str]) -> None:
        """Delete every file that can be deleted, and add the others to `failed`. Raises the last OSError."""
        problem: OSError | None = None
        for key in keys:
            try:
                Path(self._root + key).unlink(missing_ok=True)
            except OSError as error:  # the others must still be deleted
                problem = error
                failed.add(key)
        try:
            sync_folder(self._root + shard)
        except FileNotFoundError:
            pass  # no folder, so no files either
        except OSError as error:
            problem = error
            failed.update(keys)
        if problem:
            raise problem


def store_outage() -> Outage:
    return Outage("storage unavailable", "storage is back")


def _try_to_unlink(path: str) -> bool:
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:  # the next sweep tries again
        _log.error("an unfinished file could not be deleted", file=path, reason=error.strerror)
        return False
    return True


def _names(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """List entries whose names match the pattern, to leave other programs' files alone."""
    try:
        return [name for name in os.listdir(folder) if pattern.fullmatch(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _sizes(folder: Path, pattern: re.Pattern[str], written_before: float) -> dict[str, int]:
    """Return the size of each such entry that was written before this time, by name."""
    found: dict[str, int] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if pattern.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                        about = entry.stat(follow_symlinks=False)
                        if about.st_mtime < written_before:
                            found[entry.name] = about.st_size
    except (FileNotFoundError, NotADirectoryError):
        pass
    return found


def sync_folder(folder: str | Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
