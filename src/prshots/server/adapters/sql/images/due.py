"""When an image is due to expire: the two rules, and how to find and schedule images that meet one.

Queries for a few images follow the order of the rule's index. Without an order, PostgreSQL may expect to find
such rows soon and read a whole table that has none.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    cast,
    func,
    or_,
    select,
    update,
)

from prshots.contract.limits import Policy
from prshots.server.adapters.sql.columns import ACTIVE, OF_PULL_REQUEST, in_batches
from prshots.server.adapters.sql.database.schema import images, projects
from prshots.server.domain.images.models import SECONDS_PER_DAY


class Rule(NamedTuple):
    """A condition that makes an active image due, and the order of the index for it."""

    condition: ColumnElement[bool]
    order: ColumnElement[int]


_OF_CLOSED_PR = Rule(images.c.closed_at.is_not(None), images.c.seq)


def _past(retain_days: int | ColumnElement[int], now: int | ColumnElement[int]) -> Rule:
    is_old = images.c.uploaded_at <= now - retain_days * SECONDS_PER_DAY
    return Rule(OF_PULL_REQUEST & is_old, images.c.uploaded_at)


def due_in(policy: str, retain_days: int | None, now: int) -> list[Rule]:
    """Return the rules for a project with this policy. An image is due if it meets any of them."""
    due: list[Rule] = []
    if retain_days is not None:
        due.append(_past(retain_days, now))
    if policy == Policy.PR_CLOSE:
        due.append(_OF_CLOSED_PR)
    return due


def overdue_in(policy: str, retain_days: int | None, since: int) -> list[Rule]:
    """Return the same rules for images that have been due since this time. No image meets two of them."""
    overdue: list[Rule] = []
    for rule in due_in(policy, retain_days, since):
        condition = rule.condition
        if rule is _OF_CLOSED_PR:
            condition = condition & (images.c.closed_at <= since)
        for earlier in overdue:
            condition = condition & ~earlier.condition
        overdue.append(Rule(condition, rule.order))
    return overdue


def _due(project_id: str | ColumnElement[str], rule: Rule, limit: int) -> Select[Any]:
    """Select the `seq` of up to `limit` images of a project that are due by this rule."""
    of_project = images.c.project_id == project_id
    return select(images.c.seq).where(of_project, ACTIVE, rule.condition).order_by(rule.order).limit(limit)


_OLD = _past(cast(projects.c.retain_days, BigInteger), bindparam("now", type_=BigInteger))
_has_old, _has_closed = (
    _due(projects.c.id, rule, 1).scalar_subquery().is_not(None) for rule in (_OLD, _OF_CLOSED_PR)
)
_WITH_DUE = select(projects.c.id, projects.c.policy, projects.c.retain_days).where(
    or_(_has_old, (projects.c.policy == Policy.PR_CLOSE) & _has_closed)
)


def projects_with_due(connection: Connection, now: int) -> list[tuple[str, str, int | None]]:
    """Return (id, policy, retain_days) of all projects with due images, in a single query."""
    return [tuple(row) for row in connection.execute(_WITH_DUE, {"now": now})]


def some_due(connection: Connection, project_id: str, rule: Rule, limit: int) -> list[int]:
    """Lock up to `limit` images of a project that are due by this rule, and return their `seq`.

    This skips rows that another transaction has locked. Either a concurrent sweep handles them, or they are
    still due in the next sweep.
    """
    some = _due(project_id, rule, limit).with_for_update(skip_locked=True)
    return list(connection.execute(some).scalars())


def count_due(connection: Connection, project_id: str, rule: Rule, most: int) -> int:
    """Return how many of a project's images are due by this rule, counting up to `most`."""
    due = _due(project_id, rule, most).subquery()
    return connection.execute(select(func.count()).select_from(due)).scalar_one()


def schedule_images(connection: Connection, now: int, *which: ColumnElement[bool]) -> int:
    """Schedule the active images that meet these conditions, their before images and references to them.

    Return the number of images that meet the conditions.
    """
    marking = update(images).where(ACTIVE).values(scheduled_at=now)
    marked = connection.execute(marking.where(*which).returning(images.c.id, images.c.before_id)).all()
    before_ids = sorted(before_id for _, before_id in marked if before_id is not None)
    for some in in_batches(before_ids):
        connection.execute(marking.where(images.c.id.in_(some)))
    # A reference has no bytes without its source. One that was added meanwhile is found too: adding it locks
    # the source, so the statement above waited for it.
    for some in in_batches(sorted(image_id for image_id, _ in marked)):
        connection.execute(marking.where(images.c.source_id.in_(some)))
    return len(marked)


def mark_some(connection: Connection, project_id: str, seqs: Sequence[int], now: int) -> int:
    """Schedule these images of a project. Return how many weren't scheduled yet."""
    if not seqs:
        return 0
    return schedule_images(connection, now, images.c.project_id == project_id, images.c.seq.in_(seqs))
