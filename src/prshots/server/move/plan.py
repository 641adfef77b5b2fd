"""The destination of a move, and the checks before the first write."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlsplit

from sqlalchemy import Connection, Engine, inspect

from prshots.contract.errors import InvalidInputError, MoveError, RecordsError, SettingsError
from prshots.contract.object_names import OWNER_MARK, SHARDS
from prshots.server import wiring
from prshots.server.adapters.sql.database.database import translating
from prshots.server.adapters.sql.database.found_schema import TOO_OLD, found_schema
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION
from prshots.server.adapters.sql.move.move_state import MoveState, read_state
from prshots.server.adapters.sql.move.row_copies import is_unused
from prshots.server.config.settings import Settings
from prshots.server.domain.images.ports import ObjectStore

_LISTED_AT_ONCE = 16


@dataclass(frozen=True)
class MovePlan:
    source: Settings
    target: Settings

    @classmethod
    def of(cls, settings: Settings, to_database: str | None, to_store: str | None) -> "MovePlan":
        """Create a plan. Raises InvalidInputError if an address is invalid, or the data is already there."""
        try:
            target = replace(
                settings,
                database_url=to_database or settings.database_url,
                store_url=to_store or settings.store_url,
            )
        except SettingsError as error:
            raise InvalidInputError(_name_options(str(error))) from error
        plan = cls(settings, target)
        if not (to_database or to_store):
            raise InvalidInputError("give --to-database, --to-store or both")
        if to_database and not plan.moves_database:
            raise InvalidInputError(f"--to-database: the records are in {settings.database_place} already")
        if to_store and not plan.moves_store:
            raise InvalidInputError(f"--to-store: the images are in {settings.store_place} already")
        return plan

    @cached_property
    def moves_database(self) -> bool:
        return _database_identity(self.source) != _database_identity(self.target)

    @cached_property
    def moves_store(self) -> bool:
        return self.source.store_url != self.target.store_url

    @property
    def database_place(self) -> str:
        return self.target.database_place if self.moves_database else ""

    @property
    def store_place(self) -> str:
        return wiring.store_identity(self.target) if self.moves_store else ""

    def is_of(self, state: MoveState) -> bool:
        return (state.database_place, state.store_place) == (self.database_place, self.store_place)


def _database_identity(settings: Settings) -> str:
    return str(settings.database_path.resolve()) if settings.on_sqlite else settings.database_url


def _name_options(message: str) -> str:
    return message.replace("PRSHOTS_DATABASE_URL", "--to-database").replace("PRSHOTS_STORE_URL", "--to-store")


def require_our_schema(connection: Connection) -> None:
    """Raise MoveError unless this version knows every table and column."""
    found = found_schema(connection)
    if found.is_too_old:
        raise MoveError(f"the database has schema {found.version}, {TOO_OLD}")
    version = found.version or ""
    if version < SCHEMA_VERSION:
        raise MoveError(
            f"the database has schema {version}, this version needs {SCHEMA_VERSION}: run `prshots migrate`"
        )
    if version > SCHEMA_VERSION:
        raise MoveError(
            f"the database has schema {version}, from a newer version of prshots: run that "
            "version's `prshots move`"
        )


def require_unused_database(engine: Engine, settings: Settings) -> None:
    """Raise MoveError if the target has data. Changes nothing."""
    place = settings.database_place
    with _name_database(place), translating(), engine.connect() as connection:
        version = found_schema(connection).version
        if version is None:
            if inspect(connection).has_table("images"):
                raise MoveError(f"{place} has tables of another program: name an empty database")
            return
        if read_state(connection) is not None:
            raise MoveError(
                f"{place} has the data of another move: empty it (drop the database, or delete the file), or "
                "name another one"
            )
        if version != SCHEMA_VERSION:
            raise MoveError(f"{place} has schema {version}, not {SCHEMA_VERSION}: name an empty database")
        if not is_unused(connection):
            raise MoveError(
                f"{place} has data already, and a move would mix it with other data: name an empty database. "
                "If it is a copy from before, drop it first"
            )


@contextlib.contextmanager
def _name_database(place: str) -> Iterator[None]:
    """Name the database that failed, because from here on both are in use."""
    try:
        yield
    except RecordsError as error:
        raise type(error)(f"{place}: {error}") from error


async def require_unused_store(store: ObjectStore, settings: Settings, installation_id: str) -> None:
    """Raise MoveError if the target has images or belongs to another installation. Changes nothing."""
    place = settings.store_place
    await store.check()
    mark = await store.read(OWNER_MARK)
    if mark is not None and mark.decode("utf-8", errors="replace") != installation_id:
        raise MoveError(f"{place} belongs to another installation: name an empty folder, bucket or prefix")
    for start in range(0, len(SHARDS), _LISTED_AT_ONCE):
        some = SHARDS[start : start + _LISTED_AT_ONCE]
        if any(await asyncio.gather(*map(store.sizes, some))):
            raise MoveError(
                f"{place} has images already: name an empty folder, bucket or prefix. If they are a copy "
                "from before, delete them first"
            )


def open_existing_database(settings: Settings) -> Engine | None:
    """Open the target. Return None if it is a file that doesn't exist yet. Raises RecordsError."""
    if settings.on_sqlite and not settings.database_path.exists():
        parent = settings.database_path.absolute().parent
        while not parent.exists():
            parent = parent.parent
        if not os.access(parent, os.W_OK | os.X_OK):
            raise RecordsError(f"cannot create {settings.database_path}: {parent} is not writable")
        return None
    return wiring.open_for_move(settings)


def settings_to_use(plan: MovePlan) -> dict[str, str]:
    """Return the settings to change after the move, without passwords."""
    found = {}
    if plan.moves_database:
        found["PRSHOTS_DATABASE_URL"] = _hide_password(plan.target.database_url)
    if plan.moves_store:
        found["PRSHOTS_STORE_URL"] = plan.target.store_url
    return found


def _hide_password(url: str) -> str:
    parts = urlsplit(url)
    user, colon, _ = parts.netloc.rpartition("@")[0].partition(":")
    if not colon:
        return url
    return url.replace(parts.netloc, f"{user}:…@{parts.netloc.rpartition('@')[2]}", 1)
