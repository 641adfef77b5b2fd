"""A consistent copy of an SQLite database for a backup, made while the service runs."""

import contextlib
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path

from prshots.contract.errors import RecordsError
from prshots.server.adapters.sql.database.database import BUSY_SECONDS, translating
from prshots.server.adapters.sql.database.found_schema import FIRST_VERSION, FoundSchema


class Snapshot:
    """The open copy. SQLite's online backup makes it without blocking writers."""

    def __init__(self, source: Path, copy: Path) -> None:
        """Raise RecordsError if there is no database or copying it fails."""
        if not source.is_file():
            raise RecordsError(f"there is no database at {source}")
        with translating(), contextlib.closing(_open_read_only(source)) as original:
            self._copy = sqlite3.connect(copy)
            try:
                original.backup(self._copy)
                self._copy.execute("PRAGMA journal_mode = DELETE")  # no extra files next to the copy
                columns = self._copy.execute("PRAGMA table_info(images)").fetchall()
            except BaseException:
                self.close()
                raise

        # Older schemas have no references.
        self._is_reference = (
            "source_id IS NOT NULL" if "source_id" in {row[1] for row in columns} else "FALSE"
        )

    def schema(self) -> FoundSchema:
        """Return the copy's schema. Raises RecordsError if this isn't a prshots database."""
        version = self._one("SELECT version_num FROM alembic_version")
        if version < FIRST_VERSION:
            return FoundSchema(version)
        return FoundSchema(version, self._one("SELECT oldest_schema FROM installation"))

    @property
    def installation_id(self) -> str:
        return self._one("SELECT id FROM installation")

    def count(self) -> int:
        """Return the number of images with bytes."""
        return int(self._one(f"SELECT count(*) FROM images WHERE NOT {self._is_reference}"))  # noqa: S608 - ours

    def images(self) -> Iterator[tuple[str, str, bool]]:
        """Yield the id, the extension and whether there is a thumbnail, in the order of the files on disk.

        Leaves out references, which have no bytes.
        """
        with translating():
            yield from self._copy.execute(
                f"SELECT id, ext, thumbnail IS 'made' FROM images WHERE NOT {self._is_reference} ORDER BY id"  # noqa: S608 - ours
            )

    def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Schedule images whose bytes are missing for expiry. A sweep after the restore removes them."""
        marking = "UPDATE images SET scheduled_at = ? WHERE scheduled_at IS NULL AND "
        self._change(f"{marking} id = ?", [(now, image_id) for image_id in image_ids])
        if self._is_reference != "FALSE":
            self._change(f"{marking} source_id = ?", [(now, image_id) for image_id in image_ids])

    def forget_thumbnails(self, image_ids: Collection[str]) -> None:
        """Forget thumbnails whose bytes are missing. The service then renders them again."""
        forgetting = "UPDATE images SET thumbnail = NULL WHERE "
        self._change(f"{forgetting} id = ?", [(key,) for key in image_ids])
        self._change(f"{forgetting} {self._is_reference}", [()])

    def forget_diffs(self) -> None:
        """Forget all stored difference images.

        An archive doesn't include them, and comparing again recreates them.
        """
        self._change("UPDATE images SET diff_base = NULL WHERE diff_base IS NOT NULL", [()])

    def forget_move(self) -> None:
        """Remove the tables and triggers of `prshots move`.

        A restored database accepts writes and isn't moving.
        """
        ours = "SELECT type, name FROM sqlite_master WHERE name LIKE 'move!_%' ESCAPE '!' ORDER BY type DESC"
        with translating():
            for kind, name in self._copy.execute(ours).fetchall():  # drop triggers before tables
                if kind in {"trigger", "table"}:
                    self._copy.execute(f"DROP {kind} {name}")

    def close(self) -> None:
        self._copy.close()

    def _change(self, statement: str, values: list[tuple[object, ...]]) -> None:
        with translating(), self._copy:  # a transaction
            self._copy.executemany(statement, values)

    def _one(self, query: str) -> str:
        with translating():
            row = self._copy.execute(query).fetchone()
        if row is None:
            raise RecordsError("this is not a prshots database")
        return str(row[0])


def require_intact(path: Path, installation_id: str) -> None:
    """Raise RecordsError unless the file is an undamaged database of this installation."""
    with translating(), contextlib.closing(_open_read_only(path)) as opened:
        (found,) = opened.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise RecordsError(f"the database is damaged: {found}")
        if opened.execute("SELECT id FROM installation").fetchall() != [(installation_id,)]:
            raise RecordsError("the database is another installation's")


def _open_read_only(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
