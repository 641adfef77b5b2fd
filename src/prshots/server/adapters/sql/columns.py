"""Columns and row conversions that the SQL adapters share."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, FromClause, Table, bindparam, delete, literal_column, select
from sqlalchemy.exc import IntegrityError

from prshots.contract.errors import ConflictError, PrshotsError, RecordsError
from prshots.contract.limits import Policy
from prshots.server.adapters.sql.database.schema import images, organizations, projects, pulls, tokens, users
from prshots.server.domain.images.models import Image, ListedImage, PullRequestRecord, ShotKey
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import Project, UploadToken

T = TypeVar("T")

AT_ONCE = 500
"""How many values a statement takes in a list, because databases limit their number."""

IMAGE = [images.c[name] for name in Image._fields]
LISTED_IMAGE = [images.c[name] for name in ListedImage._fields]
TOKEN = [tokens.c[field.name] for field in fields(UploadToken)]
USER = [users.c[field.name] for field in fields(User)]
PULL = [pulls.c[field.name] for field in fields(PullRequestRecord)]
PROJECTS = projects.join(organizations)
OF_ORGANIZATION = {"organization": "name", "organization_quota_bytes": "quota_bytes"}
"""The fields of a project that are columns of its organization."""

PROJECT: list[ColumnElement[Any]] = [
    organizations.c[OF_ORGANIZATION[field.name]].label(field.name)
    if field.name in OF_ORGANIZATION
    else projects.c[field.name]
    for field in fields(Project)
]
SHOT = [images.c[name] for name in ShotKey._fields]
ACTIVE = images.c.scheduled_at.is_(None)


def given(table: FromClause, *names: str) -> list[ColumnElement[bool]]:
    """Return conditions that compare these columns with the parameters of the same names."""
    return [table.c[name] == bindparam(name) for name in names]


def equal(table: FromClause, **values: object) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name, value in values.items()]


def in_batches(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield the values in lists small enough for one statement."""
    listed = list(values)
    return (listed[start : start + AT_ONCE] for start in range(0, len(listed), AT_ONCE))


def discard_oldest(
    connection: Connection, table: Table, until: int, limit: int, *which: ColumnElement[bool]
) -> int:
    """Delete about `limit` such rows that were created at this time or earlier. Return how many."""
    created_at = table.c.created_at
    old = select(created_at).where(created_at <= until, *which).order_by(created_at).limit(limit)
    times = connection.execute(old).scalars().all()
    if not times:
        return 0
    return connection.execute(delete(table).where(created_at <= times[-1], *which)).rowcount


ACTIVE_OF_PR = (*given(images, "project_id", "pr_number"), ACTIVE)
OF_PULL_REQUEST = images.c.pr_number > literal_column("0")
"""A literal, to let SQLite use the partial index with this condition."""
OF_BASELINES = images.c.kind == literal_column("'baseline'")
"""A literal for the same reason."""
LONG_LIVED = tokens.c.trust_id.is_(None)
"""Tokens that a person created. A trust issues the short-lived ones."""

_FOREIGN_KEY = "23503"  # PostgreSQL's code for a violated foreign key


def project_from(row: Sequence[Any]) -> Project:
    found = Project(*row)
    return replace(found, policy=Policy(found.policy), four_eyes=bool(found.four_eyes))


@contextlib.contextmanager
def conflict_as(message: str) -> Iterator[None]:
    """Raise ConflictError with this message if the database reports a duplicate."""
    try:
        yield
    except RecordsError as error:
        if isinstance(error.__cause__, IntegrityError):
            raise ConflictError(message) from error
        raise


@contextlib.contextmanager
def project_gone_as(told: PrshotsError) -> Iterator[None]:
    """Raise this error if the row's project was deleted after the caller found it."""
    try:
        yield
    except RecordsError as error:
        refused = getattr(error.__cause__, "orig", None)
        is_sqlite = getattr(refused, "sqlite_errorcode", None) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
        if is_sqlite or getattr(refused, "sqlstate", None) == _FOREIGN_KEY:
            raise told from error
        raise
