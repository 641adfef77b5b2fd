"""The projects that take part in a pull request, because they belong to the same repository."""

import sqlalchemy as sa

from prshots.server.adapters.sql.columns import ACTIVE, PROJECT, PROJECTS, given
from prshots.server.adapters.sql.database.schema import comparisons, connections, images, projects, pulls

_own = projects.alias("own")
_is_sibling = sa.and_(
    projects.c.id != _own.c.id,
    projects.c.organization_id == _own.c.organization_id,
    projects.c.repository != "",
    sa.func.lower(projects.c.repository) == sa.func.lower(_own.c.repository),
    sa.or_(
        sa.exists().where(comparisons.c.project_id == projects.c.id, *given(comparisons, "pr_number")),
        sa.exists().where(images.c.project_id == projects.c.id, *given(images, "pr_number"), ACTIVE),
    ),
)
_OF_PULL = (pulls.c.project_id == projects.c.id) & (pulls.c.pr_number == sa.bindparam("pr_number"))

PARTICIPANTS = (
    sa.select(*PROJECT, pulls.c.skipped_commit)
    .select_from(PROJECTS.outerjoin(pulls, _OF_PULL).join(_own, _own.c.id == sa.bindparam("project_id")))
    .where(
        projects.c.organization_id == _own.c.organization_id,
        sa.or_(projects.c.id == _own.c.id, _is_sibling),
    )
    .order_by(projects.c.name)
)
"""This project and its siblings, each with the commit that it skipped last."""

CONNECTED_SIBLINGS = (
    sa.select(connections.c.project_id)
    .select_from(
        connections.join(projects, projects.c.id == connections.c.project_id).join(
            _own, _own.c.id == sa.bindparam("project_id")
        )
    )
    .where(_is_sibling)
    .order_by(connections.c.project_id)
)
