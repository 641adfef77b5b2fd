"""What a comparison's page depends on, as one short text. The page polls, and usually nothing has changed."""

import hashlib

from sqlalchemy import Connection, String, cast, func, select

from prshots.contract.replies import ComparisonState
from prshots.server.adapters.sql.columns import ACTIVE, given
from prshots.server.adapters.sql.database.schema import compared_shots, comparisons, images

NEWEST = (
    select(comparisons)
    .where(*given(comparisons, "project_id", "pr_number"))
    .order_by(comparisons.c.first_seq.desc(), comparisons.c.started_at.desc())
    .limit(1)
)
"""The comparison of the pull request's newest commit that has one."""

# All that can change of an image while it is compared. With its `seq`, the order of the rows does not matter.
_CHANGEABLE = (
    cast(images.c.seq, String)
    + func.coalesce(images.c.thumbnail, "")
    + "-"
    + func.coalesce(images.c.diff_base, "")
)
_IMAGES, _BASES = (
    select(func.aggregate_strings(_CHANGEABLE, ","))
    .select_from(compared_shots.join(images, images.c.id == column))
    .where(*given(compared_shots, "project_id", "pr_number", "commit_sha"), ACTIVE)
    for column in (compared_shots.c.image_id, compared_shots.c.base_id)
)


def version_of(connection: Connection, project_id: str, pr_number: int) -> str | None:
    of_pr = {"project_id": project_id, "pr_number": pr_number}
    newest = connection.execute(NEWEST, of_pr).first()
    if newest is None or newest.state == ComparisonState.RUNNING:
        return None
    of_commit = of_pr | {"commit_sha": newest.commit_sha}
    parts = [connection.execute(query, of_commit).scalar() for query in (_IMAGES, _BASES)]
    return hashlib.sha256(f"{newest.run} {newest.state} {parts}".encode()).hexdigest()
