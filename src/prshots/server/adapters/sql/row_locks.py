"""Rows that a transaction takes before it changes others, so that two at once end as one after the other.

SQLite has one writer at a time, and these only read there. On PostgreSQL each statement sees what was
committed before it began; so whoever marks images first takes the row that every upload to them ends with.
Everybody takes rows in one order: the project, pull requests by their key, images, then what is counted.
Images that are being added come first, but nobody else can want those yet.
"""

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, select

from prshots.server.adapters.sql.schema import images, projects, pulls

_PROJECT = select(projects.c.id).where(projects.c.id == bindparam("project_id")).with_for_update()
_PULL = (
    select(pulls.c.pr_number)
    .where(pulls.c.project_id == bindparam("project_id"), pulls.c.pr_number == bindparam("pr_number"))
    .with_for_update()
)
# One by one, in the order of their keys: a join might go through all the pull requests there are.
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


def lock_project(connection: Connection, project_id: str) -> None:
    """Wait for the uploads under way to a project, and let no other begin."""
    connection.execute(_PROJECT, {"project_id": project_id})


def lock_pull(connection: Connection, project_id: str, pr_number: int) -> bool:
    """Take a pull request; False when there is none.

    Then there are no images either: its first upload may be under way, and comes after us.
    """
    key = {"project_id": project_id, "pr_number": pr_number}
    return connection.execute(_PULL, key).first() is not None


def lock_pulls_of(connection: Connection, image_ids: Collection[str]) -> None:
    """Take the pull requests of these images, before the images themselves are taken."""
    connection.execute(_PULLS_OF_IMAGES, {"image_ids": list(image_ids)})
