"""A consistent copy of an SQLite database, taken while the service works on it, to go into a backup."""

import contextlib
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from prshots.contract.errors import RecordsError
from prshots.server.adapters.sql.database import BUSY_SECONDS, translating


class Kept(NamedTuple):
    """What the copy says of one image."""

    id: str
    ext: str
    has_thumbnail: bool


class Snapshot:
    """The copy, open. SQLite's own online backup makes it in one piece: writers go on meanwhile."""

    def __init__(self, source: Path, copy: Path) -> None:
        """Raise RecordsError when there is nothing to copy, or no copying it."""
        self.path = copy
        if not source.is_file():
            raise RecordsError(f"there is no database at {source}")
        with translating(), contextlib.closing(_opened_to_read(source)) as original:
            self._copy = sqlite3.connect(copy, isolation_level=None)
            try:
                original.backup(self._copy)
                self._copy.execute("PRAGMA journal_mode = DELETE")  # one file, whatever is changed in it
            except BaseException:
                self.close()
                raise

    @property
    def schema_version(self) -> str:
        """Raise RecordsError when it is no database of this program."""
        return self._one("SELECT version_num FROM alembic_version")

    @property
    def installation_id(self) -> str:
        return self._one("SELECT id FROM installation")

    def count(self) -> int:
        with translating():
            return int(self._copy.execute("SELECT count(*) FROM images").fetchone()[0])

    def images(self) -> Iterator[Kept]:
        """Return all images, in the order of their ids: so their bytes lie together."""
        with translating():
            columns = {column[1] for column in self._copy.execute("PRAGMA table_info(images)")}
            made = "thumbnail IS 'made'" if "thumbnail" in columns else "0"  # an older schema has none
            for row in self._copy.execute(f"SELECT id, ext, {made} FROM images ORDER BY id"):  # noqa: S608
                yield Kept(row[0], row[1], bool(row[2]))

    def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Schedule images for expiry whose bytes have gone: a sweep over the copy then does the rest."""
        marking = "UPDATE images SET scheduled_at = ? WHERE id = ? AND scheduled_at IS NULL"
        self._change(marking, [(now, image_id) for image_id in image_ids])

    def forget_thumbnails(self, image_ids: Collection[str]) -> None:
        """Let thumbnails be made anew that are not there."""
        self._change("UPDATE images SET thumbnail = NULL WHERE id = ?", [(key,) for key in image_ids])

    def close(self) -> None:
        self._copy.close()

    def _change(self, statement: str, values: list[tuple[object, ...]]) -> None:
        if values:
            with translating():
                self._copy.execute("BEGIN")
                self._copy.executemany(statement, values)
                self._copy.execute("COMMIT")

    def _one(self, query: str) -> str:
        with translating():
            row = self._copy.execute(query).fetchone()
        if row is None:
            raise RecordsError("the database is not one of prshots")
        return str(row[0])


def _opened_to_read(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
