"""What a step of a migration may do to a database that processes of the version before use.

Compares the schema before and after, as the database describes it, and reads the statements that were sent.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, event, inspect

NOT_OURS = {"alembic_version"}
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\S+ ON (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    type: str
    nullable: bool
    has_default: bool


@dataclass(frozen=True)
class Rule:
    """A constraint or a unique index: what a row has to fulfill."""

    kind: str
    columns: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True)
class Table:
    columns: Mapping[str, Column]
    rules: frozenset[Rule]
    indexes: frozenset[str]
    blocks_deletes_of: frozenset[str]
    """The tables that its foreign keys name without saying what happens at a delete."""


def note_statements(engine: Engine) -> list[str]:
    """Return a list that gets every statement from now on."""
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _, __, statement, *___: sent.append(statement))
    return sent


def schema_of(engine: Engine) -> dict[str, Table]:
    looking = inspect(engine)
    return {name: _table(looking, name) for name in looking.get_table_names() if name not in NOT_OURS}


def _table(looking: Any, name: str) -> Table:
    keys = looking.get_foreign_keys(name)
    return Table(
        {column["name"]: _column(column) for column in looking.get_columns(name)},
        frozenset(_rules(looking, name)),
        frozenset(index["name"] for index in looking.get_indexes(name)),
        frozenset(
            key["referred_table"]
            for key in keys
            if key["options"].get("ondelete") not in {"CASCADE", "SET NULL"}
        ),
    )


def _column(found: Mapping[str, Any]) -> Column:
    return Column(str(found["type"]), found["nullable"], found["default"] is not None)


def _rules(looking: Any, name: str) -> Iterator[Rule]:
    yield Rule("primary key", tuple(looking.get_pk_constraint(name)["constrained_columns"]))
    for unique in looking.get_unique_constraints(name):
        yield Rule("unique", tuple(unique["column_names"]))
    for index in looking.get_indexes(name):
        if index["unique"]:
            yield Rule("unique", tuple(map(str, index["column_names"])))
    for key in looking.get_foreign_keys(name):
        refers_to = f"{key['referred_table']} {key['referred_columns']}"
        yield Rule("foreign key", tuple(key["constrained_columns"]), refers_to)
    for check in looking.get_check_constraints(name):
        yield Rule("check", (), check["sqltext"])


def broken_rules(
    kind: str,
    before: Mapping[str, Table],
    after: Mapping[str, Table],
    sent: Iterable[str],
    used: Mapping[str, AbstractSet[str]],
) -> list[str]:
    """Return what the step may not do. `used` has the columns by table that the version before uses."""
    kept = before.keys() & after.keys()
    changed = sorted(name for name in kept if before[name] != after[name])
    found = [
        *_locks(changed, before, sent),
        *_new_tables(before, after),
        *(words for name in changed for words in _changed_table(name, before[name], after[name])),
    ]
    removed = dict(_removed(before, after))
    if kind == "expand":
        return found + [f"an expand step removes {words}" for words in removed]
    added = [name for name in after if name not in before]
    added += [
        f"{name}.{column}"
        for name in kept
        for column in after[name].columns.keys() - before[name].columns.keys()
    ]
    return [
        *found,
        *(f"a contract step adds {words}" for words in added),
        *(
            f"{words} is removed, but the version before uses it"
            for words, (table, columns) in removed.items()
            if columns & used.get(table, set())
        ),
    ]


def _locks(changed: Iterable[str], before: Mapping[str, Table], sent: Iterable[str]) -> Iterator[str]:
    if len(changed := list(changed)) > 1:
        yield f"it changes several tables at once, and locks them together: {', '.join(changed)}"
    for statement in sent:
        if (match := _INDEX.search(statement)) and match[1] in before:
            yield f"it builds an index of {match[1]} while uploads wait: use steps.create_index"


def _new_tables(before: Mapping[str, Table], after: Mapping[str, Table]) -> Iterator[str]:
    for name in after.keys() - before.keys():
        for other in after[name].blocks_deletes_of & before.keys():
            yield f"{name} refers to {other} without ON DELETE: the version before could not delete there"


def _changed_table(name: str, before: Table, after: Table) -> Iterator[str]:
    for column in before.columns.keys() & after.columns.keys():
        if before.columns[column] != after.columns[column]:
            yield f"{name}.{column} changes: {before.columns[column]} becomes {after.columns[column]}"
    new = {column: after.columns[column] for column in after.columns.keys() - before.columns.keys()}
    for column, added in new.items():
        if not (added.nullable or added.has_default):
            yield f"{name}.{column} is required: the version before could not insert"
    for rule in after.rules - before.rules:
        may_be_empty = [
            new[column].nullable and not new[column].has_default for column in rule.columns if column in new
        ]
        if not (rule.columns and len(may_be_empty) == len(rule.columns) and all(may_be_empty)):
            yield f"{name} gets a {rule.kind} that rows of the version before may break: {rule}"


def _removed(
    before: Mapping[str, Table], after: Mapping[str, Table]
) -> Iterator[tuple[str, tuple[str, AbstractSet[str]]]]:
    for name, table in before.items():
        if name not in after:
            yield name, (name, table.columns.keys())
            continue
        for column in table.columns.keys() - after[name].columns.keys():
            yield f"{name}.{column}", (name, {column})
        for index in table.indexes - after[name].indexes:
            yield f"the index {index}", (name, set())
