"""Which comparison of a pull request counts: that of its newest commit."""

import sqlalchemy as sa

from prshots.contract.replies import Verdict
from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.database.schema import compared_shots, comparisons

COMMIT = ("project_id", "pr_number", "commit_sha")
"""The key of a comparison."""


def _newest_first(table: sa.FromClause) -> tuple[sa.ColumnElement[int], ...]:
    return table.c.first_seq.desc(), table.c.started_at.desc()


NEWEST = (
    sa.select(comparisons)
    .where(*given(comparisons, "project_id", "pr_number"))
    .order_by(*_newest_first(comparisons))
    .limit(1)
)
"""The comparison of the newest commit in the pull request that has a comparison."""

_newer = comparisons.alias()
NEWEST_COMMIT = (
    sa.select(_newer.c.commit_sha)
    .where(_newer.c.project_id == comparisons.c.project_id, _newer.c.pr_number == comparisons.c.pr_number)
    .order_by(*_newest_first(_newer))
    .limit(1)
    .correlate(comparisons)
    .scalar_subquery()
)
NEWEST_OF_SEVERAL = (
    *given(comparisons, "project_id"),
    comparisons.c.pr_number.in_(sa.bindparam("pr_numbers", expanding=True)),
    comparisons.c.commit_sha == NEWEST_COMMIT,
)
OF_SHOT = sa.and_(*(compared_shots.c[name] == comparisons.c[name] for name in COMMIT))
DIFFERS = sa.func.coalesce(compared_shots.c.verdict, "") != Verdict.UNCHANGED
