"""Row locks that make concurrent transactions behave as if they ran one after the other.

SQLite has one writer at a time, so there these functions only read. On PostgreSQL, each statement sees
everything committed before it started. So a transaction that marks images first locks the pull request's row,
which every upload also updates. All transactions lock in the same order: organizations by key, the project,
pull requests by key, images, totals. New images are inserted before the pull requests, but no other
transaction can lock those yet.
"""

from collections.abc import Collection

from sqlalchemy import Connection, Table, bindparam, select

from prshots.contract.errors import NotFoundError
from prshots.server.adapters.sql.database.schema import images, organizations, projects, pulls

# Not the strongest lock, so new projects and accepted invitations don't wait.
_ORGANIZATIONS = (
    select(organizations.c.id)
    .where(organizations.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(organizations.c.id)
    .with_for_update(key_share=True)
)
_PROJECT = select(projects.c.id).where(projects.c.id == bindparam("project_id")).with_for_update()
_PULL = (
    select(pulls.c.pr_number)
    .where(pulls.c.project_id == bindparam("project_id"), pulls.c.pr_number == bindparam("pr_number"))
    .with_for_update()
)
# One subquery per pull request, in key order: a join might scan all pull requests.
_of_images = (
    select(images.c.project_id, images.c.pr_number)
    .where(images.c.id.in_(bindparam("image_ids", expanding=True)))
    .distinct()
    .order_by(images.c.project_id, images.c.pr_number)
    .subquery()
)
_PULLS_OF_IMAGES = select(
    select(pulls.c.pr_number)
    .where(pulls.c.project_id == _of_images.c.project_id, pulls.c.pr_number == _of_images.c.pr_number)
    .with_for_update()
    .correlate(_of_images)
    .scalar_subquery()
).select_from(_of_images)


def lock_row(connection: Connection, table: Table, row_id: str) -> bool:
    """Lock a row, so concurrent changes count each other. Return False if it doesn't exist."""
    locking = select(table.c.id).where(table.c.id == row_id).with_for_update(key_share=True)
    return connection.execute(locking).first() is not None


def require_row(connection: Connection, table: Table, row_id: str) -> None:
    """Lock a row like `lock_row`. Raises NotFoundError."""
    if not lock_row(connection, table, row_id):
        raise NotFoundError("not found")


def lock_organizations(connection: Connection, ids: Collection[str]) -> None:
    """Wait for uploads in progress to organizations with a quota, and block new ones.

    Their statements after this one see each other's bytes, so together they can't exceed the quota.
    """
    connection.execute(_ORGANIZATIONS, {"ids": list(ids)})


def lock_project(connection: Connection, project_id: str) -> bool:
    """Wait for the project's uploads in progress, and block new ones. Return False if it doesn't exist."""
    return connection.execute(_PROJECT, {"project_id": project_id}).first() is not None


def lock_pull(connection: Connection, project_id: str, pr_number: int) -> bool:
    """Lock a pull request. Return False if it doesn't exist.

    Then it has no images either. If its first upload is in progress, that upload counts as later.
    """
    key = {"project_id": project_id, "pr_number": pr_number}
    return connection.execute(_PULL, key).first() is not None


def lock_pulls_of(connection: Connection, image_ids: Collection[str]) -> None:
    """Lock the pull requests of these images. Call this before locking the images."""
    connection.execute(_PULLS_OF_IMAGES, {"image_ids": list(image_ids)})
