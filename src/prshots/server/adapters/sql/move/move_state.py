"""The state of a move into or out of a database. `prshots move` creates and drops these tables.

They aren't part of the schema: a move needs no migration and leaves nothing in the target.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal

import sqlalchemy as sa

from prshots.contract.errors import MovedError
from prshots.server.adapters.sql.database.schema import text

Phase = Literal["copying", "moved", "filling"]
"""A source is being copied ("copying") or has moved away ("moved"). A target is being filled."""

Key = tuple[object, ...]
"""The primary key of a row."""

metadata = sa.MetaData()

_state = sa.Table(
    "move_state",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("phase", text(16), nullable=False),
    sa.Column("database_place", text(), nullable=False),
    sa.Column("store_place", text(), nullable=False),
    sa.Column("copying", text(), nullable=False),
    sa.Column("after", text(), nullable=False),
)

# The rows that have changed since they were copied. `row_key` is a JSON list.
changes = sa.Table(
    "move_changes",
    metadata,
    sa.Column(
        "seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
    ),
    sa.Column("table_name", text(), nullable=False),
    sa.Column("row_key", text(), nullable=False),
)


@dataclass(frozen=True, slots=True)
class MoveState:
    id: str
    phase: Phase
    database_place: str
    """The destination of the records, or "" if they stay."""
    store_place: str
    """The destination of the images, or "" if they stay."""
    copying: str = ""
    """The table that is being copied. Tables before it are done."""
    after: Key = ()
    """The key of the last row copied from that table, or () before the first."""

    @property
    def destination(self) -> str:
        return " and ".join(filter(None, (self.database_place, self.store_place)))

    @property
    def where_to(self) -> str:
        """The settings that the operator has to change."""
        places = {"PRSHOTS_DATABASE_URL": self.database_place, "PRSHOTS_STORE_URL": self.store_place}
        return " and ".join(f"{name} to {place}" for name, place in places.items() if place)


def read_state(connection: sa.Connection) -> MoveState | None:
    if not sa.inspect(connection).has_table(_state.name):
        return None
    row = connection.execute(sa.select(_state)).first()
    return None if row is None else replace(MoveState(*row), after=tuple(json.loads(row.after)))


def write_state(connection: sa.Connection, state: MoveState) -> None:
    """Replace the state. Creates missing tables."""
    if not sa.inspect(connection).has_table(_state.name):
        metadata.create_all(connection)
    values = {name: getattr(state, name) for name in _state.c.keys()}  # noqa: SIM118 - columns, not a dict
    connection.execute(sa.delete(_state))
    connection.execute(sa.insert(_state), values | {"after": json.dumps(state.after)})


def drop_state(connection: sa.Connection) -> None:
    metadata.drop_all(connection)


def require_usable(connection: sa.Connection, store_place: str) -> None:
    """Raise MovedError if the service must not run on this database with images in this store."""
    state = read_state(connection)
    if state is None or state.phase == "copying":
        return
    if state.phase == "filling":
        raise MovedError(
            "`prshots move` has not finished filling this database: run the same `prshots move` again until "
            "it has, or use the database that it copies from"
        )
    if state.database_place or state.store_place != store_place:
        raise MovedError(moved_message(state))


def moved_message(state: MoveState) -> str:
    what = "the data was" if state.database_place else "the images were"
    return f"{what} moved: set {state.where_to}, and restart"
