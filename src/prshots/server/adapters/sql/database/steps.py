"""The migrations as steps, and indexes that are built while others write.

Each migration module declares:

- `step`: "expand" if it only adds, "contract" if it removes parts that no running process uses any more.
- `oldest`: the oldest schema whose processes may run on the database afterwards.
- `builds_indexes`: True if it only creates indexes on existing tables, with `create_index` from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from prshots.contract.errors import RecordsError

if TYPE_CHECKING:
    from alembic.config import Config

_IS_VALID = text(
    "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE c.relname = :name AND c.relnamespace = current_schema()::regnamespace"
)
_IS_PARTITIONED = text(
    "SELECT relkind = 'p' FROM pg_class "
    "WHERE relname = :name AND relnamespace = current_schema()::regnamespace"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A migration."""

    revision: str
    kind: str
    oldest: str
    builds_indexes: bool


def steps_of(config: "Config") -> list[Step]:
    """Return all steps, oldest first."""
    from alembic.script import ScriptDirectory

    scripts = reversed(list(ScriptDirectory.from_config(config).walk_revisions()))
    modules: list[Any] = [script.module for script in scripts]
    return [
        Step(module.revision, module.step, module.oldest, getattr(module, "builds_indexes", False))
        for module in modules
    ]


def next_steps(steps: Sequence[Step], version: str | None) -> list[Step]:
    """Return the steps to take in the next transaction. Raises RecordsError for an unknown version.

    An empty database has no users, so it takes all steps at once. Any other takes them one at a time: no
    transaction may lock two tables.
    """
    if version is None:
        return list(steps)
    if version not in {step.revision for step in steps}:
        raise RecordsError(
            f"the database has the unknown schema {version!r}, this version of prshots has "
            f"{steps[-1].revision}: restore a backup"
        )
    return [step for step in steps if step.revision > version][:1]


def create_index(name: str, table: str, columns: Sequence[str], **options: Any) -> None:  # noqa: ANN401 - Alembic's options
    """Create an index in a migration. On PostgreSQL, uploads continue while it is built.

    The migration sets `builds_indexes = True` and does nothing else, because it runs outside a transaction. A
    kill leaves an invalid index. The next start drops it and builds it again. If the table is partitioned,
    uploads wait, because PostgreSQL can't build such an index concurrently.
    """
    from alembic import op

    connection = op.get_bind()
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":  # in a transaction
        op.create_index(name, table, columns, **options)
        return
    is_valid = connection.execute(_IS_VALID, {"name": name}).scalar()
    if is_valid is False:
        op.drop_index(name, table, postgresql_concurrently=True)
    if not is_valid:
        is_partitioned = connection.execute(_IS_PARTITIONED, {"name": table}).scalar()
        op.create_index(name, table, columns, postgresql_concurrently=not is_partitioned, **options)
